import Synchronization
import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultStream

/// A key provider that counts how often it is asked, and for what.
private final class CountingProgram: KeyProvider {
    let keys: KeySet
    private let asked = Mutex<(ids: [[KeyID]], passphrases: Int, slots: Int)>(([], 0, 0))

    init(_ keys: KeySet = KeySet()) {
        self.keys = keys
    }

    var ids: [[KeyID]] { asked.withLock { $0.ids } }
    var passphraseQuestions: Int { asked.withLock { $0.passphrases } }
    var slotQuestions: Int { asked.withLock { $0.slots } }

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] {
        asked.withLock { $0.ids.append(ids) }
        return keys.symmetricKeys(for: ids)
    }

    func passphrases() -> [Passphrase] {
        asked.withLock { $0.passphrases += 1 }
        return keys.passphrases()
    }

    static let family = PrivateSlotFamily(type: 0x8001, idPrefix: [UInt8](repeating: 9, count: 8))

    var privateSlots: [PrivateSlotFamily] { [Self.family].compactMap { $0 } }

    func fileKey(for slot: PrivateSlot) -> FileKey? {
        asked.withLock { $0.slots += 1 }
        return nil
    }
}

/// A passphrase that counts how often a slot is stretched with it.
private final class CountedPassphrase: SlotSecret {
    private let passphrase: Passphrase
    private let counts = Mutex<[HeaderSlot: Int]>([:])

    init(_ passphrase: Passphrase) {
        self.passphrase = passphrase
    }

    var tries: [Int] { counts.withLock { $0.values.sorted() } }

    func mayOpen(_ slot: HeaderSlot) -> Bool { passphrase.mayOpen(slot) }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        counts.withLock { $0[slot, default: 0] += 1 }
        return try passphrase.attempt(slot, context: context)
    }

    func recipient(like slot: Slot) -> Recipient? { nil }
}

/// What a trial costs, and how often the provider is asked, for every way to start a trial.
@Suite struct SlotTrialsTests {
    private let forge: Forge
    private let first = testPassphrase("first")
    private let second = testPassphrase("second")

    init() throws {
        forge = try Forge(seed: 120, capacity: .capacity(1024))
    }

    private func copy(_ slots: [Slot], generation: UInt32 = 1) throws -> HeaderCopy {
        try HeaderCopy(parsing: forge.header(slots, generation: generation))
    }

    private func slot(_ passphrase: Passphrase, _ salt: UInt8) throws -> Slot {
        try forge.slot(passphrase, salt: [UInt8](repeating: salt, count: 16))
    }

    private func privateSlot(_ last: UInt8 = 9) -> Slot {
        let id = [UInt8](repeating: 9, count: 15) + [last]
        return Slot(type: 0x8001, keyID: KeyID(unchecked: id[...]), body: [1, 2, 3])
    }

    private func trials(_ keys: any KeyProvider, _ limits: OpenLimits = .standard, sum: UInt64 = .max) -> SlotTrials {
        SlotTrials(Credentials(keys, limits: limits), maximumStretchingKiB: sum)
    }

    private func recipient(_ suffix: UInt8 = 9) throws -> Recipient {
        let family = try #require(CountingProgram.family)
        return try .privateSlot(
            family, idSuffix: [UInt8](repeating: 9, count: 7) + [suffix], bodyCount: 3, wrap: { _, _ in [1, 2, 3] })
    }

    // MARK: Asking

    /// Every way to try a slot asks the provider itself, and none asks twice.
    @Test func eachQuestionOnce() throws {
        let program = CountingProgram()
        var trials = trials(program)
        let copies = [
            try copy([forge.slot(testKey(1)), privateSlot(), slot(first, 1)]),
            try copy([forge.slot(testKey(2)), forge.slot(testKey(1)), privateSlot(), slot(first, 1)], generation: 2),
        ]
        let slots = trials.slots(of: copies)
        #expect(slots.count == 4)
        #expect(program.ids.isEmpty)
        for _ in 0..<2 {
            #expect(try !trials.opensAny(of: slots))
            #expect(try trials.openEvery(copies[1]) == [.notTried, .notTried, .refused, .notTried])
            for slot in slots { #expect(try trials.recipient(of: slot) == nil) }
        }
        #expect(program.ids == [[testKey(1).id, testKey(2).id]])
        #expect(program.passphraseQuestions == 1)
        #expect(program.slotQuestions == 1)
    }

    /// The provider is asked only for keys that were not in an earlier copy.
    @Test func laterCopy() throws {
        let program = CountingProgram(KeySet(keys: [testKey(2)]))
        var trials = trials(program)
        #expect(try !trials.opensAny(of: trials.slots(of: copy([forge.slot(testKey(1))]))))
        #expect(try trials.opensAny(of: trials.slots(of: copy([forge.slot(testKey(1)), forge.slot(testKey(2))]))))
        #expect(program.ids == [[testKey(1).id], [testKey(2).id]])
    }

    /// If a passphrase is given, it is tried without asking the provider for others.
    @Test func givenPassphrase() throws {
        let program = CountingProgram(KeySet(passphrases: [second]))
        var trials = trials(program)
        let slots = try trials.slots(of: copy([slot(first, 1), slot(second, 2), forge.slot(testKey(1))]))
        let selection = SlotSelection(passphrases: [first])
        #expect(try slots.map { try trials.selects($0, by: selection, beside: []) } == [true, false, false])
        #expect(program.passphraseQuestions == 0)
        #expect(try trials.opensAny(of: [slots[1]]))
        #expect(program.passphraseQuestions == 1)
    }

    // MARK: Limits

    /// A slot that these trials have not seen in a copy is refused: its limits have not been checked.
    @Test func unjudgedSlot() throws {
        let keys = KeySet(passphrases: [first])
        var (one, other) = (trials(keys), trials(keys))
        let slots = try one.slots(of: copy([slot(first, 1)]))
        #expect(try !other.opensAny(of: slots))
        #expect(throws: VaultError.self) {
            try other.selects(slots[0], by: SlotSelection(passphrases: [first]), beside: [])
        }
        #expect(try one.opensAny(of: slots))
    }

