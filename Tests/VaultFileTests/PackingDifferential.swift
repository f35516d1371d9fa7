import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Packed streams that a holder of the key made wrong, and records that a disk damaged: the library and the reference
/// must give the same error, and release the same bytes before it.
@Suite struct PackingDifferential {
    private static let rounds = 800
    private static let chunk = ChunkSize.minimum.bytes

    private struct Case {
        var items: PackedItems
        var plaintext: [UInt8]
        var plaintextLength: UInt64
        var streamLength: UInt64?
        var digest: [UInt8]?
        /// The changes of the bytes of the stream and of the container.
        var changes: [(place: UInt64, mask: UInt8)] = []
        var damage: [(place: UInt64, mask: UInt8)] = []
        var cut: UInt64 = 0
        var added: [UInt8] = []
    }

    private static func deflated(_ block: [UInt8]) throws -> PackedItems.Item {
        try PackedItems(block, chunk: max(1, block.count)).items[0]
    }

    private static func change(_ one: inout Case, _ random: inout SeededRandom) throws {
        let (count, last) = (one.items.items.count, one.items.items.count - 1)
        func any() -> UInt64 { random.next() }
        guard count > 0 else {
            switch random.below(4) {
            case 0: one.items.items = [.init(2, [])]
            case 1: one.items.items = [.init(UInt8(random.below(4)), random.bytes(1 + random.below(20)))]
            case 2: one.items.indexOffsets = [0]
            default: one.plaintextLength = 1
            }
            return
        }
        let place = random.below(count)
        switch random.below(24) {
        case 0: one.changes.append((any(), 1 << UInt8(random.below(8))))
        case 1: one.items.items[place].method = UInt8(random.pick([0, 1, 2, 3, 255]))
        case 2:
            let length = one.items.items[place].body.count
            one.items.items[place].statedCount = random.pick([0, 1, 4096, 4097, 0xFF_FFFF, length - 1, length + 1])
        case 3: one.items.items.remove(at: place)
        case 4: one.items.items.insert(one.items.items[place], at: place)
        case 5: one.items.items.swapAt(place, random.below(count))
        case 6: one.cut = any()
        case 7: one.added = random.bytes(1 + random.below(10))
        case 8: one.added = one.items.items[place].bytes
        case 9 where one.items.items[last].body.count > 2:
            let byte = random.below(one.items.items[last].body.count)
            one.items.items[last].body[byte] &+= random.pick([1, 255, 16])
        case 10:
            let step = random.pick([1, UInt64.max, 4096, 1 << 62, 7])
            if !one.items.indexOffsets.isEmpty { one.items.indexOffsets[0] &+= step }
        case 11: one.items.indexOffsets.append(random.pick([0, 5, 1 << 63, UInt64(one.items.bytes.count)]))
        case 12: one.items.indexOffsets = []
        case 13: one.streamLength = UInt64(one.items.bytes.count + random.pick([-1, 1, 4096]))
        case 14:
            one.plaintextLength = random.pick([0, 1, 4096, 8192, 1 << 62, one.plaintextLength + 1, 5])
        case 15 where one.items.items[place].body.count > 0:
            let byte = random.below(one.items.items[place].body.count)
            one.items.items[place].body[byte] ^= 1 << UInt8(random.below(8))
        case 16: one.items.items[place] = .init(0, random.bytes(1 + random.below(Self.chunk)))
        case 17:
            let length = random.pick([4095, 4097, 8192, 100_000, 1 + random.below(9000)])
            one.items.items[place] = try deflated([UInt8](repeating: 3, count: length))
        case 18 where !one.items.items[place].body.isEmpty: one.items.items[place].body.removeLast()
        case 19: one.items.items[place].body += random.bytes(random.pick([1, 1, 2, 30]))
        case 20: one.digest = random.bytes(32)
        case 21, 22: one.damage.append((any(), 1 << UInt8(random.below(8))))
        default:
            // Bits that a rule of DEFLATE determines, or none does.
            if var byte = one.items.items[place].body.last {
                byte ^= 0x80
                one.items.items[place].body[one.items.items[place].body.count - 1] = byte
            }
        }
        // A maker who knows the rules corrects the consequences.
        if random.below(3) == 0 { one.items.addIndex() }
        if random.below(6) == 0 { one.items.indexOffsets = one.items.items.last?.method == 2 ? [offset(one)] : [] }
    }

    private static func offset(_ one: Case) -> UInt64 {
        UInt64(one.items.items.dropLast().reduce(0) { $0 + $1.bytes.count })
    }

