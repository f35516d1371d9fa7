import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// The same container with another header, in a new file: the records and the manifest byte for byte, everything else
/// by the new header's capacity (ROT-24, ROT-25).
struct ContainerCopy {
    private static let pieceCount = 1 << 20

    private let layout: ContainerLayout
    private let manifestLength: Int
    private let header: HeaderCopy

    init(_ opening: ContainerOpening, header: HeaderCopy) {
        layout = opening.layout
        manifestLength = opening.footer.manifestLength
        self.header = header
    }

    /// Writes it and puts it in the place of `file`, or leaves everything as it is.
    func replace(
        _ file: borrowing LockedFile, source: FileSource, options: RotationOptions
    ) throws {
        var container = try ContainerAssembly(header)
        _ = try container.append(layout.streamLength)
        let output = try OutputFile.replacing(file)
        try output.write(container.header.span)
        try copyRecords(from: source, to: output, options.onProgress)
        try output.write(container.end(manifestLength: manifestLength).span)
        _ = try output.checkContainer(length: container.layout.containerLength(manifestLength: manifestLength))
        try output.take(placeOf: file, mayBreakLinks: options.mayBreakLinks)
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
            try output.write(piece.span.extracting(0..<count))
            place += UInt64(count)
            try onProgress(place)
        }
    }
}

extension ReplacementFile {
    /// The header of the container that was written, looked at before it takes the place of the only other one: a
    /// medium that loses what it was given mostly loses the end.
    borrowing func checkContainer(length: UInt64) throws -> HeaderSummary {
        let made = try Inspection(FileSource(descriptor, locking: .heldByCaller))
        guard let header = made.front.summary, made.problem == nil, made.copiesAreIdentical,
            made.containerLength == length
        else { throw VaultError(.outputFailed, "the new container does not read back as it was written") }
        return header
    }
}
