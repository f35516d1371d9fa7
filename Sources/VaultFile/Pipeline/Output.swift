import SystemPackage
import VaultFormat

/// The output of a pipeline. A new regular file is written at computed places in any order, any other output in order.
struct PipelineOutput: Sendable {
    /// Nil if nothing is written.
    let descriptor: FileDescriptor?
    /// Whether pieces may be written in any order.
    let hasPlaces: Bool
    /// Nil if zeros are written like all other bytes.
    private let holes: OutputHoles?

    /// Writes to a descriptor: at places if it is an empty file that is not opened for appending, otherwise at its
    /// offset.
    ///
    /// - Parameters:
    ///   - isPlaintext: whether the output is plaintext. Other programs may use plaintext before it is complete. Pieces
    ///   in any order leave holes, which read as zeros that are not authenticated. So plaintext is
    ///   written at places only if the file has no name and no other program can open it.
    ///   - isSparse: whether blocks of zeros become holes, if the output is a regular file.
    /// - Throws: `invalidArgument` for a regular file with bytes after its offset: they would stay after the output and
    ///   look like a part of it.
    init(
        _ descriptor: FileDescriptor?, isPlaintext: Bool = true, sparse isSparse: Bool = false
    ) throws(VaultError) {
        guard let descriptor else {
            self.descriptor = nil
            hasPlaces = false
            holes = nil
            return
        }
        let status = try? descriptor.status()
        var isEmpty = false
        var holes: OutputHoles?
        if let status, status.kind == .regular, !descriptor.appends, let place = try? descriptor.place() {
            guard place >= status.size else {
                throw VaultError(
                    .invalidArgument, "the output file has bytes where the output begins; truncate it first")
            }
            isEmpty = status.size == 0 && place == 0 && !(isPlaintext && status.linkCount != 0)
            if isSparse { holes = OutputHoles(from: UInt64(clamping: place)) }
        }
        self.descriptor = descriptor
        self.holes = holes
        hasPlaces = isEmpty
        // mutant: it only makes a pipe faster
        if !hasPlaces { descriptor.enlargePipe(to: PieceSize.pipe) }
    }

    /// Writes at places to a file that this program has just made.
    init(new descriptor: FileDescriptor) {
        self.descriptor = descriptor
        hasPlaces = true
        holes = nil
    }

    /// Writes at the output's offset.
    func write(_ bytes: Span<UInt8>) throws(VaultError) {
        guard let holes, let descriptor else {
            try descriptor?.writeFully(bytes)
            return
        }
        try holes.write(bytes, parts: [0..<bytes.count], at: holes.place(of: bytes.count), to: descriptor)
    }

    /// Writes parts of `bytes`, one after the other, to `offset`. If the output has no places, it is written at its own
    /// offset, and the caller writes in order.
    func write(_ bytes: Span<UInt8>, parts: [Range<Int>], at offset: UInt64) throws(VaultError) {
        guard hasPlaces, let descriptor else {
            for part in parts { try write(bytes.extracting(part)) }
            return
        }
        if let holes {
            try holes.write(bytes, parts: parts, at: offset, to: descriptor)
        } else {
            try descriptor.writeFully(bytes, parts: parts, at: offset)
        }
    }

    /// Writes all of `bytes` to `offset`, in the same way.
    func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(VaultError) {
        try write(bytes, parts: [0..<bytes.count], at: offset)
    }

    /// Gives the file its length, if it ends in a hole, and moves its offset to its end, as if it had been written from
    /// its beginning.
    func finish() throws(VaultError) {
        guard let descriptor, hasPlaces || holes != nil else { return }
        do throws(Errno) {
            if let end = holes?.end, try descriptor.status().size < end { try descriptor.extend(to: end) }
            try descriptor.moveToEnd()
        } catch {
            throw VaultError(.outputFailed, "its end cannot be set: \(error)", systemError: error)
        }
    }
}