    private static func container(_ one: Case, _ forge: Forge) throws -> [UInt8] {
        var stream = one.items.bytes + one.added
        if one.cut > 0, !stream.isEmpty { stream.removeLast(Int(one.cut % UInt64(min(stream.count, 5000)))) }
        for change in one.changes where !stream.isEmpty {
            stream[Int(change.place % UInt64(stream.count))] ^= change.mask
        }
        let front = forge.header([try forge.slot(testKey(1))])
        var container = forge.container(
            packed: stream, plaintextLength: one.plaintextLength, streamLength: one.streamLength,
            indexOffsets: one.items.indexOffsets, digest: one.digest, front: front)
        for damage in one.damage {
            let records = container.count - 2 * 512 - 32
            container[512 + Int(damage.place % UInt64(records))] ^= damage.mask
        }
        return container
    }

    private static func cases(_ seed: UInt64) throws -> [(container: [UInt8], isDamaged: Bool)] {
        var random = SeededRandom(seed: seed)
        return try (0..<rounds).map { round in
            let forge = try Forge(seed: random.next(), compression: .deflate)
            let sizes = [0, 1, 50, 4095, 4096, 4097, 3 * 4096, 3 * 4096 + 9, 7 * 4096 - 1]
            let text = mixedBytes(random.pick(sizes), seed: random.next())
            var one = Case(
                items: try PackedItems(text, chunk: chunk), plaintext: text, plaintextLength: UInt64(text.count))
            if random.below(2) == 0 { one.digest = sha256(text) }
            // One in ten stays right.
            if round % 10 > 0 { for _ in 0..<random.pick([1, 1, 1, 2, 3]) { try change(&one, &random) } }
            return (try container(one, forge), !one.damage.isEmpty)
        }
    }

    @Test(arguments: [2030, 2031] as [UInt64]) func asTheReference(_ seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let cases = try Self.cases(seed)
        let readers = ["stream", "whole", "seek", "recover"]
        let key = KeySet(keys: [testKey(1)])
        var requests: [Reference.Request] = []
        for (number, one) in cases.enumerated() {
            try folder.write(one.container, to: "\(number)")
            for reader in readers {
                var request = Reference.Request()
                request.input = folder["\(number)"].string
                request.reader = reader
                request.keys = [[UInt8](repeating: 1, count: 32).hexDigits]
                requests.append(request)
            }
        }
        let answers = try Reference.answers(to: requests)
        var (classes, released): ([String: Int], Int) = ([:], 0)
        for (number, one) in cases.enumerated() {
            let container = one.container
            let answers = answers[number * 4..<number * 4 + 4].map { $0 }
            let stream = try read(container, by: .stream, keys: key, piece: 1 + number % 9000)
            let whole = try read(container, by: .whole, keys: key)
            let ranges = try read(container, by: .ranges, keys: key)
            for (reading, answer) in zip([stream, whole, ranges], answers) {
                let about: Comment = "\(number) of seed \(seed): \(reading.result), \(answer)"
                #expect(reading.code?.name == answer.error, about)
                #expect(reading.health.map { "\($0)" } == answer.result, about)
            }
            for (reading, answer) in zip([stream, whole], answers) {
                let about: Comment = "\(number) of seed \(seed): \(reading.result), \(answer)"
                #expect(reading.plaintext.count == answer.plaintextLength, about)
                #expect(sha256(reading.plaintext).hexDigits == answer.plaintextSHA256, about)
            }
            let found = try Recovering(container, keys: key)
            let about: Comment = "\(number) of seed \(seed): \(found.result), \(answers[3])"
            #expect(found.code?.name == answers[3].error, about)
            #expect(found.plaintext.count == answers[3].plaintextLength, about)
            #expect(sha256(found.plaintext).hexDigits == answers[3].plaintextSHA256, about)
            #expect(found.lost.map { [$0.lowerBound, $0.upperBound] } == answers[3].lost ?? [], about)
            #expect(found.recovered.map { $0.manifest != nil } == answers[3].complete, about)
            // Verifying finds damage exactly if reading everything fails, and names everything that recovery loses.
            // Recovery first corrects the heads of records.
            if let reader = try? SeekableVaultReader(MemorySource(container), with: Credentials(key)) {
                var damage: [Damage] = []
                try reader.verify { damage.append($0) }
                #expect(damage.isEmpty == (whole.error == nil), about)
                let named = damage.compactMap(\.plaintextRange)
                #expect(found.lost.allSatisfy { lost in named.contains { $0.clamped(to: lost) == lost } }, about)
                if !one.isDamaged { #expect(named == found.lost, about) }
            }
            classes[stream.code?.name ?? "opened", default: 0] += 1
            if stream.error != nil, !stream.plaintext.isEmpty { released += 1 }
        }
        for name in ["opened", "packingMalformed", "manifestMismatch", "recordDamaged", "contentMismatch"] {
            #expect(classes[name, default: 0] > 10, "\(classes)")
        }
        #expect(released > 100)
    }
}
