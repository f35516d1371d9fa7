import SystemPackage
import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Where a pipeline writes: into a regular file at the places that are computed, in any order; to everything else one
/// piece after the other.
struct PipelineOutput: Sendable {
    /// Nil where nothing is written.
    let descriptor: FileDescriptor?
    /// Whether pieces may be written in any order.
    let hasPlaces: Bool

    /// A file that is empty and stands at its beginning can be written anywhere; one that is appended to cannot, and
    /// what somebody else has begun is gone on with.
    ///
    /// - Parameter isPlaintext: whether a part of what is written may be used. Where somebody can come by it, a hole in
    ///   it would read as zeros that nobody has authenticated: only a file without a name is written anywhere then.
    /// - Throws: `invalidArgument` for a regular file with bytes behind the place where it stands: they would stay
    ///   behind what is written, and be taken for a part of it.
    init(_ descriptor: FileDescriptor?, isPlaintext: Bool = true) throws(VaultError) {
        guard let descriptor else {
            self.descriptor = nil
            hasPlaces = false
            return
        }
        let status = try? descriptor.status()
        var isEmpty = false
        if let status, status.kind == .regular, !descriptor.appends, let place = try? descriptor.place() {
            guard place >= status.size else {
                throw VaultError(
                    .invalidArgument, "the output is a file that holds something already; cut it to nothing first")
            }
            isEmpty = status.size == 0 && place == 0 && !(isPlaintext && status.linkCount != 0)
        }
        self.descriptor = descriptor
        hasPlaces = isEmpty
        if !hasPlaces { descriptor.enlargePipe(to: PieceSize.pipe) }
    }

    /// A file that is new and this program's own, empty, and at its beginning.
    init(new descriptor: FileDescriptor) {
        self.descriptor = descriptor
        hasPlaces = true
    }

    /// Writes where the output stands.
    func write(_ bytes: Span<UInt8>) throws(VaultError) {
        try descriptor?.writeFully(bytes)
    }

    /// Writes parts of `bytes`, one behind the other, at a place, or where the output stands: then that has to be the
    /// place.
    func write(_ bytes: Span<UInt8>, parts: [Range<Int>], at offset: UInt64) throws(VaultError) {
        if hasPlaces {
            try descriptor?.writeFully(bytes, parts: parts, at: offset)
        } else {
            for part in parts { try write(bytes.extracting(part)) }
        }
    }

    /// Writes at a place, or where the output stands: then that has to be the place.
    func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(VaultError) {
        try write(bytes, parts: [0..<bytes.count], at: offset)
    }

    /// Leaves the file standing at its end, as if it had been written from beginning to end.
    func finish() throws(VaultError) {
        guard hasPlaces else { return }
        do {
            _ = try descriptor?.move(to: 0, from: SEEK_END)
        } catch {
            throw VaultError(.outputFailed, "it cannot be written on: \(error)", systemError: error)
        }
    }
}

extension FileDescriptor {
    fileprivate var appends: Bool {
        let flags = SystemCalls.current.statusFlags(rawValue)
        return flags == -1 || flags & O_APPEND != 0
    }
}
