package import VaultCrypto
package import VaultFormat

/// Memory for records, items and blocks, whose size the maker of a container chooses.
extension ByteBuffer {
    /// A buffer of this many bytes of any value.
    ///
    /// - Throws: `memoryUnavailable`.
    package init(count: Int) throws(VaultError) {
        self.init()
        try resize(to: count)
    }

    /// Makes the buffer longer or shorter. Further bytes have any value.
    ///
    /// - Throws: `memoryUnavailable`.
    package mutating func resize(to count: Int) throws(VaultError) {
        try reserve(count: count)
        setCount(count)
    }

    /// Makes room for this many bytes.
    ///
    /// - Throws: `memoryUnavailable`.
    package mutating func reserve(count: Int) throws(VaultError) {
        do {
            try reserve(count)
        } catch {
            throw VaultError(
                .memoryUnavailable, "the system has no memory left for \(count) bytes of the container",
                errorNumber: Self.errorNumber)
        }
    }

    /// Checks that there is memory for an array of this many bytes. A moment later another thread may have taken it, so
    /// this is only for header copies and manifests, which have at most a mebibyte and become arrays.
    ///
    /// - Throws: `memoryUnavailable`.
    package static func check(count: Int) throws(VaultError) {
        // mutant: this only saves the time for small arrays
        guard count > 1 << 16 else { return }
        _ = try ByteBuffer(count: count)
    }

    /// - Throws: `memoryUnavailable`.
    package mutating func append(_ bytes: Span<UInt8>) throws(VaultError) {
        let old = count
        try resize(to: old + bytes.count)
        replace(at: old, with: bytes)
    }
}
