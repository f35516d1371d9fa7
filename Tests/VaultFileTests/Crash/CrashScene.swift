import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// The keys that open a container, by number. From 200 on they are passphrases, which cost time.
typealias Holders = Set<UInt8>

extension Set<UInt8> {
    static let firstPassphrase: UInt8 = 200

    /// Made only once, because guarded memory costs system calls.
    private static let keys = (0..<firstPassphrase).map { testKey($0 == 0 ? 255 : $0) }

    static func key(_ number: UInt8) -> SymmetricKey { keys[Int(number)] }

    var keySet: KeySet {
        KeySet(
            keys: filter { $0 < Self.firstPassphrase }.map { Self.key($0) },
            passphrases: filter { $0 >= Self.firstPassphrase }.sorted().map { Self.passphrase($0) })
    }

    /// The least stretching that writers use.
    static let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)

    /// The recipient that makes each key's slot.
    var recipients: [Recipient] {
        sorted().map {
            $0 < Self.firstPassphrase ? .key(Self.key($0)) : .passphrase(Self.passphrase($0), Self.cheap)
        }
    }

    /// The slots of the keys.
    var selection: SlotSelection {
        SlotSelection(
            ids: Set<KeyID>(filter { $0 < Self.firstPassphrase }.map { Self.key($0).id }),
            passphrases: filter { $0 >= Self.firstPassphrase }.map { Self.passphrase($0) })
    }

    static func passphrase(_ number: UInt8) -> Passphrase { testPassphrase("passphrase \(number)") }
}

/// A container in some state, in which operations start.
struct CrashScene: Sendable, CustomStringConvertible {
    /// The damage because of which a seeking reader may refuse the container until it is repaired.
    enum Trouble: Sendable {
        case none
        /// Whether there are two valid copies, so that the caller must name one.
        case conflict
        /// Whether only repair can handle the container.
        case broken
    }

    let name: String
    let container: [UInt8]
    /// The keys that open the current copy: the last agreed set. In a conflict, those of the front and of the tail.
    let holders: [Holders]
    let trouble: Trouble

    static let plaintext = randomBytes(100, seed: 7)

    var description: String { name }
    var disk: DiskState { DiskState(container, name: "it") }
}

extension CrashScene {
    /// The two header copies of a container, and the rest of its parts.
    private struct Parts {
        let forge: Forge
        let capacity: Int
        /// A slot of an unknown type, which leaves room for four keys; empty if there is none.
        let filler: [Slot]

        init(_ capacity: Int, isFull: Bool = false) throws {
            self.capacity = capacity
            filler =
                isFull
                ? [Slot(type: 0x7000, keyID: testKey(9).id, body: [UInt8](repeating: 0xF1, count: capacity - 596))] : []
            forge = try Forge(seed: 40, capacity: .capacity(capacity))
        }

        func header(_ holders: [UInt8], _ generation: UInt32) throws -> [UInt8] {
            let slots = try holders.map {
                $0 < Holders.firstPassphrase
                    ? try forge.slot(Holders.key($0))
                    : try forge.slot(Holders.passphrase($0), salt: [UInt8](repeating: $0, count: 16))
            }
            return forge.header(filler + slots, generation: generation)
        }

        func scene(
            _ name: String, _ front: [UInt8], _ tail: [UInt8], _ holders: [UInt8]..., trouble: Trouble = .none,
            change: (inout [UInt8]) -> Void = { _ in }
        ) throws -> CrashScene {
            var container = try forge.container(plaintext, front: front, tail: tail)
            change(&container)
            return CrashScene(
                name: "\(name), \(filler.isEmpty ? "" : "full ")\(capacity)", container: container,
                holders: holders.map { Set($0) }, trouble: trouble)
        }
    }

    private static func made(_ body: () throws -> [CrashScene]) -> [CrashScene] {
        do { return try body() } catch { fatalError("\(error)") }
    }

