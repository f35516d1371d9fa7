internal import CPlatform

/// What must be left for the small pieces of memory that Swift takes: if it gets none, it ends the process.
private let headroom = 8 << 20

/// Checks that Swift gets so many bytes, and the small pieces beside them.
///
/// - Throws: `Failure` with `memoryUnavailable`.
func checkRoom(_ count: Int) throws(Failure) {
    let (wanted, isTooLarge) = count.addingReportingOverflow(headroom)
    guard !isTooLarge, vaultfile_has_room(wanted) != 0 else { throw .memory }
}

/// Memory that the system may refuse, and that is wiped when it goes: it may hold plaintext. Bytes are added at its end
/// and taken from its beginning.
@safe struct GrowingBytes: ~Copyable, @unchecked Sendable {
    private var start: UnsafeMutablePointer<UInt8>?
    private var room = 0
    private var first = 0
    private var end = 0

    init() {
        unsafe start = nil
    }

    deinit {
        if let start = unsafe start { unsafe wipe(start, end) }
        unsafe free(start)
    }

    var count: Int { end - first }

    /// The address of the bytes until the next change.
    var address: UnsafeRawPointer? { unsafe start.map { unsafe UnsafeRawPointer($0 + first) } }

    /// Makes room for so many further bytes.
    mutating func reserve(_ more: Int) throws(Failure) {
        guard more > room - end else { return }
        let (wanted, isTooLarge) = count.addingReportingOverflow(more)
        guard !isTooLarge else { throw .memory }
        let size = max(wanted, count &* 2, 64)
        guard let new = unsafe malloc(size) else { throw .memory }
        do throws(Failure) {
            try checkRoom(0)
        } catch {
            unsafe free(new)
            throw error
        }
        let moved = unsafe new.assumingMemoryBound(to: UInt8.self)
        if let old = unsafe start {
            unsafe moved.update(from: old + first, count: count)
            unsafe wipe(old, end)
            unsafe free(old)
        }
        (end, first, room) = (count, 0, size)
        unsafe start = moved
    }

    mutating func append(_ bytes: Span<UInt8>) throws(Failure) {
        try reserve(bytes.count)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            if let source = bytes.baseAddress, let start = unsafe start {
                unsafe (start + end).update(from: source, count: bytes.count)
            }
        }
        end += bytes.count
    }

    /// Moves the first bytes to `output`, as many as it takes.
    mutating func take(_ output: inout Output) {
        let taken = min(count, output.room)
        if let start = unsafe start, taken > 0 {
            let bytes = unsafe UnsafeBufferPointer(start: start + first, count: taken)
            output.put(unsafe bytes.span)
        }
        first += taken
        if first == end { (first, end) = (0, wipeUsed()) }
    }

    private func wipeUsed() -> Int {
        if let start = unsafe start { unsafe wipe(start, end) }
        return 0
    }
}

/// Bytes that a C program holds, at an address that does not change. A zero follows them.
final class DataValue: Sendable {
    private let bytes: GrowingBytes
    let count: Int

    /// Copies the bytes.
    convenience init(_ bytes: Span<UInt8>) throws(Failure) {
        var copy = GrowingBytes()
        // With the zero at once: bytes that grow take twice their size for a moment.
        let (room, isTooLarge) = bytes.count.addingReportingOverflow(1)
        guard !isTooLarge else { throw .memory }
        try copy.reserve(room)
        try copy.append(bytes)
        try self.init(copy)
    }

    /// Takes over what was collected.
    init(_ bytes: consuming GrowingBytes) throws(Failure) {
        count = bytes.count
        try bytes.append([0].span)
        self.bytes = bytes
    }

    var address: UnsafeRawPointer? { unsafe bytes.address }
}

/// Overwrites bytes in a way that no compiler leaves out.
func wipe(_ start: UnsafeMutableRawPointer, _ count: Int) {
    unsafe explicit_bzero(start, count)
}
