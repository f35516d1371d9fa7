internal import CPlatform
internal import CUTF8Proc
internal import SystemPackage
internal import VaultFile

#if canImport(Darwin)
@unsafe @preconcurrency internal import Darwin
#elseif canImport(Musl)
@unsafe @preconcurrency internal import Musl
#else
@unsafe @preconcurrency internal import Glibc
#endif

/// Text that holds a secret. A descriptor is read straight into guarded memory, so that no copy stays on the heap.
struct SecretText: ~Copyable, Sendable {
    private let buffer: SecretBuffer
    /// How many bytes of the buffer are the text.
    let count: Int

    /// What is wrong with a secret's text, in words for a message.
    struct Malformed: Error {
        var reason: String
    }

    /// The most bytes that a file with a key or a passphrase, or the output of a key command, may have.
    private static let longestFile = SymmetricKey.largestKeyFile
    /// The most bytes that the line of a passphrase may have before it is brought to NFC.
    private static let longestLine = 8192

    /// Reads to the end.
    init(contentsOf descriptor: FileDescriptor) throws {
        try self.init(from: descriptor, limit: Self.longestFile)
    }

    /// Reads to the end of the line and no byte further: the next reader of the descriptor finds the rest.
    init(lineFrom descriptor: FileDescriptor) throws {
        try self.init(from: descriptor, limit: Self.longestLine, isLine: true)
    }

    /// Runs a command of the shell and reads what it prints.
    static func printed(by command: [UInt8]) throws -> SecretText {
        var shell = try ShellCommand(command)
        defer { shell.end() }
        let text = try SecretText(from: shell.output, limit: longestFile) { try shell.waitForOutput() }
        if let trouble = shell.end() { throw Malformed(reason: trouble) }
        return text
    }

    /// - Parameters:
    ///   - isLine: Whether the text ends with its first line, so that bytes are read one at a time.
    ///   - waitForMore: Called before each read; false if there is no more to read.
    private init(
        from descriptor: FileDescriptor, limit: Int, isLine: Bool = false, waitForMore: () throws -> Bool = { true }
    ) throws {
        // One byte more than is allowed shows that there are more.
        var buffer = try SecretBuffer(count: limit + 1)
        count = try buffer.withMutableBytes { span in
            var filled = 0
            while filled <= limit, try waitForMore() {
                let end = isLine ? filled + 1 : limit + 1
                let count = try unsafe span.withUnsafeMutableBytes { bytes in
                    let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[filled..<end])
                    return try unsafe descriptor.readWaiting(into: free)
                }
                filled += count
                if count == 0 || isLine && span[filled - 1] == UInt8(ascii: "\n") { return filled }
            }
            guard filled <= limit else { throw Malformed(reason: "it is longer than \(limit) bytes") }
            return filled
        }
        self.buffer = buffer
    }

    /// Lends the bytes.
    func withBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R {
        try buffer.withBytes { bytes in try body(bytes.extracting(0..<count)) }
    }

    /// The text as a passphrase is taken: one line without its end, valid UTF-8, brought to NFC.
    ///
    /// A passphrase that was stored in a file has to match the one that is typed, on any keyboard and in any locale.
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

    /// Refuses what no keyboard types and what programs put into files unasked: nobody could type the passphrase.
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
    /// Reads, and waits where the descriptor is one that does not wait by itself.
    fileprivate func readWaiting(into bytes: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            do {
                return try unsafe read(into: bytes)
            } catch Errno.resourceTemporarilyUnavailable {
                _ = try isReady(for: POLLIN, within: -1)
            }
        }
    }
}

extension Span<UInt8> {
    /// Whether these are its first bytes, compared where they are.
    func starts(with beginning: [UInt8]) -> Bool {
        beginning.count <= count && beginning.indices.allSatisfy { beginning[$0] == self[$0] }
    }
}