    /// Every health from which all operations can start. Key 1 always stays; 2 was there, 3 replaced it.
    static func healthy(_ capacity: Int, isFull: Bool = false) -> [CrashScene] {
        made {
            let parts = try Parts(capacity, isFull: isFull)
            let (old, new) = (try parts.header([1, 2], 5), try parts.header([1, 3], 6))
            let zeros = [UInt8](repeating: 0, count: capacity)
            var forged = new
            forged[71] ^= 9
            forged = withChecksum(forged)
            // A crash does not tear a header of one sector, but it can be damaged like this.
            let cut = capacity > DiskState.sector ? DiskState.sector : 256
            let torn = [UInt8](new[..<cut] + old[cut...])
            let otherwise = [UInt8](old[..<cut] + new[cut...])
            return [
                try parts.scene("intact", old, old, [1, 2]),
                try parts.scene("rotation unfinished", old, new, [1, 3]),
                try parts.scene("front zeros", zeros, new, [1, 3]),
                try parts.scene("front torn", torn, new, [1, 3]),
                try parts.scene("front torn the other way", otherwise, new, [1, 3]),
                try parts.scene("front forged", forged, new, [1, 3]),
                try parts.scene("front random", randomBytes(capacity, seed: 5), new, [1, 3]),
                try parts.scene("tail zeros", old, zeros, [1, 2]),
                try parts.scene("tail torn", old, torn, [1, 2]),
                try parts.scene("tail forged", old, forged, [1, 2]),
            ]
        }
    }

    /// A single key; no other key stays.
    static func single(_ capacity: Int) -> CrashScene {
        made {
            let parts = try Parts(capacity)
            let header = try parts.header([2], 1)
            return [try parts.scene("one key", header, header, [2])]
        }[0]
    }

    /// Slots in several sectors, so that a write can be torn at more places.
    static func crowded(_ capacity: Int) -> [CrashScene] {
        made {
            let parts = try Parts(capacity)
            let others = [UInt8](10..<24)
            let (first, second) = ([1, 2] + others, [1, 3] + others)
            let (old, new) = (try parts.header(first, 5), try parts.header(second, 6))
            return [
                try parts.scene("crowded", old, old, first),
                try parts.scene("crowded, unfinished", old, new, second),
            ]
        }
    }

    /// Four passphrases, the most that are allowed, and one; and key 1.
    static func passphrases(_ capacity: Int) -> [CrashScene] {
        made {
            let parts = try Parts(capacity)
            let (four, changed) = (
                try parts.header([1, 200, 201, 202, 203], 5), try parts.header([1, 200, 201, 202, 204], 6)
            )
            return [
                try parts.scene("four passphrases", four, four, [1, 200, 201, 202, 203]),
                try parts.scene("four passphrases, unfinished", four, changed, [1, 200, 201, 202, 204]),
            ]
        }
    }

    /// Copies between which the caller must choose.
    static func conflicts(_ capacity: Int) -> [CrashScene] {
        made {
            let parts = try Parts(capacity)
            let generations: [(UInt32, UInt32)] = [(5, 5), (6, 5), (5, 7), (9, 2)]
            return try generations.map { front, tail in
                try parts.scene(
                    "conflict of \(front) and \(tail)", parts.header([1, 2], front), parts.header([1, 3], tail),
                    [1, 2], [1, 3], trouble: .conflict)
            }
        }
    }

    /// Containers that only repair can handle, whatever is in place of the tail.
    static func broken(_ capacity: Int) -> [CrashScene] {
        made {
            let parts = try Parts(capacity)
            let (old, new) = (try parts.header([1, 2], 5), try parts.header([1, 3], 6))
            let damages: [(String, (inout [UInt8]) -> Void)] = [
                ("end magic", { $0[$0.count - 1] ^= 1 }),
                ("footer of zeros", { $0.replaceSubrange(($0.count - 32)..., with: [UInt8](repeating: 0, count: 32)) }),
                ("footer's length", { $0[$0.count - 10] ^= 1 }),
                ("footer cut off", { $0.removeLast(32) }),
                ("one byte cut off", { $0.removeLast() }),
                ("more behind", { $0 += [UInt8](repeating: 3, count: 700) }),
                ("zeros", { $0[$0.count - 32 - capacity - 3] ^= 1 }),
            ]
            return try damages.flatMap { name, damage in
                [
                    try parts.scene(name, old, old, [1, 2], trouble: .broken, change: damage),
                    try parts.scene("\(name), unfinished", old, new, [1, 3], trouble: .broken, change: damage),
                ]
            } + [
                try parts.scene("tail cut", old, old, [1, 2], trouble: .broken) { $0.removeLast(32 + capacity / 2) },
                try parts.scene("tail gone", old, old, [1, 2], trouble: .broken) { $0.removeLast(32 + capacity) },
            ]
        }
    }
}
