internal import CSodium

#if _pointerBitWidth(_32)
#error("sizes of the format are computed in Int, which must have 64 bits")
#endif

/// The system has no guarded memory left, or not the memory that Argon2id needs.
package struct MemoryUnavailable: Error {}

/// libsodium, initialised once before its first use.
enum Sodium {
    private static let status = sodium_init()

    static func start() {
        precondition(status >= 0, "libsodium cannot be initialised: no source of random numbers")
    }
}

/// Memory for secrets: apart from the heap, between guard pages, locked if the limits of the process allow it, kept out
/// of core dumps, and wiped when it is released.
///
/// Not copyable: a secret is in one place, and is gone when that place is released.
@safe package struct GuardedBuffer: ~Copyable, @unchecked Sendable {
    private let start: UnsafeMutablePointer<UInt8>
    package let count: Int
    /// The pages that it shares with other secrets; nil if it has its own.
    private let slab: SecretSlab?

    /// Allocates `count` zero bytes. Small buffers share pages.
    package init(count: Int) throws(MemoryUnavailable) {
        try self.init(count: count, in: SecretPool.fitting(count))
    }

    /// Allocates `count` zero bytes in the pages of a pool, or in pages of their own.
    fileprivate init(count: Int, in pool: SecretPool?) throws(MemoryUnavailable) {
        self.count = count
        if let pool {
            unsafe (slab, start) = try pool.take()
            return
        }
        Sodium.start()
        guard let memory = unsafe sodium_malloc(count) else { throw MemoryUnavailable() }
        slab = nil
        unsafe start = memory.bindMemory(to: UInt8.self, capacity: count)
        unsafe sodium_memzero(memory, count)
    }

    package init(copying bytes: Span<UInt8>) throws(MemoryUnavailable) {
        try self.init(count: bytes.count)
        fill(bytes)
    }

    fileprivate func fill(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { source in
            if let address = source.baseAddress { unsafe start.update(from: address, count: source.count) }
        }
    }

    deinit {
        if let slab { unsafe slab.pool.give(start, of: slab) } else { unsafe sodium_free(start) }
    }

    package func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try body(unsafe Span(_unsafeStart: start, count: count))
    }

    package mutating func withMutableBytes<R: ~Copyable, E>(
        _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        var bytes = unsafe MutableSpan(_unsafeStart: start, count: count)
        return try body(&bytes)
    }

    /// For calls of libsodium. The pointer is valid for `count` bytes while `body` runs.
    fileprivate func withPointer<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
        unsafe body(UnsafePointer(start))
    }

    /// Makes the memory read-only, if it has pages of its own. A stray write then ends the process instead of changing
    /// a key.
    fileprivate func freeze() {
        if slab == nil { unsafe sodium_mprotect_readonly(start) }
    }
}

/// A secret that has several owners and never changes. It is wiped when the last owner releases it.
package final class SecretBytes: Sendable {
    private let buffer: GuardedBuffer

    package var count: Int { buffer.count }

    package init(_ buffer: consuming GuardedBuffer) {
        buffer.freeze()
        self.buffer = buffer
    }

    /// The same bytes in read-only pages of their own. It is for the secrets that a program keeps: keys for the work on
    /// one file come and go too often for that.
    package func frozen() throws(MemoryUnavailable) -> SecretBytes {
        let own = try GuardedBuffer(count: count, in: nil)
        withBytes { own.fill($0) }
        return SecretBytes(own)
    }

    package convenience init(copying bytes: Span<UInt8>) throws(MemoryUnavailable) {
        self.init(try GuardedBuffer(copying: bytes))
    }

    /// A key of `count` bytes from the system's cryptographic generator.
    package convenience init(randomCount count: Int) throws(MemoryUnavailable) {
        var buffer = try GuardedBuffer(count: count)
        buffer.withMutableBytes { RandomBytes.fill(&$0) }
        self.init(buffer)
    }

    package func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try buffer.withBytes(body)
    }

    /// For calls of libsodium. The pointer is valid for `count` bytes while `body` runs.
    func withPointer<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
        unsafe buffer.withPointer(body)
    }
}

/// Whether both spans hold the same bytes, in a time that depends only on their counts.
package func constantTimeEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            guard let first = left.baseAddress, let second = right.baseAddress else { return true }
            return unsafe sodium_memcmp(first, second, left.count) == 0
        }
    }
}

/// The system's cryptographic generator.
package enum RandomBytes {
    package static func fill(_ bytes: inout MutableSpan<UInt8>) {
        Sodium.start()
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            if let address = bytes.baseAddress { unsafe randombytes_buf(address, bytes.count) }
        }
    }

    /// Random bytes that are public: IDs, salts and nonces, never keys.
    package static func array(count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        fill(&span)
        return bytes
    }
}
