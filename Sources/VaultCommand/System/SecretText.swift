internal import CPlatform
internal import CUTF8Proc
internal import SystemPackage
internal import VaultFile

/// Text that holds a secret. A descriptor is read straight into guarded memory, so that no copy stays on the heap.
struct SecretText: ~Copyable, Sendable {
    private let buffer: SecretBuffer
    /// The length of the text in bytes. The rest of the buffer is unused.
    let count: Int

    /// Why a secret's text is not accepted, worded for a message.
    struct Malformed: Error {
        var reason: String
        /// The library's name for the error; nil if it has none.
        var error: VaultError.Code?
    }

    /// The longest file with a key or a passphrase, and the longest output of a key command, in bytes.
    static let longestFile = SymmetricKey.largestKeyFile
    /// The longest file with identities (KEYTEXT-5), also if it is a container, which is a little longer.
    static let longestIdentityFile = 1 << 21
    /// The longest line of a passphrase, in bytes before NFC.
    private static let longestLine = 8192

    /// Reads to the end.
    ///
    /// - Parameters:
    ///   - tooLong: The library's name for the error of a text that is too long.
    ///   - limit: The most bytes.
    init(
        contentsOf descriptor: FileDescriptor, tooLong: VaultError.Code? = nil, atMost limit: Int = Self.longestFile
    ) throws {
        try self.init(from: descriptor, limit: limit, tooLong: tooLong)
    }

    /// Reads one line and not a byte more, so that the next reader of the descriptor gets the next line.
    init(lineFrom descriptor: FileDescriptor) throws {
        try self.init(from: descriptor, limit: Self.longestLine, isLine: true)
    }

    /// Runs a command of the shell and reads what it prints.
    ///
    /// - Parameters:
    ///   - limit: The most bytes.
    ///   - onError: Gets each line that the command writes to standard error; nil if they go to this program's.
    static func printed(
        by command: [UInt8], atMost limit: Int = longestFile, onError: (([UInt8]) -> Void)? = nil
    ) throws -> SecretText {
        var shell = try ShellCommand(command, catchesErrors: onError != nil)
        defer {
            shell.end()
            if let onError { shell.errorLines.forEach(onError) }
        }
        let text = try SecretText(from: shell.output, limit: limit, tooLong: .badKey) {
            try shell.waitForOutput()
        }
        if let trouble = shell.end() { throw Malformed(reason: trouble) }
        return text
    }

    /// - Parameters:
    ///   - isLine: Whether the text ends with its first line, so that bytes are read one at a time.
    ///   - waitForMore: Called before each read; false if there is no more to read.
    private init(
        from descriptor: FileDescriptor, limit: Int, isLine: Bool = false, tooLong: VaultError.Code? = nil,
        waitForMore: () throws -> Bool = { true }
    ) throws {
        // Room for one byte more than is allowed, to notice a longer text.
        var buffer = try SecretBuffer(count: min(limit, Self.firstRoom) + 1)
        var filled = 0
        while filled <= limit, try waitForMore() {
            if filled == buffer.count { buffer = try Self.larger(buffer, atMost: limit + 1) }
            let (count, isEnd) = try buffer.withMutableBytes { span in
                let end = isLine ? filled + 1 : span.count
                let count = try unsafe span.withUnsafeMutableBytes { bytes in
                    let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[filled..<end])
                    return try unsafe descriptor.readWaiting(into: free)
                }
                return (count, count == 0 || isLine && span[filled + count - 1] == UInt8(ascii: "\n"))
            }
            filled += count
            if isEnd { break }
        }
        guard filled <= limit else { throw Malformed(reason: "it is longer than \(limit) bytes", error: tooLong) }
        count = filled
        self.buffer = buffer
    }

    /// The room that is taken at first. Locked memory is scarce, and nearly every text is short.
    private static let firstRoom = 1 << 14

    /// A larger buffer with the same bytes at its beginning.
    private static func larger(_ buffer: borrowing SecretBuffer, atMost limit: Int) throws -> SecretBuffer {
        var larger = try SecretBuffer(count: min(limit, 4 * buffer.count))
        buffer.withBytes { bytes in
            larger.withMutableBytes { larger in
                for index in bytes.indices { larger[index] = bytes[index] }
            }
        }
        return larger
    }

    /// Lends the bytes.
    func withBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R {
        try buffer.withBytes { bytes in try body(bytes.extracting(0..<count)) }
    }

    /// The text as a passphrase: one line without its line end, valid UTF-8, in NFC.
    ///
    /// A passphrase in a file must match the typed one, whatever the keyboard and the locale.
    func passphrase() throws -> Passphrase {
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
            return try SecretText(normalizing: bytes.extracting(0..<length)).withBytes { try Passphrase(bytes: $0) }
        }
    }

    /// Refuses characters that programs add to files and that cannot be typed: the user could never enter the
    /// passphrase.
    private static func refuseStrays(in line: Span<UInt8>) throws {
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]]
        guard !marks.contains(where: { line.starts(with: $0) }) else {
            throw Malformed(reason: "it begins with a byte order mark; a passphrase is plain UTF-8 without one")
        }
        for index in line.indices {
            guard line[index] != 0 else { throw Malformed(reason: "there is a NUL byte in the passphrase") }
            guard line[index] != UInt8(ascii: "\r") else {
                throw Malformed(reason: "there is a carriage return in the passphrase that does not end its line")
            }
        }
    }

    /// Converts UTF-8 to NFC within guarded memory: the text is decomposed to UTF-32 there, then composed and encoded
    /// in place.
    private init(normalizing text: Span<UInt8>) throws {
        let options = utf8proc_option_t(rawValue: UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        // A canonical decomposition has at most four characters, and `reencode` needs room for one more.
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

extension Span<UInt8> {
    /// Whether these are its first bytes, compared where they are.
    func starts(with beginning: [UInt8]) -> Bool {
        beginning.count <= count && beginning.indices.allSatisfy { beginning[$0] == self[$0] }
    }
}
