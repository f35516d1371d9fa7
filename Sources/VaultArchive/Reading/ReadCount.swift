internal import Synchronization
internal import VaultFormat

/// Counts what several threads read, and can refuse more.
final class ReadCount: Sendable {
    private let sum = Atomic<UInt64>(0)

    var value: UInt64 { sum.load(ordering: .relaxed) }

    func add(_ count: UInt64) { sum.add(count, ordering: .relaxed) }

    /// - Throws: `VaultError` with `tooLarge` if more than `most` was counted before.
    func add(_ count: UInt64, atMost most: UInt64) throws(VaultError) {
        guard value <= most else {
            throw VaultError(.tooLarge, "the tar stream has too many members, or too long headers, to find this one")
        }
        add(count)
    }
}
