import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// What sealing corrects after a change. Parts that are left out stay as they were, so that their check finds a fault.
struct Repairs: OptionSet, Sendable {
    let rawValue: Int

    /// The commitment fits the file key.
    static let commitment = Repairs(rawValue: 1)
    /// The first 68 bytes of the tail equal the front's.
    static let agreement = Repairs(rawValue: 2)
    /// Slots of known keys and passphrases hold the file key.
    static let slots = Repairs(rawValue: 4)
    /// A copy has the length that it states.
    static let capacity = Repairs(rawValue: 8)
    static let mac = Repairs(rawValue: 16)
    static let checksum = Repairs(rawValue: 32)
    /// The manifest is true and has the right form.
    static let manifest = Repairs(rawValue: 64)
    static let zeros = Repairs(rawValue: 128)
    static let footer = Repairs(rawValue: 256)

    static let all = Repairs(rawValue: 511)
    static let each = (0..<9).map { Repairs(rawValue: 1 << $0) }
}

/// A container taken apart, without the values that authenticate it, as far as they were right. So every part can be
/// changed and everything sealed again. Takes any bytes.
struct UnsealedContainer {
    struct Copy {
        /// The bytes before the MAC.
        var body: [UInt8]
        /// MAC and checksum.
        var end: [UInt8]
    }

    struct Record {
        var kind: UInt8
        /// The stated length, if it is not the length of the text.
        var statedCount: Int?
        var text: [UInt8]
        /// The tag of a record that did not authenticate; `text` is then the stored bytes. Nil for other records.
        var tag: [UInt8]?
    }

    var front: Copy
    var records: [Record]
    /// The bytes between the last record and the tail. They are zeros in a right container.
    var zeros: [UInt8]
    var tail: Copy
    var footer: [UInt8]

    let fileKey: [UInt8]
    var secrets: FuzzInput.Secrets
    /// The preamble of the container that was taken apart.
    private let preamble: [UInt8]

    /// - Returns: Nil if the bytes are shorter than a preamble.
    init?(_ bytes: [UInt8], fileKey: [UInt8], secrets: FuzzInput.Secrets) {
        guard bytes.count >= HeaderCopy.slotsOffset + 64 else { return nil }
        self.fileKey = fileKey
        self.secrets = secrets
        preamble = [UInt8](bytes.prefix(Preamble.count))
        let capacity = min(HeaderCopy.claimedCapacity(bytes[...])?.bytes ?? 512, bytes.count)
        front = Copy(bytes.prefix(capacity))
        var rest = bytes.dropFirst(capacity)
        footer = [UInt8](rest.suffix(Footer.count))
        rest = rest.dropLast(Footer.count)
        tail = Copy(rest.suffix(capacity))
        rest = rest.dropLast(capacity)
        records = []
        let schedule = try? KeySchedule(
            fileKey: FileKey(secret(fileKey)), parameters: [UInt8](bytes.prefix(32)), context: secrets.context)
        while rest.count >= RecordHead.overhead, records.last?.kind != 2 {
            let (kind, count) = (rest[rest.startIndex], Int(rest.dropFirst().prefix(3).bigEndian() as UInt32))
            guard kind == 1 || kind == 2, rest.count >= count + RecordHead.overhead else { break }
            let sealed = [UInt8](rest.prefix(count + RecordHead.overhead))
            records.append(Record(sealed, index: UInt64(records.count), fileID: bytes[16..<32], schedule))
            rest = rest.dropFirst(sealed.count)
        }
        zeros = [UInt8](rest)
    }

    // MARK: Sealing

