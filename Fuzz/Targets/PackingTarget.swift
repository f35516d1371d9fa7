import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A packed stream that a holder of the key made, in a container that is otherwise right. The first byte chooses the
/// chunk size, and whether the manifest is true of the stream.
enum PackingTarget: FuzzTarget {
    static let name = "packing"

    /// The parts that never change.
    private static let maker: (forges: [Forge], fronts: [[UInt8]], head: [UInt8]) = {
        do {
            let fileKey = randomBytes(32, seed: 61)
            let forges = try [12, 13].compactMap { ChunkSize(log2: $0) }.map {
                try Forge(
                    fileKey: fileKey, fileID: randomBytes(16, seed: 60), chunkSize: $0, compression: .deflate)
            }
            let key = [UInt8](repeating: 1, count: 32).hexDigits
            let head = [UInt8]("key: \(key)\nfile-key: \(fileKey.hexDigits)\n\n".utf8)
            return (forges, try forges.map { $0.header([try $0.slot(testKey(1))]) }, head)
        } catch {
            fatalError("\(error)")
        }
    }()

    static func run(_ input: [UInt8]) throws {
        guard let first = input.first else { return }
        let stream = [UInt8](input.dropFirst())
        let packed = PackedItems(reading: stream)
        let (forge, front) = (maker.forges[Int(first & 1)], maker.fronts[Int(first & 1)])
        var (length, streamLength, offsets) = (packed.plaintextLength, UInt64(stream.count), packed.indexOffsets)
        if first & 0x40 != 0 { length &+= UInt64(first & 0x3E) << 5 }
        if first & 0x80 != 0 { streamLength += 1 }
        if first & 0xC0 == 0xC0 { offsets = offsets.map { $0 + 1 } + [0] }
        let container = forge.container(
            packed: stream, plaintextLength: length, streamLength: streamLength, indexOffsets: offsets, front: front)
        let whole = maker.head + container
        try OpenTarget.run(whole)
        try SeekTarget.run(whole)
        try RecoverTarget.run(whole)
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        guard let first = input.first, random.below(6) > 0, limit > 10 else { return change(input, limit) }
        let byte = random.below(10) == 0 ? UInt8(random.below(256)) : first
        let stream = ContainerMutation.mutate(
            items: [UInt8](input.dropFirst()), &random, change: change, chunk: 4096 << Int(first & 1))
        return [UInt8](([byte] + stream).prefix(limit))
    }
}
