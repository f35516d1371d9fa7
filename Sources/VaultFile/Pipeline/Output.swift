import SystemPackage
import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Where a pipeline writes: into a regular file at the places that are computed, in any order; to everything else one piece
/// after the other.
struct PipelineOutput: Sendable {
    /// Nil where nothing is written.
    let descriptor: FileDescriptor?
    /// Whether pieces may be written in any order.
    let hasPlaces: Bool

    /// A file that is empty and stands at its beginning can be written anywhere; one that is appended to cannot, and what
    /// somebody else has begun is gone on with.
    init(_ descriptor: FileDescriptor?) {
        self.descriptor = descriptor
        guard let descriptor else {
            hasPlaces = false
            return
        }
        let status = try? descriptor.status()
        hasPlaces =
            status?.kind == .regular && status?.size == 0
            && (try? descriptor.seek(offset: 0, from: .current)) == 0 && !descriptor.appends
    }

    /// Writes at a place, or where the output stands: then that has to be the place.
    func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(VaultError) {
        if hasPlaces {
            try descriptor?.writeFully(bytes, at: offset)
        } else {
            try descriptor?.writeFully(bytes)
        }
    }

    /// Leaves the file standing at its end, as if it had been written from beginning to end.
    func finish(length: UInt64) throws(VaultError) {
        guard hasPlaces, let end = Int64(exactly: length) else { return }
        do {
            _ = try descriptor?.seek(offset: end, from: .start)
        } catch {
            throw VaultError(.outputFailed, "it cannot be written on: \(error)")
        }
    }
}

extension FileDescriptor {
    fileprivate var appends: Bool {
        let flags = SystemCalls.current.statusFlags(rawValue)
        return flags == -1 || flags & O_APPEND != 0
    }
}
