import Synchronization
import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

private struct ProviderFailure: Error {}

/// A provider that records what it is asked.
private final class Clerk: KeyProvider {
    private let asked = Mutex<[String]>([])
    let keys: KeySet
    let failing: String?

    init(_ keys: KeySet = KeySet(), failing: String? = nil) {
        self.keys = keys
        self.failing = failing
    }

    var questions: [String] { asked.withLock { $0 } }

    private func note(_ question: String) throws {
        asked.withLock { $0.append(question) }
        if question == failing { throw ProviderFailure() }
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try note("keys")
        return keys.symmetricKeys(for: ids)
    }

    var privateSlots: [PrivateSlotFamily] {
        PrivateSlotFamily(type: 0x8001, idPrefix: [UInt8](repeating: 9, count: 8)).map { [$0] } ?? []
    }

    func passphrases() throws -> [Passphrase] {
        try note("passphrases")
        return keys.passphrases()
    }

    func fileKey(for slot: PrivateSlot) throws -> FileKey? {
        try note("private")
        return nil
    }
}

/// What a key provider is asked, in which order, and how often.
@Suite(.bothEngines) struct KeyProviderTests {
    private static let passphrases = (1...3).map { testPassphrase("passphrase \($0)") }

    /// The header has passphrases first and keys last; the order of asking differs.
    private static func container(private isPrivate: Bool = false) throws -> [UInt8] {
        let forge = try Forge(seed: 50, capacity: .capacity(1024))
        var slots = try passphrases.enumerated().map { index, passphrase in
            try forge.slot(passphrase, salt: [UInt8](repeating: UInt8(index), count: 16))
        }
        let id = KeyID(unchecked: [UInt8](repeating: 9, count: 16)[...])
        if isPrivate { slots.append(Slot(type: 0x8001, keyID: id, body: [1, 2, 3])) }
        slots += [try forge.slot(testKey(1)), try forge.slot(testKey(2))]
        return try forge.container([1, 2, 3], front: forge.header(slots))
    }

    @Test(arguments: ReaderKind.allCases) func keyComesFirst(_ kind: ReaderKind) throws {
        let clerk = Clerk(KeySet(keys: [testKey(2)], passphrases: Self.passphrases))
        #expect(try read(Self.container(private: true), by: kind, keys: clerk).plaintext == [1, 2, 3])
        #expect(clerk.questions == ["keys"])
    }

    @Test(arguments: ReaderKind.allCases) func passphrasesOnce(_ kind: ReaderKind) throws {
        for (given, opens) in [
            (Self.passphrases, true), ([Self.passphrases[2]], true), ([testPassphrase("x")], false), ([], false),
        ] {
            let clerk = Clerk(KeySet(passphrases: given))
            let reading = try read(Self.container(private: true), by: kind, keys: clerk)
            #expect(reading.code == (opens ? nil : .wrongKey))
            #expect(clerk.questions == ["keys", "private", "passphrases"])
        }
    }

    /// Not if there is no slot for one.
    @Test(arguments: ReaderKind.allCases) func passphrasesNever(_ kind: ReaderKind) throws {
        let clerk = Clerk(KeySet(passphrases: Self.passphrases))
        #expect(try read(sealed([1]), by: kind, keys: clerk).code == .wrongKey)
        #expect(clerk.questions == ["keys"])
    }

    /// Even if a header is read again and again: each time another one, and none opens.
    @Test func passphrasesOnceForManyLooks() throws {
        let forge = try Forge(seed: 51)
        let headers = try (0..<16).map { index in
            forge.header([try forge.slot(testPassphrase("other"), salt: [UInt8](repeating: UInt8(index), count: 16))])
        }
        let containers = try headers.map { try forge.container([], front: $0) }
        let clerk = Clerk(KeySet(passphrases: [testPassphrase("wrong")]))
        let source = ChangingSource { containers[$0] }
        let error = #expect(throws: VaultError.self) { try SeekableVaultReader(source, with: Credentials(clerk)) }
        #expect(error?.code == .wrongKey)
        #expect(source.looks == 10)
        #expect(clerk.questions == ["passphrases"])
    }

