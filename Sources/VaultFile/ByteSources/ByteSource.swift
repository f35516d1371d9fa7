import VaultCrypto
import VaultFormat
import VaultStream

/// Bytes that can be read at any place: a file, memory, an object in a store.
///
/// The size and the bytes belong to one version of one object; a source over a network asks for that version in every
/// request. Methods are called from several threads at once, and may wait. They must not wait for another call of the
/// library, which may wait for the same threads.
///
/// **Errors.** A source throws ``VaultError/inputFailed(_:systemError:)`` if its medium fails: a read error, a lost
/// connection. Verification and ``Recovery`` then treat the bytes as damaged and continue after them. Every other error
/// ends the operation, and the caller gets it unchanged.
public protocol ByteSource: Sendable {
    /// How many bytes a long read asks for at once: half a mebibyte, unless the source says otherwise. A source whose
    /// requests are slow, such as an object in a store, gives more: then a long read is few requests. Each thread of a
    /// call holds this much memory, or one record if that is more. More than 64 MiB counts as 64 MiB.
    var readSize: Int { get }

    /// The number of bytes.
    ///
    /// - Throws: ``VaultError/inputFailed(_:systemError:)`` if the medium fails. The caller gets any other error
    ///   unchanged.
    func size() throws -> UInt64

    /// Reads some bytes.
    ///
    /// - Parameters:
    ///   - offset: the place of the first byte. It may be after the end.
    ///   - buffer: gets the bytes, from its beginning.
    /// - Returns: the count of bytes that were read, from 1 to the buffer's length; 0 only at the end. Any other count
    ///   ends the operation with `inputFailed`.
    /// - Throws: ``VaultError/inputFailed(_:systemError:)`` if the medium fails. The caller gets any other error
    ///   unchanged.
    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int

    /// Runs `body` while no other program rotates the keys of the container, if the source has a lock for that. Without
    /// a lock, which is the default, a reader reads the header again until two readings agree.
    ///
    /// - Parameter body: reads the header. Its parameter says whether there is a lock.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws. It is not an error if the lock is not available.
    func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R
}

extension ByteSource {
    /// The `readSize` of files: half a mebibyte. Work on so many bytes takes much longer than a system call or a switch
    /// between threads, and many threads still have room in memory.
    public static var standardReadSize: Int { 1 << 19 }

    /// Half a mebibyte.
    public var readSize: Int { Self.standardReadSize }

    /// No lock.
    ///
    /// - Throws: what `body` throws.
    public func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        try body(false)
    }

    /// Reads `count` bytes from `offset` on into memory. Fewer bytes are returned only at the end of the source.
    ///
    /// - Parameters:
    ///   - offset: the place of the first byte.
    ///   - count: not negative. The call takes this much memory at once.
    /// - Throws: what the source throws, and `VaultError` with `inputFailed` if the source returns a count that is too
    ///   large, or `memoryUnavailable`.
    public func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
        try ByteBuffer.check(count: count)
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try fill(&bytes, 0..<count, at: offset)
        return filled < count ? [UInt8](bytes.prefix(filled)) : bytes
    }

    /// Fills the buffer, with as many reads as that takes.
    ///
    /// - Returns: the count of bytes that were read: less than the buffer's length only at the end of the source.
    func fill(_ buffer: inout MutableSpan<UInt8>, at offset: UInt64) throws -> Int {
        try buffer.fill { filled, rest in
            let count = try read(at: offset + UInt64(filled), into: &rest)
            // A source that a program defines may return any count.
            guard (0...rest.count).contains(count) else {
                throw VaultError(.inputFailed, "the source claims to have read \(count) bytes of \(rest.count)")
            }
            return count
        }
    }

    /// Fills a part of `bytes` in the same way.
    func fill(_ bytes: inout [UInt8], _ part: Range<Int>, at offset: UInt64) throws -> Int {
        try bytes.withMutableSpan(of: part) { try fill(&$0, at: offset) }
    }

    /// Fills a part of `bytes` in the same way.
    func fill(_ bytes: inout ByteBuffer, _ part: Range<Int>, at offset: UInt64) throws -> Int {
        try bytes.withMutableSpan(of: part) { try fill(&$0, at: offset) }
    }

    /// Makes `bytes` at least `count` long and fills the first `count` of them.
    ///
    /// - Returns: the error, if the medium failed or ended; nil on success.
    /// - Throws: every other error of the source.
    func fill(_ bytes: inout [UInt8], exactly count: Int, at offset: UInt64) throws -> VaultError? {
        if bytes.count < count { bytes += [UInt8](repeating: 0, count: count - bytes.count) }
        return try bytes.withMutableSpan(of: 0..<count) { try fillAll(&$0, at: offset) }
    }

    /// Does the same with memory that the system may refuse.
    ///
    /// - Throws: `memoryUnavailable`, and every other error of the source.
    func fill(_ bytes: inout ByteBuffer, exactly count: Int, at offset: UInt64) throws -> VaultError? {
        if bytes.count < count { try bytes.resize(to: count) }
        return try bytes.withMutableSpan(of: 0..<count) { try fillAll(&$0, at: offset) }
    }

    private func fillAll(_ bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws -> VaultError? {
        do {
            guard try fill(&bytes, at: offset) == bytes.count else {
                return VaultError(.truncated, "the file has become shorter", offset: offset)
            }
            return nil
        } catch let error as VaultError where error.code == .inputFailed {
            return error
        }
    }
}
