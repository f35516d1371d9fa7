internal import CArchive
public import VaultTar

/// The content of a member in one of tar's forms for sparse files.
public enum MemberContent {
    private static let zeros = [UInt8](repeating: 0, count: 1 << 16)

    /// Passes a part of the file that a sparse member stands for to `body`, piece by piece, with its holes as zeros.
    ///
    /// - Parameters:
    ///   - part: a range of the file.
    ///   - bytes: reads a part of the stream; fewer bytes only at its end.
    /// - Throws: `ArchiveError` if libarchive is missing, or cannot read the member; what `bytes` and `body` throw.
    public static func read(
        _ part: Range<UInt64>, of member: TarEntry, reading bytes: @escaping (UInt64, Int) throws -> [UInt8],
        _ body: (Span<UInt8>) throws -> Void
    ) throws {
        let library = try ArchiveLibrary.load()
        ArchiveLibrary.useNamesInUTF8()
        guard let entry = library.calls.archive_entry_new() else { throw ArchiveError("out of memory") }
        defer { unsafe library.calls.archive_entry_free(entry) }
        var done = part.lowerBound
        func pass(_ end: UInt64) throws {
            while done < end {
                let count = min(end - done, UInt64(zeros.count))
                try body(zeros.span.extracting(0..<Int(count)))
                done += count
            }
        }
        try unsafe MemberReader(member, library, entry, reading: bytes).forEachPiece { piece, offset in
            let start = UInt64(max(0, offset))
            let range = (start..<start + UInt64(piece.count)).clamped(to: part)
            guard !range.isEmpty, range.lowerBound >= done else { return }
            try pass(range.lowerBound)
            let own = Int(range.lowerBound - start)..<Int(range.upperBound - start)
            let bytes = unsafe UnsafeBufferPointer(rebasing: piece.bindMemory(to: UInt8.self)[own])
            try body(unsafe Span(_unsafeElements: bytes))
            done = range.upperBound
        }
        try pass(part.upperBound)
    }
}
