import VaultCrypto
import VaultFormat

/// Bytes that can be read from any place: a file, memory, an object in a store.
///
/// The size and the bytes are one version of one object: a source over a network pins it.
public protocol ByteSource: Sendable {
    /// The number of bytes there are.
    func size() throws -> UInt64

    /// Reads at most as many bytes as the buffer holds, and returns how many; 0 only at the end. May be called from
    /// several tasks at once.
    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int

    /// Runs `body` while nobody rotates the keys of the container, and says whether that is so. Where there is no lock,
    /// the default, a reader looks again until two looks agree.
    func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R
}

extension ByteSource {
    /// No lock.
    public func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        try body(false)
    }

    /// Reads bytes from a place on, however many calls of `read` that takes.
    ///
    /// - Returns: as many as asked for, or fewer if the source ends before.
    /// - Throws: what `read` throws; `VaultError` with `inputFailed` if it says that it has read more than it could.
    public func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try fill(&bytes, 0..<count, at: offset)
        return filled < count ? [UInt8](bytes.prefix(filled)) : bytes
    }

    /// Fills the buffer, however many reads that takes.
    ///
    /// - Returns: the count of bytes that were read: fewer than the buffer holds only at the end of the source.
    func fill(_ buffer: inout MutableSpan<UInt8>, at offset: UInt64) throws -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = filled..<buffer.count
            let more = try buffer.withPart(rest) { try read(at: offset + UInt64(filled), into: &$0) }
            guard (0...rest.count).contains(more) else {
                throw VaultError(.inputFailed, "the source says that it has read \(more) bytes of \(rest.count)")
            }
            guard more > 0 else { break }
            filled += more
        }
        return filled
    }

    /// Fills a part of `bytes` in the same way.
    func fill(_ bytes: inout [UInt8], _ part: Range<Int>, at offset: UInt64) throws -> Int {
        try bytes.withMutableSpan(of: part) { try fill(&$0, at: offset) }
    }

    /// Makes `bytes` at least `count` long and fills so many of them.
    ///
    /// - Returns: why that cannot be, where it is the medium that fails or ends; nil where it was done.
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
