import Testing
import VaultFormat
import VaultTestSupport

/// Compares the geometry with a walk that adds up the records one by one, as the Spec describes it.
@Suite struct LayoutTests {
    struct Walk {
        var offsets: [UInt64] = []
        var lengths: [Int] = []
        var manifest: UInt64
        var tail: UInt64
        var total: UInt64

        init(capacity: Int, chunk: Int, stream: Int, manifestLength: Int) {
            var place = UInt64(capacity)
            var left = stream
            while left > 0 {
                let length = min(chunk, left)
                offsets.append(place)
                lengths.append(length)
                place += UInt64(4 + length + 16)
                left -= length
            }
            manifest = place
            tail = manifest + 4 + UInt64(manifestLength) + 16
            while !tail.isMultiple(of: UInt64(min(capacity, 4096))) { tail += 1 }
            total = tail + UInt64(capacity) + 32
        }
    }

    @Test func againstAWalk() throws {
        var random = SeededRandom(seed: 1)
        for round in 0..<1500 {
            let capacity = HeaderCapacity.capacity(1 << (9 + random.below(12)))
            let log2 = 12 + random.below(12)
            let chunk = try #require(ChunkSize(bytes: 1 << log2))
            let border = random.below(20) << log2
            let stream = max(0, [border, border + random.below(5) - 2, random.below(20 << log2)][random.below(3)])
            let manifestLength = 512 * (1 + random.below(2048))
            let walk = Walk(
                capacity: capacity.bytes, chunk: chunk.bytes, stream: stream, manifestLength: manifestLength)
            let layout = try ContainerLayout(capacity: capacity, chunkSize: chunk, streamLength: UInt64(stream))

            let about: Comment = "round \(round): \(capacity.bytes), \(chunk.bytes), \(stream), \(manifestLength)"
            #expect(layout.recordCount == UInt64(walk.offsets.count), about)
            for (index, offset) in walk.offsets.enumerated() {
                #expect(layout.offset(ofRecord: UInt64(index)) == offset, about)
                #expect(layout.length(ofRecord: UInt64(index)) == walk.lengths[index], about)
                let start = UInt64(index * chunk.bytes)
                #expect(layout.streamRange(ofRecord: UInt64(index)) == start..<start + UInt64(walk.lengths[index]))
            }
            #expect(layout.manifestOffset == walk.manifest, about)
            #expect(layout.offset(ofRecord: layout.recordCount) == walk.manifest, about)
            #expect(layout.manifestEnd(manifestLength: manifestLength) == walk.manifest + UInt64(manifestLength) + 20)
            #expect(layout.tailOffset(manifestLength: manifestLength) == walk.tail, about)
            #expect(layout.containerLength(manifestLength: manifestLength) == walk.total, about)

            let footer = layout.footer(manifestLength: manifestLength)
            #expect(footer.tailOffset == walk.tail, about)
            #expect(try Footer(parsing: footer.bytes, fileSize: walk.total) == footer, about)
            let back = ContainerLayout(capacity: capacity, chunkSize: chunk, manifestOffset: walk.manifest)
            #expect(back == layout, about)
        }
    }

    /// Every offset of a manifest: exactly those to which a stream leads are accepted.
    @Test func fromEveryManifestOffset() throws {
        var lengths: [UInt64: UInt64] = [:]
        for stream in 0...UInt64(3 * 4096) {
            let layout = try ContainerLayout(capacity: .least, chunkSize: .minimum, streamLength: stream)
            #expect(lengths.updateValue(stream, forKey: layout.manifestOffset) == nil)
        }
        for offset in UInt64(0)..<3 * 4116 + 512 {
            let layout = ContainerLayout(capacity: .least, chunkSize: .minimum, manifestOffset: offset)
            #expect(layout?.streamLength == lengths[offset], "\(offset)")
        }
    }

    @Test func recordsOfARange() throws {
        let layout = try ContainerLayout(capacity: .least, chunkSize: .minimum, streamLength: 3 * 4096 + 7)
        var random = SeededRandom(seed: 2)
        let borders: [UInt64] = [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 12287, 12288, 12289, 12294, 12295]
        for _ in 0..<2000 {
            let (a, b) = (random.pick(borders), random.pick(borders))
            let range = min(a, b)..<max(a, b)
            let expected = (UInt64(0)..<4).filter { layout.streamRange(ofRecord: $0).overlaps(range) }
            #expect(Array(layout.records(covering: range)) == expected, "\(range)")
        }
    }

    /// The longest streams, 2²² bytes below 2⁶³ to leave room for everything but records, and the first ones that are
    /// too long.
    @Test(arguments: [12, 16, 23]) func largest(_ log2: Int) throws {
        let chunk = try #require(ChunkSize(bytes: 1 << log2))
        let (limit, room): (UInt64, UInt64) = (1 << 63, 1 << 22)
        func total(_ stream: UInt64) -> UInt64 {
            let records = stream / UInt64(chunk.bytes) + (stream.isMultiple(of: UInt64(chunk.bytes)) ? 0 : 1)
            return stream + 20 * records
        }
        var (fits, fails): (UInt64, UInt64) = (0, limit)
        while fails - fits > 1 {
            let middle = fits + (fails - fits) / 2
            if total(middle) < limit - room { fits = middle } else { fails = middle }
        }
        let wide = HeaderCapacity.capacity(1 << 20)
        let layout = try ContainerLayout(capacity: wide, chunkSize: chunk, streamLength: fits)
        #expect(layout.manifestOffset == 1 << 20 + total(fits))
        let length = layout.containerLength(manifestLength: 1 << 20)
        #expect(length < limit && length > limit - room)
        #expect(layout.streamRange(ofRecord: layout.recordCount - 1).upperBound == fits)
        #expect(layout.records(covering: 0..<fits) == 0..<layout.recordCount)
        let footer = layout.footer(manifestLength: 1 << 20)
        #expect(try Footer(parsing: footer.bytes, fileSize: length) == footer)
        for tooLong in [fails, fails + 1, limit - 1, limit, limit + 1, .max - 1, .max] {
            let error = #expect(throws: VaultError.self) {
                try ContainerLayout(capacity: .least, chunkSize: chunk, streamLength: tooLong)
            }
            #expect(error?.code == .tooLarge)
        }
        for offset in [limit, limit + 1, .max] {
            #expect(ContainerLayout(capacity: .least, chunkSize: chunk, manifestOffset: offset) == nil)
        }
    }

    /// No real stream has so many blocks. A manifest that claims so many is refused for their number (PACK-14).
    @Test(arguments: [1 << 32, 1 << 32 + 1] as [UInt64]) func blocksOfAPackedStream(_ count: UInt64) throws {
        let (group, least) = (PackedStream.groupCount, UInt64(ItemHead.count + 1))
        var (offsets, end): ([UInt64], UInt64) = ([], 0)
        for first in stride(from: 0, to: count, by: Int(group)) {
            let blocks = min(group, count - first)
            offsets.append(end + blocks * least)
            end = offsets[offsets.count - 1] + UInt64(ItemHead.count) + 3 * blocks
        }
        let code: VaultError.Code?
        do {
            let layout = try PackedLayout(
                PackedStream(capacity: .least, chunkSize: .minimum), plaintextLength: count * 4096,
                packed: Manifest.Packed(streamLength: end, indexOffsets: offsets))
            #expect(layout.blockCount == count)
            code = nil
        } catch {
            code = error.code
        }
        #expect(code == (count > 1 << 32 ? .packingMalformed : nil))
    }
}
