import Synchronization
import Testing
import VaultFile
import VaultTestSupport

private struct Stop: Error {}

/// Which header copy recovery uses, and at what cost.
@Suite(.bothEngines) struct RecoverySearchTests {
    private static let plaintext = randomBytes(3 * 4096 + 9, seed: 31)
    private static let passphrase = testPassphrase("open sesame")

    private static func forge(_ seed: UInt64, capacity: Int = 512) throws -> Forge {
        try Forge(seed: seed, capacity: .capacity(capacity))
    }

    private static func blank(_ bytes: [UInt8], _ range: Range<Int>, with part: [UInt8]? = nil) -> [UInt8] {
        var bytes = bytes
        bytes.replaceSubrange(range, with: part ?? [UInt8](repeating: 0, count: range.count))
        return bytes
    }

    /// Copies of another container, of another version, malformed or cut ones, and copies that no holder made,
    /// anywhere: the result is the same as without them.
    @Test(arguments: [512, 4096]) func decoys(_ capacity: Int) throws {
        let forge = try Self.forge(50, capacity: capacity)
        let header = forge.header([try forge.slot(testKey(1))])
        let right = try forge.container(Self.plaintext, front: header)
        let foreign = try Self.forge(51, capacity: capacity)
        let foreignHeader = foreign.header([try foreign.slot(testKey(2))])
        func changed(_ place: Int, to byte: UInt8) -> [UInt8] {
            withChecksum(Self.blank(header, place..<place + 1, with: [byte]))
        }
        let decoys = [
            foreignHeader, changed(9, to: 2), changed(71, to: 9), changed(74, to: 1), changed(12, to: 24),
            [UInt8](header.prefix(capacity - 1)), changed(15, to: 1), changed(40, to: 0x55), changed(13, to: 1),
            try Self.forge(50, capacity: 1024).header([try forge.slot(testKey(3))]),
        ]
        let tail = right.count - 32 - capacity
        for decoy in decoys {
            let padded = decoy + [UInt8](repeating: 0, count: max(0, capacity - decoy.count))
            let inFront = Self.blank(right, 0..<capacity, with: [UInt8](padded.prefix(capacity)))
            let behind = right + [UInt8](repeating: 0, count: (4096 - right.count % 4096) % 4096) + decoy
            let inEnd = Self.blank([UInt8](right.dropLast(32)), tail..<tail + capacity, with: decoy)
            for (number, container) in [inFront, behind, inEnd].enumerated() {
                let found = try Recovering(container)
                #expect(found.plaintext == Self.plaintext && found.recovered?.isComplete == true)
                #expect(found.recovered?.header.offset == (number == 0 ? UInt64(tail) : 0))
            }
        }
    }

    /// A copy is found at offsets divisible by its own capacity, up to 4096; at 0 and at the footer's offset, any copy.
    @Test(arguments: [512, 1024, 2048, 4096, 16384]) func places(_ capacity: Int) throws {
        let forge = try Self.forge(52, capacity: capacity)
        let header = forge.header([try forge.slot(testKey(1))])
        let right = try forge.container(Self.plaintext, front: header)
        let broken = [UInt8](Self.blank(right, 0..<capacity).dropLast(32 + capacity))
        for place in stride(from: 0, to: 4096 * 2, by: 256) {
            let start = (broken.count + 4095) / 4096 * 4096 + place
            let container = broken + [UInt8](repeating: 0, count: start - broken.count) + header
            let found = try Recovering(container)
            let counts = start.isMultiple(of: min(4096, capacity))
            #expect(found.recovered?.header.offset == (counts ? UInt64(start) : nil), "\(place)")
            #expect(found.plaintext == (counts ? Self.plaintext : []))
            var options = RecoveryOptions()
            options.headerOffset = UInt64(start)
            #expect(try Recovering(container, options: options).plaintext == found.plaintext)
        }
        // Across the border of what the search reads at once.
        let far = (1 << 20) - min(4096, capacity)
        let container = broken + [UInt8](repeating: 0, count: far - broken.count) + header
        #expect(try Recovering(container).recovered?.header.offset == UInt64(far))
    }

