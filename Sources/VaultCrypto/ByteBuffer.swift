internal import CPlatform

/// Memory that the system may refuse. An array ends the process if there is no memory left, and the maker of a
/// container chooses how large its records, items and blocks are.
///
/// Not copyable: a copy would need memory too.
@safe package struct ByteBuffer: ~Copyable, @unchecked Sendable {
    private var start: UnsafeMutablePointer<UInt8>?
    private var room = 0
    package private(set) var count = 0

    /// No bytes, and no memory.
    package init() {
        unsafe start = nil
    }

    deinit {
        unsafe free(start)
    }

    package var isEmpty: Bool { count == 0 }

    /// The error number of a system without memory.
    package static var errorNumber: Int32 { ENOMEM }

    /// What must be left for the small pieces of memory that Swift takes: if it gets none, it ends the process.
    private static let headroom = 8 << 20

    /// Makes room for this many bytes. More room than that is kept.
    package mutating func reserve(_ wanted: Int) throws(MemoryUnavailable) {
        guard wanted > room else { return }
        // Bytes that come one after another are moved seldom.
        let roomy = room == 0 ? wanted : max(wanted, room &* 2)
        for more in [roomy, wanted] {
            guard let moved = unsafe room == 0 ? calloc(more, 1) : realloc(start, more) else { continue }
            unsafe start = moved.assumingMemoryBound(to: UInt8.self)
            room = more
            guard vaultfile_has_room(Self.headroom) != 0 else { throw MemoryUnavailable() }
            return
        }
        throw MemoryUnavailable()
    }

    /// Makes the buffer longer or shorter, within its room. Further bytes have any value.
    package mutating func setCount(_ wanted: Int) {
        precondition((0...room).contains(wanted), "there is no room for so many bytes")
        count = wanted
    }

    /// Empties the buffer, which keeps its room.
    package mutating func removeAll() {
        count = 0
    }

    /// Lends the bytes.
    package func withSpan<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try body(unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count)))
    }

    /// Lends a part of the bytes.
    package func withSpan<R: ~Copyable, E>(
        of range: Range<Int>, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try withSpan { bytes throws(E) in try body(bytes.extracting(range)) }
    }

    /// Lends a part of the bytes, to be changed.
    package mutating func withMutableSpan<R, E>(
        of range: Range<Int>, _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        var all = unsafe MutableSpan(_unsafeElements: UnsafeMutableBufferPointer(start: start, count: count))
        return try all.withPart(range, body)
    }

    /// Overwrites the bytes from `offset` on. `bytes` must fit behind `offset`.
    package mutating func replace(at offset: Int, with bytes: Span<UInt8>) {
        withMutableSpan(of: offset..<offset + bytes.count) { $0.replace(at: 0, with: bytes) }
    }

    /// A copy of a small part.
    package func copy(of range: Range<Int>) -> [UInt8] {
        withSpan(of: range) { part in
            var bytes: [UInt8] = []
            bytes.append(part)
            return bytes
        }
    }
}