    /// Puts the container together again.
    func sealed(_ repairs: Repairs) throws -> [UInt8] {
        var (front, tail) = (front, tail)
        let schedule = try KeySchedule(
            fileKey: FileKey(secret(fileKey)), parameters: [UInt8](front.body.prefix(32)), context: secrets.context)
        if repairs.contains(.commitment) { front.put(schedule.commitment, at: 32) }
        if repairs.contains(.agreement) { tail.put([UInt8](front.body.prefix(68)), at: 0) }
        var copies: [[UInt8]] = []
        for copy in [front, tail] {
            var copy = copy
            if repairs.contains(.capacity) { copy.resize() }
            if repairs.contains(.slots) { try wrapAgain(&copy) }
            copies.append(copy.sealed(schedule, repairs))
        }
        var bytes = copies[0]
        let parts = repairs.contains(.manifest) ? withRightManifest(schedule) : records
        for (index, record) in parts.enumerated() {
            bytes += record.sealed(index: UInt64(index), fileID: front.body[16..<32], schedule)
        }
        let manifestCount = (parts.last?.text.count ?? 0)
        let manifestOffset = bytes.count - (parts.isEmpty ? 0 : manifestCount + RecordHead.overhead)
        if repairs.contains(.zeros) {
            bytes.pad(
                to: Int(HeaderCapacity(bytes: copies[0].count)?.aligned(UInt64(bytes.count)) ?? UInt64(bytes.count)))
        } else {
            bytes += zeros
        }
        bytes += copies[1]
        guard repairs.contains(.footer) else { return bytes + footer }
        let length = UInt64(bytes.count + Footer.count)
        bytes.append(bigEndian: UInt64(manifestOffset))
        bytes.append(bigEndian: length)
        bytes.append(bigEndian: UInt32(copies[0].count))
        bytes.append(bigEndian: UInt32(manifestCount))
        return bytes + Preamble.magic.reversed()
    }

    var recipientSlots: RecipientSlots { RecipientSlots(secrets: secrets, preamble: preamble) }

    /// Puts the file key into every slot that opens, and the IDs of recipients under the new preamble into their slots.
    private func wrapAgain(_ copy: inout Copy) throws {
        let preamble = [UInt8](copy.body.prefix(Preamble.count))
        var place = HeaderCopy.slotsOffset
        for slot in copy.slots {
            defer { place += slot.count }
            guard slot.count > Slot.headCount + Slot.wrappedCount else { continue }
            var slot = slot
            if let id = recipientSlots.renewedID(slot, under: preamble) { slot.replaceSubrange(4..<20, with: id) }
            guard let key = try wrappingKey(slot, preamble) else { continue }
            let lead = [UInt8](slot.dropLast(Slot.wrappedCount))
            copy.put(lead, at: place)
            copy.put(
                Forge.wrap(fileKey, preamble: preamble, slot: lead, nonce: lead.suffix(24), key: key),
                at: place + lead.count)
        }
    }

    private func wrappingKey(_ slot: [UInt8], _ preamble: [UInt8]) throws -> SecretBytes? {
        switch (slot[0..<2].bigEndian() as UInt16, slot.count) {
        case (1, 92):
            let key = secrets.symmetric.first { $0.id.bytes == [UInt8](slot[4..<20]) }
            return try key.map { try Forge.wrappingKey(of: $0, preamble: preamble) }
        case (2, 104):
            guard let passphrase = secrets.passphrases.first,
                case let (passes, memory):(UInt32, UInt32) = (slot[20..<24].bigEndian(), slot[24..<28].bigEndian()),
                (1...FuzzInput.limits.maximumPasses).contains(passes),
                (8...FuzzInput.limits.maximumMemoryKiB).contains(memory)
            else { return nil }
            return try Forge.wrappingKey(
                of: passphrase, passes: passes, memoryKiB: memory, salt: [UInt8](slot[4..<20]), preamble: preamble)
        case (FuzzKeys.privateType, FuzzKeys.privateSlotCount):
            return slot[4...].starts(with: FuzzKeys.idPrefix) ? secrets.symmetric.first?.secret : nil
        default:
            return try RecipientSlots.wrappingKey(slot, preamble, secrets)
        }
    }

    /// The records, with a manifest that says what they hold.
    private func withRightManifest(_ schedule: KeySchedule) -> [Record] {
        guard let last = records.last, last.kind == 2, last.tag == nil else { return records }
        var members = ManifestMembers(last.text)
        let stream = records.dropLast().flatMap(\.text)
        members.set(1, schedule.commitment)
        var items: PackedItems?
        if front.body[13] == 1 {
            items = PackedItems(reading: stream)
            members.set(3, UInt64(stream.count).bigEndianBytes)
            members.set(4, (items?.indexOffsets ?? []).flatMap(\.bigEndianBytes))
        } else {
            members.remove(3)
            members.remove(4)
        }
        members.set(2, (items?.plaintextLength ?? UInt64(stream.count)).bigEndianBytes)
        if members.has(5), items == nil { members.set(5, sha256([UInt8](stream))) }
        var record = last
        record.text = members.encoded
        return records.dropLast() + [record]
    }
}

