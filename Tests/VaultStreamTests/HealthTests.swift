import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// Every pair of header copies that a rotation, a crash or an attacker may leave, and its result.
@Suite(.bothEngines) struct HealthTests {
    enum Copy: CaseIterable, Sendable {
        case first, second, third
        /// Of the second generation too, but with other slots.
        case otherSecond
        case damaged, zeros
        /// Intact, but not made by a holder of the file key.
        case forged

        var generation: Int? {
            switch self {
            case .first: 1
            case .second, .otherSecond: 2
            case .third: 3
            case .damaged, .zeros, .forged: nil
            }
        }
    }

    private let forge: Forge
    private let plaintext = randomBytes(5000, seed: 1)

    init() throws {
        forge = try Forge(seed: 60)
    }

    private func bytes(_ copy: Copy) throws -> [UInt8] {
        let slot = try forge.slot(testKey(1))
        switch copy {
        case .first: return forge.header([slot], generation: 1)
        case .second: return forge.header([slot], generation: 2)
        case .third: return forge.header([slot], generation: 3)
        case .otherSecond: return forge.header([slot, try forge.slot(testKey(2))], generation: 2)
        case .zeros: return [UInt8](repeating: 0, count: 512)
        case .damaged:
            var bytes = forge.header([slot])
            bytes[300] ^= 1
            return bytes
        case .forged:
            var bytes = forge.header([slot], generation: 2)
            bytes[71] = 7
            return withChecksum(bytes)
        }
    }

    private func expected(_ front: Copy, _ tail: Copy) -> Health? {
        switch (front.generation, tail.generation) {
        case (nil, nil): nil
        case (nil, _): .frontDamaged
        case (_, nil): .tailDamaged
        case (let first?, let second?):
            front == tail ? .intact : second == first + 1 ? .rotationUnfinished : .copiesConflict
        }
    }

    @Test(arguments: Copy.allCases, Copy.allCases) func pair(_ front: Copy, _ tail: Copy) throws {
        let container = try forge.container(plaintext, front: bytes(front), tail: bytes(tail))
        let expected = expected(front, tail)
        for kind in ReaderKind.allCases {
            let reading = try read(container, by: kind)
            if kind == .stream, front.generation == nil {
                #expect([.headerDamaged, .headerForged, .notVaultfile].contains(reading.code))
                continue
            }
            #expect(reading.health == expected, "\(kind): \(reading.result)")
            if expected != nil { #expect(reading.plaintext == plaintext) }
            if expected == nil {
                #expect(reading.code == (front == .forged || tail == .forged ? .headerForged : .headerDamaged))
            }
            if kind != .stream, let header = reading.opened?.header {
                #expect(header.generation == UInt32(max(front.generation ?? 0, tail.generation ?? 0)))
            }
        }
    }

    /// The key of one copy alone opens the container, whichever copy it is.
    @Test func keyOfOneCopy() throws {
        let old = forge.header([try forge.slot(testKey(1))], generation: 4)
        let new = forge.header([try forge.slot(testKey(2))], generation: 5)
        let between = try forge.container(plaintext, front: old, tail: new)
        for key: UInt8 in [1, 2] {
            let reading = try read(between, by: .whole, keys: KeySet(keys: [testKey(key)]))
            #expect(reading.health == .rotationUnfinished && reading.plaintext == plaintext)
            #expect(reading.opened?.header.generation == 5)
        }
        #expect(try read(between, by: .stream).health == .rotationUnfinished)
        #expect(try read(between, by: .stream, keys: KeySet(keys: [testKey(2)])).code == .wrongKey)
    }

    /// A slot that is in no valid copy opens nothing (Spec, SEEK-16); another key of a valid copy opens the container.
    @Test func removedKeyPutBack() throws {
        let new = forge.header([try forge.slot(testKey(2))], generation: 2)
        var forged = forge.header([try forge.slot(testKey(1))], generation: 3)
        forged[forged.count - 40] ^= 1
        forged = withChecksum(forged)
        for (front, tail) in [(new, forged), (forged, new)] {
            let container = try forge.container(plaintext, front: front, tail: tail)
            #expect(try read(container, by: .whole).code == .headerForged)
            let both = try read(container, by: .whole, keys: KeySet(keys: [testKey(1), testKey(2)]))
            #expect(both.health == (front == new ? .tailDamaged : .frontDamaged) && both.plaintext == plaintext)
        }
    }
}
