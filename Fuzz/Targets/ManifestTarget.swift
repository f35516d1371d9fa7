import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A manifest that a holder of the key made, for a commitment of zeros. The first byte says whether the container is
/// packed.
enum ManifestTarget: FuzzTarget {
    static let name = "manifest"
    private static let commitment = [UInt8](repeating: 0, count: 32)

    static func run(_ input: [UInt8]) throws {
        // No reader opens a record of another length.
        guard let first = input.first, Manifest.isValidLength(input.count - 1) else { return }
        let bytes = [UInt8](input.dropFirst())
        let preamble = Preamble(
            chunkSize: .minimum, compression: first & 1 == 0 ? .none : .deflate,
            fileID: [UInt8](repeating: 0, count: 16), commitment: commitment)
        let manifest: Manifest
        do throws(VaultError) {
            manifest = try Manifest(parsing: bytes.span, preamble: preamble)
        } catch {
            return
        }
        try require(
            manifest.encoded(commitment: commitment) == bytes, "a manifest that was taken is written otherwise")
        try require((manifest.packed != nil) == (first & 1 == 1), "it says of packing what the header does not")
        try require(manifest.plaintextLength < 1 << 63 && manifest.streamLength < 1 << 63, "a length of 2^63")
        if let name = manifest.metadata.name {
            try require(
                !name.utf8.contains(0) && !name.utf8.contains(UInt8(ascii: "/")) && name != "..",
                "a name that leads elsewhere")
        }
        try checkGroups(manifest)
    }

    /// The groups of a packed stream follow each other and fill it.
    private static func checkGroups(_ manifest: Manifest) throws {
        guard let packed = manifest.packed else { return }
        let layout: PackedLayout
        do throws(VaultError) {
            layout = try PackedLayout(
                PackedStream(capacity: .least, chunkSize: .minimum), plaintextLength: manifest.plaintextLength,
                packed: packed)
        } catch {
            // PACK-14: the manifest's statements about the stream need not fit a stream.
            return try require(error.code == .packingMalformed, "\(error)")
        }
        var (place, blocks): (UInt64, UInt64) = (0, 0)
        for index in 0..<min(layout.groupCount, 64) {
            let group = layout.group(index)
            try require(
                group.start == place && group.blocks.lowerBound == blocks && group.indexOffset > place,
                "group \(index) does not follow the one before")
            place = group.indexOffset + UInt64(group.indexHead.itemCount)
            blocks = group.blocks.upperBound
        }
        guard layout.groupCount <= 64 else { return }
        try require(place == packed.streamLength && blocks == layout.blockCount, "the groups do not fill the stream")
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        var output = change(input, limit)
        // Pads the manifest, so that it is not refused for its length alone.
        if random.below(4) > 0, output.count > 1 {
            output.pad(to: min(max(output.count, 1 + (output.count + 510) / 512 * 512), limit))
        }
        return output
    }
}