extension UnsealedContainer.Record {
    fileprivate init(_ sealed: [UInt8], index: UInt64, fileID: ArraySlice<UInt8>, _ schedule: KeySchedule?) {
        kind = sealed[0]
        var record = sealed
        if let schedule {
            var span = record.mutableSpan
            let isAuthentic: Void? = try? XChaCha20Poly1305.open(
                &span, prefixCount: RecordHead.count, nonce: XChaChaNonce(fileID + index.bigEndianBytes),
                key: schedule.streamKey)
            tag = isAuthentic == nil ? [UInt8](sealed.suffix(16)) : nil
        } else {
            tag = [UInt8](sealed.suffix(16))
        }
        text = [UInt8]((tag == nil ? record : sealed)[4...].dropLast(16))
    }

    fileprivate func sealed(index: UInt64, fileID: ArraySlice<UInt8>, _ schedule: KeySchedule) -> [UInt8] {
        let count = statedCount ?? text.count
        let head = [kind, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        if let tag { return head + text + tag }
        return Forge.record(head: head, text, nonce: XChaChaNonce(fileID + index.bigEndianBytes), schedule)
    }
}

extension UnsealedContainer.Copy {
    fileprivate init(_ bytes: ArraySlice<UInt8>) {
        body = [UInt8](bytes.dropLast(64))
        end = [UInt8](bytes.suffix(64))
        body.pad(to: max(body.count, HeaderCopy.slotsOffset))
    }

    mutating func put(_ bytes: [UInt8], at place: Int) {
        guard place + bytes.count <= body.count else { return }
        body.replaceSubrange(place..<place + bytes.count, with: bytes)
    }

    /// The stated number of slots, as far as they reach.
    var slots: [[UInt8]] {
        get {
            var rest = body.dropFirst(HeaderCopy.slotsOffset)
            var slots: [[UInt8]] = []
            for _ in 0..<(body[72..<74].bigEndian() as UInt16) {
                guard rest.count >= Slot.headCount else { break }
                let count = Slot.headCount + Int(rest.dropFirst(2).prefix(2).bigEndian() as UInt16)
                guard count <= rest.count else { break }
                slots.append([UInt8](rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            return slots
        }
        set {
            let count = body.count
            put([UInt8(newValue.count >> 8 & 0xFF), UInt8(newValue.count & 0xFF)], at: 72)
            body = [UInt8](body.prefix(HeaderCopy.slotsOffset)) + newValue.joined()
            body.pad(to: max(count, body.count))
        }
    }

    /// Raises the capacity that the copy claims until its slots fit.
    mutating func makeRoom() {
        let needed = HeaderCopy.slotsOffset + slots.joined().count + 64
        guard var capacity = HeaderCapacity(bytes: Int(body[64..<68].bigEndian() as UInt32))?.bytes else { return }
        while capacity < needed { capacity *= 2 }
        put(UInt32(capacity).bigEndianBytes, at: 64)
    }

    /// Cuts the copy, or fills it with zeros, to the capacity that it claims.
    fileprivate mutating func resize() {
        guard let capacity = HeaderCapacity(bytes: Int(body[64..<68].bigEndian() as UInt32)) else { return }
        body = [UInt8](body.prefix(capacity.bytes - 64))
        body.pad(to: capacity.bytes - 64)
    }

    fileprivate func sealed(_ schedule: KeySchedule, _ repairs: Repairs) -> [UInt8] {
        guard repairs.contains(.checksum) else {
            guard repairs.contains(.mac) else { return body + end }
            return schedule.seal(headerBody: body).dropLast(32) + end.suffix(32)
        }
        return repairs.contains(.mac) ? schedule.seal(headerBody: body) : withChecksum(body + end)
    }
}
