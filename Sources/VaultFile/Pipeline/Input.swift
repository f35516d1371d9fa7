import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat

/// The input of a pipeline. A regular file is read in order or at computed places, any other input in order. A pipe can
/// block its reader for as long as its writer chooses.
final class PipelineInput: Sendable {
    private let descriptor: FileDescriptor
    private let file: FileSource
    private let mayWait: Bool
    private let isGivenUp = Atomic(false)
    private let hasEnded = Atomic(false)

    init(_ descriptor: FileDescriptor) {
        self.descriptor = descriptor
        // The caller is responsible for locks on the descriptor.
        file = FileSource(descriptor, locking: .heldByCaller)
        mayWait = (try? descriptor.status())?.kind != .regular
        if mayWait { descriptor.enlargePipe(to: PieceSize.pipe) }
    }

    /// Whether `count` bytes can be read without waiting.
    func holds(_ count: Int) -> Bool {
        !mayWait || SystemCalls.current.available(descriptor.rawValue) >= count
    }

    /// Fills a part of `bytes`, with as many reads as that takes. After the end of the input it reads nothing more.
    /// Another program may add bytes to the pipe or the file after the end. If they were read, the time at which they
    /// come would decide what the whole is.
    ///
    /// - Returns: the count of bytes that were read: less than asked for only at the end.
    func fill(_ bytes: inout ByteBuffer, _ range: Range<Int>) throws(VaultError) -> Int {
        try bytes.withMutableSpan(of: range) { part throws(VaultError) in try fill(&part) }
    }

    /// Fills a part of `bytes` in the same way.
    func fill(_ bytes: inout [UInt8], _ range: Range<Int>) throws(VaultError) -> Int {
        try bytes.withMutableSpan(of: range) { part throws(VaultError) in try fill(&part) }
    }

    private func fill(_ part: inout MutableSpan<UInt8>) throws(VaultError) -> Int {
        guard !part.isEmpty, !hasEnded.load(ordering: .relaxed) else { return 0 }
        let count = try part.fill { _, rest throws(VaultError) in
            try wait()
            return try descriptor.readSome(into: &rest)
        }
        if count < part.count { hasEnded.store(true, ordering: .relaxed) }
        return count
    }

    /// The bytes of a regular file from its offset to its end; nil if there are none, or if it is not a regular file.
    ///
    /// - Throws: `inputFailed`. Without its length, a file that becomes shorter while it is read would not be noticed.
    func places() throws(VaultError) -> Range<UInt64>? {
        guard !mayWait else { return nil }
        do throws(Errno) {
            let start = UInt64(clamping: try descriptor.place())
            let end = try descriptor.status().size
            return start < end ? start..<end : nil
        } catch {
            throw VaultError(.inputFailed, "reading failed: \(error)", systemError: error)
        }
    }

    /// What finds the holes of a regular file; nil if it has none that can be relied on.
    func holes() -> SourceHoles? {
        guard !mayWait, let status = try? descriptor.status(), status.allocated < status.size,
            Timestamp.now.seconds &- status.changed.seconds >= SourceHoles.leastAge
        else { return nil }
        return SourceHoles()
    }

    /// Where data begins, from `offset` on; nil at the end. Moves the offset of the file.
    func nextData(from offset: UInt64) throws(Errno) -> UInt64? { try descriptor.data(from: offset) }

    /// Where a hole begins, from `offset` on. Moves the offset of the file.
    func hole(from offset: UInt64) throws(Errno) -> UInt64 { try descriptor.hole(from: offset) }

    /// Whether a regular file has at least this length.
    func reaches(_ length: UInt64) -> Bool { (try? descriptor.status()).map { $0.size >= length } ?? false }

    /// Fills a part of `bytes` with the bytes of a regular file from `offset` on. It does not use the file's own
    /// offset.
    func fill(_ bytes: inout ByteBuffer, _ part: Range<Int>, at offset: UInt64) throws -> Int {
        try file.fill(&bytes, part, at: offset)
    }

    /// Moves the offset of a regular file. The next `fill` reads from there.
    func seek(to offset: UInt64) throws(VaultError) {
        do {
            try descriptor.move(to: offset)
        } catch {
            throw VaultError(
                .inputFailed, "it cannot be read from byte \(offset) on: \(error)", systemError: error)
        }
    }

    /// Ends the waits of other threads within a tenth of a second, after the work has failed. Otherwise the caller
    /// would get the error only when the next bytes come.
    func giveUp() {
        isGivenUp.store(true, ordering: .relaxed)
    }

    private func wait() throws(VaultError) {
        guard mayWait else { return }
        let cancellation = Cancellation.current
        do throws(Errno) {
            repeat {
                guard !isGivenUp.load(ordering: .relaxed), cancellation?.isCancelled != true else {
                    throw Errno.canceled
                }
            } while try !descriptor.waitBriefly()
        } catch {
            throw VaultError(.inputFailed, "waiting for input failed: \(error)", systemError: error)
        }
    }
}
