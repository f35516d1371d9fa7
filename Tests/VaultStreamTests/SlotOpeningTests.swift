import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A slot opens only if it decrypts and the header commits to what it holds (Spec, SLOT-14).
@Suite(.bothEngines) struct SlotOpeningTests {
    private func code(_ container: [UInt8], _ kind: ReaderKind, _ keys: UInt8...) throws -> VaultError.Code? {
        try read(container, by: kind, keys: KeySet(keys: keys.map { testKey($0) })).code
    }

    /// A slot that holds another file key: one container must not have two contents.
    @Test(arguments: ReaderKind.allCases) func otherFileKey(_ kind: ReaderKind) throws {
        let forge = try Forge(seed: 90)
        let slots = [
            try forge.slot(testKey(1), wrapped: [UInt8](repeating: 5, count: 32)), try forge.slot(testKey(2)),
        ]
        let container = try forge.container([1], front: forge.header(slots))
        #expect(try code(container, kind, 1) == .wrongKey)
        #expect(try code(container, kind, 2) == nil)
        #expect(try code(container, kind, 1, 2) == nil)
    }

    /// A failed decryption continues with zeros. If the header commits to a file key of zeros, no key opens it.
    @Test(arguments: ReaderKind.allCases) func zeroFileKey(_ kind: ReaderKind) throws {
        let forge = try Forge(
            fileKey: [UInt8](repeating: 0, count: 32), fileID: [UInt8](repeating: 1, count: 16), chunkSize: .minimum)
        let right = try forge.slot(testKey(1))
        #expect(try code(try forge.container([1], front: forge.header([right])), kind, 1) == nil)
        for place in [20, 43, 44, 75, 76, 91] {
            var bytes = right.bytes
            bytes[place] ^= 1
            let slot = Slot(type: 1, keyID: right.keyID, body: [UInt8](bytes[20...]))
            #expect(try code(try forge.container([1], front: forge.header([slot])), kind, 1) == .wrongKey)
        }
        #expect(try code(try forge.container([1], front: forge.header([right])), kind) == .wrongKey)
        #expect(try code(try forge.container([1], front: forge.header([right])), kind, 2) == .wrongKey)
    }

    /// A slot of another container with the same key.
    @Test(arguments: ReaderKind.allCases) func slotOfAnother(_ kind: ReaderKind) throws {
        let (forge, other) = (try Forge(seed: 91), try Forge(seed: 92))
        let container = try forge.container([1], front: forge.header([try other.slot(testKey(1))]))
        #expect(try code(container, kind, 1) == .wrongKey)
    }

    /// Slots that cannot be used here do no harm: unknown types, dead slots, private slots.
    @Test(arguments: ReaderKind.allCases) func others(_ kind: ReaderKind) throws {
        let forge = try Forge(seed: 93, capacity: .capacity(4096))
        func other(_ type: UInt16, _ id: UInt8, _ count: Int) -> Slot {
            let id = KeyID(unchecked: [UInt8](repeating: id, count: 16)[...])
            return Slot(type: type, keyID: id, body: [UInt8](repeating: 0xFF, count: count))
        }
        let slots = [
            other(3, 1, 0), other(3, 1, 0), other(4, 2, 1000), other(0x7FFF, 3, 7), other(0x8000, 4, 9),
            other(0xFFFF, 4, 9), other(1, 5, 72), try forge.slot(testKey(1)),
        ]
        let container = try forge.container([1, 2], front: forge.header(slots))
        let reading = try read(container, by: kind)
        #expect(reading.plaintext == [1, 2] && reading.health == .intact)
        #expect(reading.opened?.header.slots.map(\.type) == [3, 3, 4, 0x7FFF, 0x8000, 0xFFFF, 1, 1])
    }
}
