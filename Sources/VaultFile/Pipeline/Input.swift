import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a pipeline reads: a regular file from front to back or at places, anything else as it comes. A pipe may make
/// one wait, for as long as its other end likes.
final class PipelineInput: Sendable {
    private let descriptor: FileDescriptor
    private let file: FileSource
    private let mayWait: Bool
    private let isGivenUp = Atomic(false)
    private let hasEnded = Atomic(false)

    init(_ descriptor: FileDescriptor) {
        self.descriptor = descriptor
        // Whoever hands it in sees to its locks.
        file = FileSource(descriptor, locking: .heldByCaller)
        mayWait = (try? descriptor.status())?.kind != .regular
        if mayWait { descriptor.enlargePipe(to: PieceSize.pipe) }
    }

    /// Whether so many bytes can be read without waiting.
    func holds(_ count: Int) -> Bool {
        !mayWait || SystemCalls.current.available(descriptor.rawValue) >= count
    }

    /// Fills a part of `bytes`, however many reads that takes. An end stays one: more may come behind it, from another
    /// writer of a pipe or to a file that grows, and whoever chooses when would choose what is read for the whole.
    ///
    /// - Returns: how many bytes there were; fewer only at the end.
    func fill(_ bytes: inout [UInt8], _ range: Range<Int>) throws(VaultError) -> Int {
        var filled = 0
        while filled < range.count, !hasEnded.load(ordering: .relaxed) {
            try wait()
            let more = try bytes.withMutableSpan(of: range.dropFirst(filled)) { span throws(VaultError) in
                try descriptor.readSome(into: &span)
            }
            guard more > 0 else {
                hasEnded.store(true, ordering: .relaxed)
                break
            }
            filled += more
        }
        return filled
    }

    /// Where the bytes stand that a regular file has to give, from where it stands now; nil for anything else.
    ///
    /// - Throws: `inputFailed`: how much there has to be would not be known.
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

    /// Fills a part of `bytes` from a place in a regular file, whatever it stands at.
    func fill(_ bytes: inout [UInt8], _ part: Range<Int>, at offset: UInt64) throws -> Int {
        try file.fill(&bytes, part, at: offset)
    }

    /// Lets a regular file be read on from a place.
    func seek(to offset: UInt64) throws(VaultError) {
        do {
            _ = try descriptor.move(to: Int64(clamping: offset), from: SEEK_SET)
        } catch {
            throw VaultError(
                .inputFailed, "it cannot be read on at byte \(offset): \(error)", systemError: error)
        }
    }

    /// Ends the waiting of other threads, soon: what was to be done with the input has failed, and whoever is told so
    /// would else be told when the next bytes come.
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