    /// Two containers with valid headers: the caller chooses, and only the named one counts.
    @Test func copiesDisagree() throws {
        let (one, two) = try (Self.forge(53), Self.forge(54))
        let text = randomBytes(100, seed: 9)
        let first = try one.container(Self.plaintext, front: one.header([try one.slot(testKey(1))]))
        let second = try two.container(text, front: two.header([try two.slot(testKey(1))]))
        // The front is from one container, everything else from the other.
        let mixed = Self.blank(second, 0..<512, with: [UInt8](first.prefix(512)))
        let tail = UInt64(second.count - 32 - 512)
        let error = try #require(try Recovering(mixed).result.failure)
        #expect(error.code == .copiesDisagree && error.message.contains("0, \(tail)"))
        let recovery = try Recovery(MemorySource(mixed), with: .key(testKey(1)))
        #expect(recovery.headers.map(\.offset) == [0, tail])
        #expect(recovery.headers.map(\.summary.commitment) == [one.preamble.commitment, two.preamble.commitment])
        #expect(try Recovering(mixed, using: recovery.headers[1]).plaintext == text)
        #expect(try Recovering(mixed, using: recovery.headers[0]).recovered?.manifest == nil)
        var options = RecoveryOptions()
        options.headerOffset = tail
        let named = try Recovering(mixed, options: options)
        #expect(named.plaintext == text && named.recovered?.header.offset == tail)
        #expect(try Recovering(mixed, options: options, using: recovery.headers[0]).code == .invalidArgument)
        options.headerOffset = 512
        #expect(try Recovering(mixed, options: options).code == .headerDamaged)
        options.headerOffset = .max
        #expect(try Recovering(mixed, options: options).code == .headerDamaged)
        // A key that opens only one of them leaves no choice.
        let other = try one.container(Self.plaintext, front: one.header([try one.slot(testKey(2))]))
        let clear = Self.blank(second, 0..<512, with: [UInt8](other.prefix(512)))
        #expect(try Recovering(clear).plaintext == text)
    }

    @Test func errors() throws {
        let forge = try Self.forge(55)
        let slot = try forge.slot(testKey(1))
        let right = try forge.container(Self.plaintext, front: forge.header([slot]))
        #expect(try Recovering(right, keys: KeySet(keys: [testKey(2)])).code == .wrongKey)
        #expect(try Recovering(right, keys: KeySet()).code == .wrongKey)
        #expect(try Recovering(right, context: testContext("x")).code == .wrongKey)
        #expect(try Recovering([]).code == .headerDamaged)
        #expect(try Recovering([UInt8](repeating: 0, count: 10_000)).code == .headerDamaged)
        let sum = withChecksum(Self.blank(forge.header([slot]), 71..<72, with: [3]))
        let forged = try forge.container(Self.plaintext, front: sum)
        #expect(try Recovering(forged).code == .headerForged)
        // The old slot of a removed key, in a copy that no holder made, leads nowhere; the new key counts.
        let current = forge.header([try forge.slot(testKey(3))], generation: 2)
        let both = try forge.container(Self.plaintext, front: current, tail: sum)
        #expect(try Recovering(both).code == .headerForged)
        let found = try Recovering(both, keys: KeySet(keys: [testKey(1), testKey(3)]))
        #expect(found.plaintext == Self.plaintext && found.recovered?.header.offset == 0)
    }

    // MARK: Limits

    @Test func stretching() throws {
        let forge = try Self.forge(56)
        let salts = (0..<4).map { [UInt8](repeating: UInt8($0), count: 16) }
        let slots = try salts.map { try forge.slot(Self.passphrase, memoryKiB: 16, salt: $0) }
        let wrong = try salts.map { salt in
            try forge.slot(testPassphrase("another"), memoryKiB: 16, salt: salt.map { $0 + 100 })
        }
        let (front, tail) = (forge.header([wrong[0], wrong[1]]), forge.header([wrong[2], slots[3]]))
        let container = try forge.container(Self.plaintext, front: front, tail: tail)
        let keys = KeySet(passphrases: [Self.passphrase])
        var options = RecoveryOptions()
        // Four slots of 16 KiB; the last one opens. Each counts once, even if several copies hold it.
        for (limit, opens) in [(64, true), (63, false), (48, false), (0, false)] {
            options.maximumStretchingKiB = UInt64(limit)
            let found = try Recovering(container + container, keys: keys, options: options)
            #expect(found.code == (opens ? nil : .limitExceeded))
            // Without a passphrase none was left out.
            #expect(try Recovering(container, keys: KeySet(), options: options).code == .wrongKey)
        }
        options.maximumStretchingKiB = 64
        var limits = OpenLimits.standard
        limits.maximumMemoryKiB = 15
        #expect(try Recovering(container, keys: keys, limits: limits, options: options).code == .limitExceeded)
    }

