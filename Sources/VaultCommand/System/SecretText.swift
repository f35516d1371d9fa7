internal import CUTF8Proc
internal import SystemPackage
internal import VaultCrypto
internal import VaultFile

/// Text that holds a secret, in guarded memory: read there straight from a descriptor, so that no copy of it is left on
/// the heap.
struct SecretText: ~Copyable, Sendable {
    private let buffer: SecretBuffer
    /// How many bytes of the buffer are the text.
    let count: Int

    /// What is wrong with a secret's text, in words for a message.
    struct Malformed: Error {
        var reason: String
    }

    /// The most bytes that the file of a key or passphrase, or the output of a key command, may have.
    static let longestFile = SymmetricKey.largestKeyFile
    /// The most bytes that a passphrase's line may have, before it is brought to NFC.
    static let longestLine = 8192

    /// Reads a key file to its end.
    init(keyFile descriptor: FileDescriptor) throws {
        try self.init(contentsOf: descriptor, tooLong: SymmetricKey.tooLargeKeyFile)
    }

    /// Reads to the end.
    init(contentsOf descriptor: FileDescriptor, tooLong: any Error = Self.tooLong(longestFile)) throws {
        try self.init(limit: Self.longestFile, tooLong: tooLong) { span, filled in
            try descriptor.read(behind: &filled, of: &span, atMost: Self.longestFile) == 0
        }
    }

    /// Reads to the end of the line and no byte further, so that the next reader of the descriptor finds the rest.
    init(lineFrom descriptor: FileDescriptor) throws {
        try self.init(limit: Self.longestLine, tooLong: Self.tooLong(Self.longestLine)) { span, filled in
            let count = try descriptor.read(behind: &filled, of: &span, atMost: 1)
            return count == 0 || span[filled - 1] == UInt8(ascii: "\n")
        }
    }

    /// - Parameter read: Reads on behind what is there, moves the number of bytes, and says whether that was all.
    private init(
        limit: Int, tooLong: any Error, read: (inout MutableSpan<UInt8>, inout Int) throws -> Bool
    ) throws {
        // One byte more than is allowed, to see that there are more.
        var buffer = try SecretBuffer(count: limit + 1)
        count = try buffer.withMutableBytes { span in
            var filled = 0
            while try !read(&span, &filled) {
                guard filled <= limit else { throw tooLong }
            }
            return filled
        }
        self.buffer = buffer
    }

    private static func tooLong(_ limit: Int) -> Malformed {
        Malformed(reason: "it is longer than \(limit) bytes")
    }

    /// Lends the bytes.
    func withBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R {
        try buffer.withBytes { bytes in try body(bytes.extracting(0..<count)) }
    }

    /// Whether both are the same bytes.
    func isEqual(to other: borrowing SecretText) throws -> Bool {
        try withBytes { mine in try other.withBytes { constantTimeEqual(mine, $0) } }
    }

    /// The text as a passphrase is taken: one line without its end, valid UTF-8, brought to NFC.
    ///
    /// A passphrase that was stored in a file has to match the one that is typed, on any keyboard and in any locale.
    func passphraseLine() throws -> SecretText {
        try withBytes { bytes in
            var length = bytes.count
            for index in 0..<bytes.count where bytes[index] == UInt8(ascii: "\n") {
                guard index == bytes.count - 1 else {
                    throw Malformed(reason: "it has more than one line, and a passphrase is one line")
                }
                length = index
            }
            if length < bytes.count, length > 0, bytes[length - 1] == UInt8(ascii: "\r") { length -= 1 }
            guard length > 0 else { throw Malformed(reason: "the passphrase is empty") }
            try Self.refuseStrays(in: bytes.extracting(0..<length))
            return try SecretText(normalizing: bytes.extracting(0..<length))
        }
    }

    /// Refuses what no keyboard types and what programs put into files unasked: nobody could type the passphrase.
    private static func refuseStrays(in line: Span<UInt8>) throws {
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]]
        guard !marks.contains(where: { line.begins(with: $0) }) else {
            throw Malformed(reason: "it begins with a byte order mark; a passphrase is plain UTF-8 without one")
        }
        for index in line.indices {
            guard line[index] != 0 else { throw Malformed(reason: "there is a NUL byte in the passphrase") }
            guard line[index] != UInt8(ascii: "\r") else {
                throw Malformed(reason: "there is a carriage return in the passphrase that does not end its line")
            }
        }
    }

    /// The text as a passphrase.
    func passphrase() throws -> Passphrase {
        try passphraseLine().withBytes { try Passphrase(bytes: $0) }
    }

    /// Brings UTF-8 to NFC without leaving guarded memory: decomposed into it as UTF-32, composed and encoded in place.
    private init(normalizing text: Span<UInt8>) throws {
        let options = utf8proc_option_t(rawValue: UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        // No character has a canonical decomposition of more than four, and `reencode` wants room for one more.
        let capacity = 4 * text.count + 1
        var scratch = try SecretBuffer(count: 4 * capacity)
        count = try scratch.withMutableBytes { span in
            let length = unsafe text.withUnsafeBufferPointer { source in
                unsafe span.withUnsafeMutableBytes { target -> Int in
                    let points = unsafe target.bindMemory(to: utf8proc_int32_t.self).baseAddress
                    let count = unsafe utf8proc_decompose(
                        source.baseAddress, source.count, points, capacity - 1, options)
                    guard count >= 0, count < capacity else { return Int(UTF8PROC_ERROR_INVALIDUTF8) }
                    return unsafe utf8proc_reencode(points, count, options)
                }
            }
            guard length >= 0 else { throw Malformed(reason: "the passphrase is not valid UTF-8") }
            return length
        }
        buffer = scratch
    }
}

extension FileDescriptor {
    /// Reads behind the bytes that are filled, at most `limit` of them, and moves `filled`.
    ///
    /// - Returns: How many came; none at the end.
    fileprivate func read(
        behind filled: inout Int, of span: inout MutableSpan<UInt8>, atMost limit: Int
    ) throws(VaultError) -> Int {
        let range = filled..<min(span.count, filled + limit)
        let count = try unsafe span.withUnsafeMutableBufferPointer { all throws(VaultError) in
            var room = unsafe MutableSpan(_unsafeElements: UnsafeMutableBufferPointer(rebasing: all[range]))
            return try readSome(into: &room)
        }
        filled += count
        return count
    }
}
