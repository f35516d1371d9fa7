import VaultCrypto
import VaultFormat

/// Bytes that can be read at any place: a file, memory, an object in a store.
///
/// The size and the bytes have to belong to one version of one object. A source over a network asks for that version in
/// each of its requests.
public protocol ByteSource: Sendable {
    /// The number of bytes.
    ///
    /// - Throws: any error. The library passes it on; `VaultError` with `inputFailed` is for a medium that fails.
    func size() throws -> UInt64

    /// Reads at most as many bytes as the buffer holds. Several tasks may call it at once.
    ///
    /// - Parameter offset: where the bytes begin, counted from the beginning of the source.
    /// - Returns: the count of bytes that were read; 0 only at the end.
    /// - Throws: any error. The library passes it on, except that verification and recovery take `VaultError` with
    ///   `inputFailed` for damage of the bytes that were asked for, and go on behind them.
    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int

    /// Runs `body` while no other program rotates the keys of the container, and tells it whether that is certain.
    /// Without a lock, which is the default, a reader reads the headers again until two readings agree.
    ///
    /// - Throws: what `body` throws. A lock that cannot be had is not an error.
    func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R
}

extension ByteSource {
    /// Runs `body` without a lock.
    public func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        try body(false)
    }

    /// The bytes from `offset` on, in memory: fewer than `count` only at the end of the source.
    ///
    /// - Throws: what the source throws, and `VaultError` with `inputFailed` if it claims to have read more bytes than
    ///   it was asked for.
    public func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try fill(&bytes, 0..<count, at: offset)
        return filled < count ? [UInt8](bytes.prefix(filled)) : bytes
    }

    /// Fills the buffer, however many reads that takes.
    ///
    /// - Returns: the count of bytes that were read: fewer than the buffer holds only at the end of the source.
    func fill(_ buffer: inout MutableSpan<UInt8>, at offset: UInt64) throws -> Int {
        try buffer.fill { filled, rest in
            let count = try read(at: offset + UInt64(filled), into: &rest)
            // A source of the caller's own may return anything.
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

    /// Makes `bytes` at least `count` long and fills the first `count` of them.
    ///
    /// - Returns: the error, if the medium failed or ended; nil on success.
    /// - Throws: every other error of the source.
    func fill(_ bytes: inout [UInt8], exactly count: Int, at offset: UInt64) throws -> VaultError? {
        if bytes.count < count { bytes += [UInt8](repeating: 0, count: count - bytes.count) }
        do {
            guard try fill(&bytes, 0..<count, at: offset) == count else {
                return VaultError(.truncated, "the file has become shorter", offset: offset)
            }
            return nil
        } catch let error as VaultError where error.code == .inputFailed {
            return error
        }
    }
}
