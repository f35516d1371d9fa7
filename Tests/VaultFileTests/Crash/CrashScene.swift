import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

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
            let slots = try holders.map { number in
                switch Holders.holder(number) {
                case .key(let key): try forge.slot(key)
                case .identity(let identity): try forge.slot(identity.publicKey)
                case .plugin:
                    try forge.slot(
                        Holders.pluginRecipient(number), Holders.stanzas(number, [UInt8](repeating: number, count: 16)),
                        secret: [UInt8](repeating: number, count: 16))
                case .passphrase(let passphrase):
                    try forge.slot(passphrase, salt: [UInt8](repeating: number, count: 16))
                }
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

    /// Every health from which all operations can start. Key 1 always stays; the first of a pair was there, the second
    /// replaced it.
    static func healthy(_ capacity: Int, isFull: Bool = false, of pair: [UInt8] = [2, 3]) -> [CrashScene] {
        made {
            let parts = try Parts(capacity, isFull: isFull)
            let (first, second) = ([1, pair[0]], [1, pair[1]])
            let (old, new) = (try parts.header(first, 5), try parts.header(second, 6))
            let zeros = [UInt8](repeating: 0, count: capacity)
            var forged = new
            forged[71] ^= 9
            forged = withChecksum(forged)
            // A crash does not tear a header of one sector, but it can be damaged like this.
            let cut = capacity > DiskState.sector ? DiskState.sector : 256
            let torn = [UInt8](new[..<cut] + old[cut...])
            let otherwise = [UInt8](old[..<cut] + new[cut...])
            return [
                try parts.scene("intact", old, old, first),
                try parts.scene("rotation unfinished", old, new, second),
                try parts.scene("front zeros", zeros, new, second),
                try parts.scene("front torn", torn, new, second),
                try parts.scene("front torn the other way", otherwise, new, second),
                try parts.scene("front forged", forged, new, second),
                try parts.scene("front random", randomBytes(capacity, seed: 5), new, second),
                try parts.scene("tail zeros", old, zeros, first),
                try parts.scene("tail torn", old, torn, first),
                try parts.scene("tail forged", old, forged, first),
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
