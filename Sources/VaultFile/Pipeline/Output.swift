import SystemPackage
import VaultFormat

/// The output of a pipeline. A new regular file is written at computed places in any order, any other output in order.
struct PipelineOutput: Sendable {
    /// Nil if nothing is written.
    let descriptor: FileDescriptor?
    /// Whether pieces may be written in any order.
    let hasPlaces: Bool

    /// Writes to a descriptor: at places if it is an empty file that is not opened for appending, otherwise at its
    /// offset.
    ///
    /// - Parameter isPlaintext: whether the output is plaintext. Other programs may use plaintext before it is
    ///   complete. Pieces in any order leave holes, which read as zeros that are not authenticated. So plaintext is
    ///   written at places only if the file has no name and no other program can open it.
    /// - Throws: `invalidArgument` for a regular file with bytes after its offset: they would stay after the output and
    ///   look like a part of it.
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
                    .invalidArgument, "the output file has bytes where the output begins; truncate it first")
            }
            isEmpty = status.size == 0 && place == 0 && !(isPlaintext && status.linkCount != 0)
        }
        self.descriptor = descriptor
        hasPlaces = isEmpty
        if !hasPlaces { descriptor.enlargePipe(to: PieceSize.pipe) }
    }

    /// Writes at places to a file that this program has just made.
    init(new descriptor: FileDescriptor) {
        self.descriptor = descriptor
        hasPlaces = true
    }

    /// Writes at the output's offset.
    func write(_ bytes: Span<UInt8>) throws(VaultError) {
        try descriptor?.writeFully(bytes)
    }

    /// Writes parts of `bytes`, one after the other, to `offset`. If the output has no places, it is written at its own
    /// offset, and the caller writes in order.
    func write(_ bytes: Span<UInt8>, parts: [Range<Int>], at offset: UInt64) throws(VaultError) {
        if hasPlaces {
            try descriptor?.writeFully(bytes, parts: parts, at: offset)
        } else {
            for part in parts { try write(bytes.extracting(part)) }
        }
    }

    /// Writes all of `bytes` to `offset`, in the same way.
    func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(VaultError) {
        try write(bytes, parts: [0..<bytes.count], at: offset)
    }

    /// Moves the file's offset to its end, as if it had been written from its beginning.
    func finish() throws(VaultError) {
        guard hasPlaces else { return }
        do {
            try descriptor?.moveToEnd()
        } catch {
            throw VaultError(.outputFailed, "its offset cannot be moved to its end: \(error)", systemError: error)
        }
    }
}
