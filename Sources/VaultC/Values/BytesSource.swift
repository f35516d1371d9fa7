import VaultFile

/// A container in memory that a C program gives, without an array of Swift's: for an array that the system refuses, Swift
/// ends the process.
@safe struct BytesSource: ByteSource, @unchecked Sendable {
    private let start: UnsafeRawPointer?
    private let count: Int
    /// Keeps the bytes at their place; nil if they are the program's.
    private let owner: DataValue?

    private init(_ start: UnsafeRawPointer?, _ count: Int, _ owner: DataValue?) {
        unsafe self.start = start
        self.count = count
        self.owner = owner
    }

    /// Makes a copy of the bytes.
    ///
    /// - Throws: `Failure` with `memoryUnavailable`, and as `withBytes`.
    init(copying start: UnsafeRawPointer?, _ count: UInt) throws {
        let copy = try unsafe withBytes(start, count) { try DataValue($0) }
        unsafe self.init(copy.address, copy.count, copy)
    }

    /// Lends the program's own bytes. They go when the call returns: nothing that `body` makes may read them afterwards.
    ///
    /// - Throws: as `withBytes`, and what `body` throws.
    static func lending<R>(
        _ start: UnsafeRawPointer?, _ count: UInt, _ body: (BytesSource) throws -> R
    ) throws -> R {
        try unsafe withBytes(start, count) { bytes in
            try unsafe body(BytesSource(start, bytes.count, nil))
        }
    }

    func size() -> UInt64 { UInt64(count) }

    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int {
        guard let start = unsafe start, offset < UInt64(count) else { return 0 }
        let first = Int(offset)
        let taken = min(buffer.count, count - first)
        unsafe buffer.withUnsafeMutableBytes { unsafe $0.copyMemory(from: .init(start: start + first, count: taken)) }
        return taken
    }
}
