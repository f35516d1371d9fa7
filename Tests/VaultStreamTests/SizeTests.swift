import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// All sizes within two of the borders of chunks, written and read in pieces of many sizes, in memory.
@Suite(.bothEngines) struct SizeTests {
    private static func around(_ borders: [Int]) -> [Int] {
        Set(borders.flatMap { $0 - 2...$0 + 2 }).filter { $0 >= 0 }.sorted()
    }

    private func check(_ chunk: ChunkSize, _ size: Int, pieces: [Int]) throws {
        let plaintext = randomBytes(size, seed: UInt64(size))
        let options = SealOptions(chunk: chunk, digest: true)
        let container = try sealed(plaintext, options: options, randomness: .fixed(seed: 9))
        let capacity = HeaderCapacity.capacity(size < 65_536 ? 512 : 4096)
        let layout = try ContainerLayout(capacity: capacity, chunkSize: chunk, streamLength: UInt64(size))
        #expect(UInt64(container.count) == layout.containerLength(manifestLength: 512))
        for piece in pieces {
            let again = try sealed(plaintext, options: options, piece: piece, randomness: .fixed(seed: 9))
            #expect(again == container, "pieces of \(piece)")
            let reading = try read(container, by: .stream, piece: piece)
            #expect(reading.plaintext == plaintext && reading.health == .intact, "pieces of \(piece)")
        }
        for kind in [ReaderKind.ranges, .whole] {
            let reading = try read(container, by: kind)
            #expect(reading.plaintext == plaintext && reading.health == .intact)
        }
    }

    @Test(arguments: around([0, 4096, 2 * 4096, 3 * 4096])) func smallest(_ size: Int) throws {
        try check(.minimum, size, pieces: [1, 2, 4095, 4096, 4097, 2 * 4096 + 1, .max])
    }

    /// The sizes at which the writer chooses the size of the header.
    @Test(arguments: around([65_536, 65_536 + 4096])) func smallestAtTheThreshold(_ size: Int) throws {
        try check(.minimum, size, pieces: [4095, 4096, 65_535, 65_536, 65_537, .max])
    }

    @Test(arguments: around([0, 65_536, 2 * 65_536])) func standard(_ size: Int) throws {
        try check(.standard, size, pieces: [509, 4096, 65_535, 65_536, 65_537, .max])
    }

    @Test func standardByteByByte() throws {
        try check(.standard, 65_537, pieces: [1])
    }

    @Test(arguments: around([8 << 20])) func largest(_ size: Int) throws {
        try check(.maximum, size, pieces: [65_537, 8 << 20, .max])
    }

    @Test func manyLargest() throws {
        try check(.maximum, 16 << 20 + 1, pieces: [3 << 20])
    }

    /// Fewer bytes than the largest chunk has.
    @Test(arguments: around([0, 65_536])) func largestAlmostEmpty(_ size: Int) throws {
        try check(.maximum, size, pieces: [1000, .max])
    }
}