    @Test func hashingAndCandidates() throws {
        let forge = try Self.forge(57)
        let slot = try forge.slot(testKey(1))
        let text = randomBytes(40 * 4096, seed: 3)
        var right = try forge.container(text, front: forge.header([slot]))
        right = Self.blank(right, 0..<512)
        let tail = UInt64(right.count - 32 - 512)
        right = Self.blank(right, right.count - 32..<right.count)
        // More different useless copies than may be judged, before the right one.
        var container = right
        for number in 0..<20 {
            let decoy = withChecksum(Self.blank(forge.header([slot]), 71..<72, with: [UInt8(10 + number)]))
            container.replaceSubrange(1024 + number * 512..<1536 + number * 512, with: decoy)
        }
        var options = RecoveryOptions()
        let found = try Recovering(container)
        #expect(found.recovered?.header.offset == tail && found.recovered?.manifest != nil)
        options.maximumHashingFactor = 0
        #expect(try Recovering(container, options: options).code == .headerDamaged)
        // The search first looks where the footer leads (RECOV-1).
        let footer = [UInt8](try forge.container(text, front: forge.header([slot])).suffix(32))
        options = RecoveryOptions()
        options.maximumCandidateBytes = 512
        let led = try Recovering(container.dropLast(32) + footer, options: options)
        #expect(led.recovered?.header.offset == tail && led.recovered?.manifest != nil)
        options = RecoveryOptions()
        options.maximumCandidateBytes = 20 * 512
        let cut = try #require(try Recovering(container, options: options).result.failure)
        #expect(cut.code == .headerForged && cut.message.contains("limit"))
        options.headerOffset = tail
        #expect(try Recovering(container, options: options).recovered?.manifest != nil)
        options.headerOffset = nil
        options.maximumCandidateBytes = 21 * 512
        let recovery = try Recovery(MemorySource(container), with: .key(testKey(1)), options: options)
        #expect(!recovery.isSearchCut)
        // Equal copies count once.
        var equal = right
        let decoy = withChecksum(Self.blank(forge.header([slot]), 71..<72, with: [9]))
        for number in 0..<40 { equal.replaceSubrange(1024 + number * 512..<1536 + number * 512, with: decoy) }
        options.maximumCandidateBytes = 2 * 512
        #expect(try Recovering(equal, options: options).recovered?.header.offset == tail)
    }

    /// When the bytes that may be hashed are used up, the search ends. It skips later copies even if they cost less
    /// (RECOV-4).
    @Test func theSearchEnds() throws {
        let last = try Self.forge(56, capacity: 512)
        let copies = try [8192, 4096].map { capacity in
            let forge = try Self.forge(UInt64(capacity), capacity: capacity)
            return forge.header([try forge.slot(testKey(2))])
        }
        let found = last.header([try last.slot(testKey(1))])
        // Of 18,432 bytes the first copy costs 16,384; the second would cost 8192, and the last 1024.
        let bytes = copies[0] + copies[1] + found + [UInt8](repeating: 0, count: 5632)
        var options = RecoveryOptions()
        options.maximumHashingFactor = 1
        #expect(bytes.count == 18_432)
        #expect(try Recovering(bytes, options: options).code == .wrongKey)
        options.maximumHashingFactor = 2
        #expect(try Recovering(bytes, options: options).recovered?.header.offset == 12_288)
    }

    /// The caller is asked for each key once, whatever the file holds, and for passphrases only if no key opens.
    @Test func askedOnce() throws {
        let forge = try Self.forge(58)
        let header = forge.header([try forge.slot(Self.passphrase), try forge.slot(testKey(1))])
        let container = try forge.container(Self.plaintext, front: header)
        let provider = CountingProvider(key: testKey(1), passphrase: Self.passphrase)
        #expect(try Recovering(container + container, keys: provider).recovered != nil)
        #expect(provider.asked.withLock { $0 } == ["keys 1"])
        let other = CountingProvider(key: testKey(2), passphrase: Self.passphrase)
        #expect(try Recovering(container + container, keys: other).recovered != nil)
        #expect(other.asked.withLock { $0 } == ["keys 1", "passphrases"])
        let failing = CountingProvider(key: nil, passphrase: Self.passphrase)
        #expect(throws: Stop.self) { try Recovering(container, keys: failing) }
    }

    private final class CountingProvider: KeyProvider {
        let asked = Mutex<[String]>([])
        private let key: SymmetricKey?
        private let passphrase: Passphrase

        init(key: SymmetricKey?, passphrase: Passphrase) {
            (self.key, self.passphrase) = (key, passphrase)
        }

        func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
            asked.withLock { $0.append("keys \(ids.count)") }
            guard let key else { throw Stop() }
            return [key]
        }

        func passphrases() -> [Passphrase] {
            asked.withLock { $0.append("passphrases") }
            return [passphrase]
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
