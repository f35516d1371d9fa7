import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// Copies a container into a new file with another header (ROT-26, ROT-27). Records and manifest are copied byte for
/// byte. Zeros, tail and footer follow the new header's capacity.
struct ContainerCopy {
    private static let pieceCount = 1 << 20

    private let layout: ContainerLayout
    private let manifestLength: Int
    private let header: HeaderCopy

    /// - Parameters:
    ///   - layout: of the old container.
    ///   - manifestLength: of its manifest.
    init(_ layout: ContainerLayout, manifestLength: Int, header: HeaderCopy) {
        self.layout = layout
        self.manifestLength = manifestLength
        self.header = header
    }

    /// Writes the copy and replaces `file` with it. After an error, nothing has changed.
    ///
    /// - Parameters:
    ///   - naming: runs the rename.
    ///   - isFolderSynced: whether the name is durable when this returns.
    func replace(
        _ file: borrowing LockedFile, source: FileSource, options: RotationOptions,
        naming: OutputFile.Naming = OutputFile.directly, synchronizingFolder isFolderSynced: Bool = true
    ) throws {
        var container = try ContainerAssembly(header)
        _ = try container.append(layout.streamLength)
        let output = try OutputFile.replacing(file)
        try output.write(container.header.span)
        try copyRecords(from: source, to: output, options.onProgress)
        try output.write(container.end(manifestLength: manifestLength).span)
        _ = try output.checkContainer(length: container.layout.containerLength(manifestLength: manifestLength))
        try output.take(
            placeOf: file, mayBreakLinks: options.mayBreakLinks, naming: naming, synchronizingFolder: isFolderSynced)
    }

    private func copyRecords(
        from source: FileSource, to output: borrowing ReplacementFile, _ onProgress: (UInt64) throws -> Void
    ) throws {
        var place = UInt64(layout.capacity.bytes)
        let end = layout.manifestEnd(manifestLength: manifestLength)
        var piece = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceCount), end - place)))
        while place < end {
            let count = Int(min(UInt64(piece.count), end - place))
            guard try source.fill(&piece, 0..<count, at: place) == count else {
                throw VaultError(.truncated, "the file has become shorter", offset: place)
            }
            try Cancellation.check()  // mutant: one piece more or less makes no difference
            try output.write(piece.span.extracting(0..<count))
            place += UInt64(count)
            try onProgress(place)
        }
    }
}

extension ReplacementFile {
    /// Reads back both ends of the new container before it replaces the only other copy of its contents. A medium that
    /// loses data mostly loses the end.
    borrowing func checkContainer(length: UInt64) throws -> HeaderSummary {
        let made = try Inspection(FileSource(descriptor, locking: .heldByCaller))
        guard let header = made.front.summary, made.problem == nil, made.copiesAreIdentical,
            made.containerLength == length
        else { throw VaultError(.outputFailed, "the new container does not read back as it was written") }
        return header
    }
}
