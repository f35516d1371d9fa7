internal import CPlatform
internal import Synchronization

/// Marks the process that made a value. `fork` gives the child a copy of all memory, and with it the key and the next
/// nonce of every writer. If both processes went on, they would encrypt different bytes under the same nonces, and who
/// has both results could compute the plaintexts' difference and forge records.
///
/// On Linux the mark is a random number in a page that the kernel wipes in the child (`MADV_WIPEONFORK`). On other
/// systems, and before Linux 4.14, it is the process ID: a later process that gets the ID of an ended ancestor is not
/// told apart from it.
package struct ProcessMark: Hashable, Sendable {
    private let value: UInt64

    /// The mark of this process.
    package static var current: ProcessMark {
        ProcessMark(value: Page.shared.map(\.number) ?? UInt64(truncatingIfNeeded: getpid()))
    }

    @safe private struct Page: @unchecked Sendable {
        static let shared = Page()

        private let start: UnsafeMutablePointer<Atomic<UInt64>>

        private init?() {
            guard let page = unsafe vaultfile_map_wiped_on_fork() else { return nil }
            unsafe start = page.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
        }

        /// The number in the page. The first call in each process draws it.
        var number: UInt64 {
            let held = unsafe start.pointee.load(ordering: .relaxed)
            guard held == 0 else { return held }
            var drawn: UInt64 = 0
            for byte in RandomBytes.array(count: 8) { drawn = drawn << 8 | UInt64(byte) }
            let (isStored, other) = unsafe start.pointee.compareExchange(
                expected: 0, desired: drawn | 1, ordering: .relaxed)
            return isStored ? drawn | 1 : other
        }
    }
}