    /// A slot that is within the limits in one copy may be tried, even if it is also in another copy.
    @Test func withinInOneCopy() throws {
        var limits = OpenLimits()
        limits.maximumPassphraseSlots = 1
        let (one, two) = (try slot(first, 1), try slot(second, 2))
        let behind = try copy([one, two])
        var trials = trials(KeySet(passphrases: [second]), limits)
        #expect(try !trials.opensAny(of: trials.slots(of: behind)))
        #expect(throws: VaultError.self) {
            try trials.selects(trials.slots(of: behind)[1], by: SlotSelection(passphrases: [second]), beside: [])
        }
        _ = trials.slots(of: try copy([two], generation: 2))
        #expect(try trials.opensAny(of: trials.slots(of: behind)))
    }

    /// The sum of the costs counts each slot once, however many passphrases are tried on it.
    @Test func sumOfStretching() throws {
        let slots = [try slot(first, 1), try slot(second, 2)]
        func outcomes(_ sum: UInt64) throws -> [SlotOutcome] {
            var trials = trials(KeySet(passphrases: [testPassphrase("none"), second, first]), sum: sum)
            let outcomes = try trials.openEvery(copy(slots))
            #expect(try trials.openEvery(copy(slots)) == outcomes)
            return outcomes
        }
        #expect(try outcomes(7) == [.notTried, .notTried])
        #expect(try outcomes(8) == [.opened, .notTried])
        #expect(try outcomes(15) == [.opened, .notTried])
        #expect(try outcomes(16) == [.opened, .opened])
    }

    /// One passphrase is stretched once for each slot, also for one that is in both copies, whatever is asked
    /// (SLOT-18). The maker of a container decides what each try costs.
    @Test func stretchedOnce() throws {
        let counted = CountedPassphrase(second)
        var trials = trials(KeySet())
        let (one, two, three) = (try slot(first, 1), try slot(second, 2), try slot(first, 3))
        let copies = [try copy([one, two]), try copy([two, three], generation: 2)]
        var selection = SlotSelection.none
        selection.secrets = [counted]
        for _ in 0..<2 {
            let slots = trials.slots(of: copies)
            #expect(try slots.map { try trials.selects($0, by: selection, beside: []) } == [false, true, false])
            #expect(try trials.opensAny(of: slots, by: .secret(counted)))
            for slot in slots { _ = try trials.attempt(slot, by: .secret(counted)) }
        }
        #expect(counted.tries == [1, 1, 1])
    }

    // MARK: Recipients

    /// A slot replaces another with the same ID only if the ID identifies one recipient.
    @Test func successors() throws {
        let slots = [try forge.slot(testKey(1)), privateSlot(), try slot(first, 1)]
        var trials = trials(KeySet())
        let placed = try trials.slots(of: copy(slots))
        func successors(_ recipients: Recipient...) throws -> [Bool] {
            try placed.map { try trials.hasSuccessor($0, among: recipients) }
        }
        #expect(try successors(.key(testKey(1))) == [true, false, false])
        #expect(try successors(.key(testKey(2)), .passphrase(second)) == [false, false, false])
        #expect(try successors(.passphrase(first)) == [false, false, true])
        #expect(try successors(recipient()) == [false, false, false])
    }

    /// A key that is named twice gets one slot. A program that names an ID twice gets two.
    @Test func namedTwice() throws {
        let container = try sealed(
            [1], for: [.key(testKey(1)), recipient(), .key(testKey(2)), recipient(), .key(testKey(1))])
        let types = try read(container, by: .whole).opened?.header.slots.map(\.type)
        #expect(types == [1, 0x8001, 1, 0x8001])
    }
}