    @Test(arguments: ["keys", "private", "passphrases"], ReaderKind.allCases)
    func errorsComeThrough(_ question: String, _ kind: ReaderKind) throws {
        let container = try Self.container(private: true)
        #expect(throws: ProviderFailure.self) {
            try read(container, by: kind, keys: Clerk(KeySet(passphrases: Self.passphrases), failing: question))
        }
    }

    /// A caller's limits on stretching, over all slots and over none.
    @Test(arguments: ReaderKind.allCases) func limits(_ kind: ReaderKind) throws {
        let keys = KeySet(passphrases: [Self.passphrases[2]])
        var limits = OpenLimits()
        func code(_ keys: KeySet) throws -> VaultError.Code? {
            try read(Self.container(), by: kind, keys: keys, limits: limits).code
        }
        limits.maximumPassphraseSlots = 2
        #expect(try code(keys) == .limitExceeded)
        #expect(try code(KeySet(passphrases: [Self.passphrases[1]])) == nil)
        #expect(try code(KeySet(keys: [testKey(1)], passphrases: Self.passphrases)) == nil)
        // Without a passphrase no limit was in the way.
        #expect(try code(KeySet()) == .wrongKey)
        limits.maximumPassphraseSlots = 3
        #expect(try code(keys) == nil)
        limits.maximumStretchingKiB = 23
        #expect(try code(keys) == .limitExceeded)
        limits.maximumStretchingKiB = 24
        limits.maximumPasses = 0
        #expect(try code(keys) == .limitExceeded)
        limits.maximumPasses = 1
        limits.maximumMemoryKiB = 7
        #expect(try code(keys) == .limitExceeded)
    }

    @Test func keySet() {
        let set = KeySet(keys: [testKey(1), testKey(2), testKey(1)])
        #expect(set.symmetricKeys(for: [testKey(3).id, testKey(2).id]).map(\.id) == [testKey(2).id])
        #expect(set.symmetricKeys(for: []).isEmpty)
        #expect(set.passphrases().isEmpty)
    }

    /// The outcome of every slot: each is tried, even after one that opens.
    @Test func everySlot() throws {
        let inspection = try Inspection(MemorySource(Self.container(private: true)))
        let clerk = Clerk(KeySet(keys: [testKey(1), testKey(3)], passphrases: [Self.passphrases[1]]))
        let outcomes = try inspection.trySlots(with: Credentials(clerk)).map(\.outcome)
        #expect(outcomes == [.refused, .opened, .refused, .refused, .opened, .notTried])
        #expect(clerk.questions == ["keys", "passphrases", "private"])
        let none = try inspection.trySlots(with: Credentials(KeySet())).map(\.outcome)
        #expect(none == [SlotOutcome](repeating: .notTried, count: 6))
        var limits = OpenLimits()
        limits.maximumPassphraseSlots = 1
        let limited = try inspection.trySlots(with: Credentials(KeySet(passphrases: Self.passphrases), limits: limits))
        #expect(limited.map(\.outcome) == [.opened, .notTried, .notTried, .notTried, .notTried, .notTried])
        #expect(limited.map(\.slot.type) == [2, 2, 2, 0x8001, 1, 1])
        let other = try inspection.trySlots(with: .key(testKey(1), context: testContext("x")))
        #expect(other.map(\.outcome)[4] == .refused)
    }

    /// A key counts only for slots with its own ID, whatever it was given for.
    @Test(arguments: ReaderKind.allCases) func unaskedKeys(_ kind: ReaderKind) throws {
        struct Generous: KeyProvider {
            func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [testKey(7), testKey(2), testKey(8)] }
        }
        #expect(try read(Self.container(), by: kind, keys: Generous()).plaintext == [1, 2, 3])
        #expect(try read(sealed([1]), by: kind, keys: Generous()).code == .wrongKey)
    }
}
