internal import CSodium
internal import Synchronization

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
    private var isFrozen = false

    /// Allocates `count` zero bytes.
    package init(count: Int) throws(MemoryUnavailable) {
        Sodium.start()
        self.count = count
        if count == WipedPages.count, let memory = unsafe WipedPages.take() {
            unsafe start = memory
            return
        }
        guard let memory = unsafe sodium_malloc(count) else { throw MemoryUnavailable() }
        unsafe start = memory.bindMemory(to: UInt8.self, capacity: count)
        unsafe sodium_memzero(memory, count)
    }

    package init(copying bytes: Span<UInt8>) throws(MemoryUnavailable) {
        try self.init(count: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { source in
            if let address = source.baseAddress { unsafe start.update(from: address, count: source.count) }
        }
    }

    deinit {
        guard count == WipedPages.count else { return unsafe sodium_free(start) }
        if isFrozen { unsafe sodium_mprotect_readwrite(start) }
        unsafe sodium_memzero(start, count)
        if !(unsafe WipedPages.give(start)) { unsafe sodium_free(start) }
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

    /// Makes the memory read-only. A stray write then ends the process instead of changing a key.
    fileprivate mutating func freeze() {
        isFrozen = unsafe sodium_mprotect_readonly(start) == 0
    }
}

/// Wiped guarded memory of the size of a key, kept for the next key. To map, guard and lock memory costs more than to
/// encrypt a small file, and most keys live only as long as the work on one file. There are few, because they stay
/// locked, and some systems let a process lock only sixteen pages.
@safe private enum WipedPages {
    static let count = 32
    private static let most = 4
    private static let waiting = Mutex<[Page]>([])

    @safe private struct Page: @unchecked Sendable {
        let start: UnsafeMutablePointer<UInt8>
    }

    static func take() -> UnsafeMutablePointer<UInt8>? {
        unsafe waiting.withLock { $0.popLast() }?.start
    }

    /// - Returns: Whether the memory was kept; false if enough is kept already.
    static func give(_ start: UnsafeMutablePointer<UInt8>) -> Bool {
        let page = unsafe Page(start: start)
        return waiting.withLock { waiting in
            guard waiting.count < most else { return false }
            waiting.append(page)
            return true
        }
    }
}

/// A secret that has several owners and never changes. It is wiped when the last owner releases it.
package final class SecretBytes: Sendable {
    private let buffer: GuardedBuffer

    package var count: Int { buffer.count }

    package init(_ buffer: consuming GuardedBuffer) {
        var buffer = buffer
        buffer.freeze()
        self.buffer = buffer
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
