import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// Changes a container behind its checksums and tags, and seals it again.
struct ContainerMutation {
    private var random: SeededRandom
    private let change: ByteChange
    private let limit: Int

    /// The target's input with a changed container. If the file key is not known, the fuzzer changes bytes.
    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        guard let given = FuzzInput(input), given.head.count < limit else { return change(input, limit) }
        let head = random.below(20) == 0 ? RecipientSlots.withIdentity(given, &random) : given.head
        guard let old = FuzzInput(head: head, given.container) else { return input }
        return withoutActuallyEscaping(change) { change in
            var mutation = ContainerMutation(random: random, change: change, limit: limit)
            defer { random = mutation.random }
            return mutation.changed(old)
        }
    }

    /// A packed stream with a changed item, mostly with a matching index.
    static func mutate(
        items stream: [UInt8], _ random: inout SeededRandom, change: ByteChange, chunk: Int
    ) -> [UInt8] {
        withoutActuallyEscaping(change) { change in
            var mutation = ContainerMutation(random: random, change: change, limit: .max)
            defer { random = mutation.random }
            var packed = PackedItems(reading: stream)
            mutation.alter(&packed, chunk: chunk)
            if mutation.random.below(4) > 0 { packed.addIndex() }
            return packed.bytes
        }
    }

    /// A changed container with its head.
    private mutating func changed(_ input: FuzzInput) -> [UInt8] {
        guard input.head.count < limit, let fileKey = input.secrets.fileKey, random.below(10) > 0,
            var container = UnsealedContainer(input.container, fileKey: fileKey, secrets: input.secrets)
        else { return unsealed(input) }
        for _ in 0...random.below(3) { alter(&container) }
        var head = input.head
        if random.below(5) > 0, let answered = RecipientSlots.withAnswers(input, container, &random),
            let secrets = FuzzInput.Secrets.of(answered)
        {
            (head, container.secrets) = (answered, secrets)
        }
        let repairs = repairs()
        // If there is no memory for secrets, there is none at all.
        guard let sealed = try? container.sealed(repairs), head.count + sealed.count <= limit else {
            return unsealed(input)
        }
        return head + (random.below(12) == 0 ? changedAsItStands(sealed, limit - head.count) : sealed)
    }

    private mutating func unsealed(_ input: FuzzInput) -> [UInt8] {
        input.head + changedAsItStands(input.container, limit - input.head.count)
    }

    private mutating func repairs() -> Repairs {
        var repairs = Repairs.all
        for _ in 0..<max(0, random.below(6) - 2) { repairs.remove(random.pick(Repairs.each)) }
        if random.below(4) == 0 { repairs.remove(.agreement) }
        return repairs
    }

    /// Changes that need no key.
    private mutating func changedAsItStands(_ container: [UInt8], _ limit: Int) -> [UInt8] {
        switch random.below(6) {
        case 0: return [UInt8](container.prefix(random.below(container.count + 1)))
        case 1: return container + random.bytes(1 + random.below(40))
        case 2:
            // Puts one part in the place of another.
            guard container.count > 64 else { break }
            var container = container
            let count = min(random.pick([16, 32, 64, 512, 4116, random.below(600)]), container.count)
            let (from, to) = (random.below(container.count - count + 1), random.below(container.count - count + 1))
            container.replaceSubrange(to..<to + count, with: container[from..<from + count])
            return container
        default: break
        }
        return change(container, limit)
    }

    private mutating func alter(_ container: inout UnsealedContainer) {
        switch random.below(12) {
        case 0, 1, 2: alterHeader(&container)
        case 3, 4: alterSlots(&container)
        case 5, 6, 7: alterRecords(&container)
        case 8, 9: alterManifest(&container)
        case 10: if container.front.body[13] == 1 { alterItems(&container) } else { alterRecords(&container) }
        default: alterEnd(&container)
        }
        if container.front.body[13] == 1, random.below(2) == 0 { alterItems(&container) }
    }

    // MARK: Headers

    /// Changes both copies alike, or only one of them.
    private mutating func both(
        _ container: inout UnsealedContainer, _ body: (inout Self, inout UnsealedContainer.Copy) -> Void
    ) {
        let which = random.below(4)
        let same = random
        if which != 0 { body(&self, &container.front) }
        if which > 1 { random = same }
        if which != 1 { body(&self, &container.tail) }
    }

    private mutating func alterHeader(_ container: inout UnsealedContainer) {
        both(&container) { mutation, copy in
            switch mutation.random.below(9) {
            case 0: copy.put([0, UInt8(mutation.random.below(4))], at: mutation.random.pick([8, 10, 14, 74]))
            case 1: copy.put([mutation.random.pick([12, 12, 12, 13, 16, 23, 11, 24, 0, 255])], at: 12)
            case 2: copy.put([mutation.random.pick([0, 1, 1, 2, 255])], at: 13)
            case 3:
                let capacity = mutation.random.pick([
                    512, 512, 1024, 2048, 4096, 8192, 16384, 256, 513, 1 << 20, 1 << 21,
                ])
                copy.put(UInt32(capacity).bigEndianBytes, at: 64)
            case 4, 5:
                let old: UInt32 = copy.body[68..<72].bigEndian()
                let generation = mutation.random.pick([0, 1, 2, .max, old &+ 1, old &- 1, old &+ 2])
                copy.put(generation.bigEndianBytes, at: 68)
            case 6: copy.put(mutation.random.bytes(16), at: 16)
            case 7:
                let count: UInt16 = copy.body[72..<74].bigEndian()
                let counts: [UInt16] = [0, 1, count &+ 1, count &- 1, 1024, 1025, .max]
                copy.put(mutation.random.pick(counts).bigEndianBytes, at: 72)
            default:
                copy.body = mutation.change(copy.body, copy.body.count)
                copy.body.pad(to: max(copy.body.count, HeaderCopy.slotsOffset))
            }
        }
    }

    private mutating func alterSlots(_ container: inout UnsealedContainer) {
        let secrets = container.secrets
        let recipients = container.recipientSlots
        both(&container) { mutation, copy in
            var slots = copy.slots
            let place = mutation.random.below(max(slots.count, 1))
            switch mutation.random.below(12) {
            case 0 where !slots.isEmpty: slots.insert(slots[place], at: place)
            case 1 where slots.count > 1: slots.remove(at: place)
            case 2 where slots.count > 1: slots.swapAt(place, mutation.random.below(slots.count))
            case 3 where !slots.isEmpty: slots[place] = mutation.change(slots[place], slots[place].count + 40)
            case 4 where !slots.isEmpty:
                // The ID of another key, in a slot that may open nevertheless.
                slots[place].replaceSubrange(
                    4..<min(20, slots[place].count), with: mutation.random.bytes(min(20, slots[place].count) - 4))
            case 5: slots.append(mutation.passphraseSlot())
            case 6:
                guard let key = secrets.symmetric.first else { break }
                slots.append([0, 1, 0, 72] + key.id.bytes + mutation.random.bytes(72))
            case 7:
                slots.insert(FuzzKeys.privateHead(mutation.random.bytes(8)) + mutation.random.bytes(72), at: place)
            case 8, 9: slots.insert(recipients.made(&mutation.random), at: place)
            case 10 where !slots.isEmpty:
                slots[place] = recipients.altered(slots[place], &mutation.random, mutation.change)
            default:
                let type: UInt16 = mutation.random.pick([3, 4, 5, 0x7FFF, 0x8000, 0xFFFF, 0, 1, 2])
                let count = mutation.random.pick([0, 1, 72, 84, mutation.random.below(200)])
                slots.append(
                    type.bigEndianBytes + [0, UInt8(count)]
                        + mutation.random.bytes(16 + count))
            }
            copy.slots = slots
            // A slot of X-Wing is longer than most headers of the seeds.
            if mutation.random.below(4) > 0 { copy.makeRoom() }
        }
    }

    private mutating func passphraseSlot() -> [UInt8] {
        let passes = random.pick([1, 1, 2, 3, 0, 64, 65] as [UInt32])
        let memory = random.pick([8, 8, 16, 64, 7, 1 << 21, 1 << 21 + 1] as [UInt32])
        let lanes = random.pick([1, 1, 1, 1, 0, 2] as [UInt32])
        return [0, 2, 0, 84] + random.bytes(16) + passes.bigEndianBytes + memory.bigEndianBytes + lanes.bigEndianBytes
            + random.bytes(72)
    }

    // MARK: Payload

    private mutating func alterRecords(_ container: inout UnsealedContainer) {
        let chunk = 1 << Int(min(container.front.body[12], 13))
        guard !container.records.isEmpty, random.below(10) > 0 else {
            container.records.insert(
                .init(kind: 1, statedCount: nil, text: random.bytes(1 + random.below(60)), tag: nil), at: 0)
            return
        }
        let place = random.below(container.records.count)
        switch random.below(9) {
        case 0: container.records.insert(container.records[place], at: place)
        case 1: container.records.remove(at: place)
        case 2: container.records.swapAt(place, random.below(container.records.count))
        case 3: container.records[place].kind = random.pick([0, 1, 2, 3, 255])
        case 4: container.records[place].statedCount = random.pick([0, 1, 512, chunk, chunk + 1, 1 << 20, 0xFF_FFFF])
        case 5:
            // Fills the record up to a chunk, or one byte more or less.
            let count = chunk + random.pick([0, 0, 0, 1, -1])
            container.records[place].text = [UInt8](container.records[place].text.prefix(count))
            container.records[place].text.pad(to: count)
        case 6:
            let text = container.records[place].text
            let cut = random.below(text.count + 1)
            container.records[place].text = [UInt8](text[..<cut])
            let rest = [UInt8](text[cut...])
            container.records.insert(.init(kind: 1, statedCount: nil, text: rest, tag: nil), at: place + 1)
        case 7: container.records[place].tag = container.records[place].tag == nil ? random.bytes(16) : nil
        default: container.records[place].text = change(container.records[place].text, chunk + 600)
        }
    }

    private mutating func alterManifest(_ container: inout UnsealedContainer) {
        guard let place = container.records.lastIndex(where: { $0.kind == 2 }) else {
            return container.records.append(.init(kind: 2, statedCount: nil, text: [], tag: nil))
        }
        var text = container.records[place].text
        if random.below(3) == 0 {
            text = change(text, text.count + 1024)
            if random.below(2) == 0 { text.pad(to: (text.count + 511) / 512 * 512) }
        } else {
            text = altered(ManifestMembers(text)).encoded
        }
        container.records[place].text = text
    }

    private mutating func altered(_ old: ManifestMembers) -> ManifestMembers {
        var list = old
        let place = random.below(max(list.members.count, 1))
        switch random.below(8) {
        case 0 where !list.members.isEmpty: list.members.insert(list.members[place], at: place)
        case 1 where !list.members.isEmpty: list.members.remove(at: place)
        case 2 where !list.members.isEmpty: list.members.swapAt(place, random.below(list.members.count))
        case 3 where !list.members.isEmpty: list.members[place].tag = random.pick([1, 2, 3, 4, 5, 6, 0x7FFF, 0x8005])
        case 4 where !list.members.isEmpty: list.members[place].statedCount = random.pick([0, 7, 9, 512, .max])
        case 5, 6:
            guard !list.members.isEmpty else { break }
            list.members[place].value = change(list.members[place].value, list.members[place].value.count + 100)
        default:
            let (tag, value) = random.pick(Self.members)
            list.set(tag, value)
        }
        return list
    }

    private static let members: [(UInt16, [UInt8])] = [
        (5, [UInt8](repeating: 0, count: 32)), (0x8001, [UInt8]("text/plain".utf8)), (0x8002, [UInt8]("..".utf8)),
        (0x8002, [UInt8]("a".utf8)), (0x8003, [0x80] + [UInt8](repeating: 0, count: 11)), (0x8004, [1, 0xFF]),
        (0x9000, []), (0xFFFF, [0]), (3, [UInt8](repeating: 0, count: 8)), (4, [UInt8](repeating: 0, count: 8)),
    ]

    /// Changes the items of a packed stream, and cuts it into records again.
    private mutating func alterItems(_ container: inout UnsealedContainer) {
        let (data, rest) = (container.records.filter { $0.kind == 1 }, container.records.filter { $0.kind != 1 })
        var packed = PackedItems(reading: data.flatMap(\.text))
        let chunk = 1 << Int(min(max(container.front.body[12], 12), 13))
        alter(&packed, chunk: chunk)
        if random.below(3) > 0 { packed.addIndex() }
        let stream = packed.bytes
        container.records = stride(from: 0, to: stream.count, by: chunk).map { start in
            let text = [UInt8](stream[start..<min(start + chunk, stream.count)])
            return .init(kind: 1, statedCount: nil, text: text, tag: nil)
        }
        container.records += rest
    }

    private mutating func alter(_ packed: inout PackedItems, chunk: Int) {
        let place = random.below(max(packed.items.count, 1))
        switch random.below(9) {
        case 0 where !packed.items.isEmpty: packed.items.insert(packed.items[place], at: place)
        case 1 where !packed.items.isEmpty: packed.items.remove(at: place)
        case 2 where !packed.items.isEmpty: packed.items.swapAt(place, random.below(packed.items.count))
        case 3 where !packed.items.isEmpty: packed.items[place].method = random.pick([0, 1, 2, 3, 255])
        case 4 where !packed.items.isEmpty:
            packed.items[place].statedCount = random.pick([0, 1, chunk, chunk + 1, 0xFF_FFFF])
        case 5, 6:
            guard !packed.items.isEmpty else { break }
            packed.items[place].body = change(packed.items[place].body, chunk + 10)
        default:
            // Another plaintext, packed correctly.
            let bytes = random.below(2) == 0 ? mixedBytes(random.below(2 * chunk), seed: random.next()) : []
            let block = bytes.isEmpty ? [UInt8](repeating: 7, count: random.pick([1, 100, chunk, chunk + 1])) : bytes
            guard let new = try? PackedItems(block, chunk: chunk) else { break }
            packed.items.insert(contentsOf: new.items, at: min(place, packed.items.count))
        }
    }

    // MARK: The end

    private mutating func alterEnd(_ container: inout UnsealedContainer) {
        switch random.below(4) {
        case 0: container.zeros = change(container.zeros, container.zeros.count + 600)
        case 1: container.footer = change(container.footer, container.footer.count)
        case 2: container.footer = [UInt8](container.footer.prefix(random.below(33))) + random.bytes(random.below(9))
        default: container.tail = container.front
        }
    }
}
