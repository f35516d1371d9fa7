import Synchronization
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream

/// The keys of an item that is open for reading.
final class ItemKeys: Revocable {
    private enum Content: Sendable {
        /// Its manifest is not read yet.
        case opening(ContainerOpening)
        /// Its records are opened one by one.
        case records(RecordOpener, ContainerLayout)
        /// Another program has compressed it.
        case packed(SeekableVaultReader)
        case revoked
        case ended
    }

    let protection: ItemProtection
    private let content: Mutex<Content>

    init(_ opening: ContainerOpening, _ protection: ItemProtection) {
        self.protection = protection
        content = Mutex(.opening(opening))
    }

    func revoke() { content.withLock { $0 = .revoked } }

    /// Drops the keys, because the reading is over.
    func end() { content.withLock { $0 = .ended } }

    private func error(_ content: Content) -> any Error {
        if case .ended = content { return VaultError(.invalidArgument, "the reader of the item has ended") }
        return StoreError.locked(protection)
    }

    /// Where the end of the container begins, which holds the manifest, and how long it is.
    func placeOfEnd() throws -> (offset: UInt64, count: Int) {
        try content.withLock { content in
            guard case .opening(let opening) = content else { throw error(content) }
            return (opening.layout.manifestOffset, opening.endCount)
        }
    }

    /// Opens the manifest, and keeps only what reading needs.
    func open(end: consuming [UInt8], of source: any ByteSource) throws -> Manifest {
        let end: [UInt8] = end
        return try content.withLock { content in
            guard case .opening(let opening) = content else { throw error(content) }
            let (manifest, packing) = try opening.manifest(end: end, limits: .standard)
            content =
                packing == nil
                ? .records(opening.opener, opening.layout)
                : .packed(SeekableVaultReader(source, SeekableOpening(opening, manifest, packing)))
            return manifest
        }
    }

    /// The bytes that are decrypted while `revoke` waits. A larger chunk, of at most 8 MiB, is decrypted as a whole.
    private static let pieceBytes: UInt64 = 512 << 10

    /// Lends a range, piece by piece. While the disk is read and `sink` runs, the keys are not held.
    func read(_ range: Range<UInt64>, of source: any ByteSource, to sink: (Span<UInt8>) throws -> Void) throws {
        var start = range.lowerBound
        // An empty range is also refused by a reader that has ended.
        guard !range.isEmpty else { return _ = try layoutIfUnpacked() }
        while start < range.upperBound {
            guard let layout = try layoutIfUnpacked() else {
                let piece = start..<min(start + Self.pieceBytes, range.upperBound)
                var bytes = try packedBytes(piece)
                defer { Self.wipe(&bytes) }
                try sink(bytes.span)
                start = piece.upperBound
                continue
            }
            let chunk = UInt64(layout.chunkSize.bytes)
            let end = (start / chunk + max(1, Self.pieceBytes / chunk)) * chunk
            let piece = start..<min(end, range.upperBound)
            try readRecords(piece, layout, of: source, to: sink)
            start = piece.upperBound
        }
    }

    /// Overwrites what was decrypted: a token that was read into guarded memory must not stay in memory that is freed.
    private static func wipe(_ bytes: inout [UInt8]) {
        for index in bytes.indices { bytes[index] = 0 }
    }

    private func layoutIfUnpacked() throws -> ContainerLayout? {
        try content.withLock { content in
            switch content {
            case .records(_, let layout): layout
            case .packed: nil
            default: throw error(content)
            }
        }
    }

    /// The disk is read while the keys are held: the index and the items of a packed stream are read by turns.
    private func packedBytes(_ range: Range<UInt64>) throws -> [UInt8] {
        try content.withLock { content in
            guard case .packed(let reader) = content else { throw error(content) }
            return try reader.bytes(range)
        }
    }

    private func readRecords(
        _ range: Range<UInt64>, _ layout: ContainerLayout, of source: any ByteSource,
        to sink: (Span<UInt8>) throws -> Void
    ) throws {
        let places = layout.records(covering: range).map { layout.place(ofRecord: $0) }
        guard let first = places.first, let last = places.last else { return }
        let count = Int(last.end - first.offset)
        var bytes = try source.bytes(at: first.offset, count: count)
        defer { Self.wipe(&bytes) }
        guard bytes.count == count else {
            throw VaultError(.truncated, "the file has become shorter", offset: first.offset)
        }
        try content.withLock { content in
            guard case .records(let opener, _) = content else { throw error(content) }
            for place in places {
                let part = Int(place.offset - first.offset)..<Int(place.end - first.offset)
                try bytes.withMutableSpan(of: part) { record throws(VaultError) in try opener.open(&record, at: place) }
            }
        }
        for place in places {
            // `sink` may lock the store, and then gets no more.
            _ = try layoutIfUnpacked()
            let wanted = range.clamped(to: place.text)
            let record = Int(place.offset - first.offset) + RecordHead.count
            let from = record + Int(wanted.lowerBound - place.text.lowerBound)
            try sink(bytes.span.extracting(from..<from + wanted.count))
        }
    }
}
