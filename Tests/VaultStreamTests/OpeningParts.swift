import Testing
import VaultFormat
import VaultStream
import VaultTestSupport

/// What the parts of opening refuse, called by themselves.
@Suite struct OpeningParts {
    private let forge: Forge
    private let container: [UInt8]

    init() throws {
        forge = try Forge(seed: 95)
        container = try forge.container([1, 2, 3], front: forge.header([try forge.slot(testKey(1))]))
    }

    /// A file can become shorter between its header and its manifest.
    @Test func cutEnd() throws {
        let size = container.count
        let ends = ContainerEnds(
            fileSize: UInt64(size), front: [UInt8](container[..<512]), footer: [UInt8](container[(size - 32)...]),
            tail: [UInt8](container[(size - 544)..<(size - 32)]))
        var trials = SlotTrials(.key(testKey(1)))
        let opening = try ContainerOpening(ends, trials: &trials)
        let start = Int(opening.layout.manifestOffset)
        let end = [UInt8](container[start..<start + opening.endCount])
        #expect(try opening.manifest(end: end, limits: .standard).0.plaintextLength == 3)
        for count in [0, 1, 20, 531, 532, end.count - 1] {
            let error = #expect(throws: VaultError.self) {
                _ = try opening.manifest(end: [UInt8](end.prefix(count)), limits: .standard)
            }
            #expect(error?.code == .truncated, "\(count)")
        }
    }

    /// A slot with a key's ID that the key does not open gives no recipient.
    @Test func recipientOfADeadSlot() throws {
        let dead = try forge.slot(testKey(1), wrapped: [UInt8](repeating: 5, count: 32))
        let live = try forge.slot(testKey(2))
        let copy = try HeaderCopy(parsing: forge.header([dead, live]))
        let keys = KeySet(keys: [testKey(1), testKey(2)])
        var trials = SlotTrials(Credentials(keys))
        let slots = trials.slots(of: copy)
        #expect(try trials.recipient(of: slots[0]) == nil)
        #expect(try trials.recipient(of: slots[1]) != nil)
    }
}
