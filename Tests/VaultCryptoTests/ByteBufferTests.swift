import Testing
import VaultCrypto
import VaultTestSupport

@Suite struct ByteBufferTests {
    @Test("bytes stay while the buffer grows") func growing() throws {
        var buffer = ByteBuffer()
        #expect(buffer.isEmpty && buffer.count == 0)
        var expected: [UInt8] = []
        for round in 0..<200 {
            let more = randomBytes(round * 37 % 501, seed: UInt64(round))
            let old = buffer.count
            try buffer.reserve(old + more.count)
            buffer.setCount(old + more.count)
            buffer.replace(at: old, with: more.span)
            expected += more
        }
        #expect(buffer.withSpan { [UInt8](copying: $0) } == expected)
        #expect(buffer.withSpan(of: 100..<200) { [UInt8](copying: $0) } == Array(expected[100..<200]))
        #expect(buffer.copy(of: 5..<9) == Array(expected[5..<9]))
        buffer.withMutableSpan(of: 10..<12) { $0.replace(at: 0, with: [1, 2].span) }
        #expect(buffer.copy(of: 9..<13) == [expected[9], 1, 2, expected[12]])
        buffer.removeAll()
        #expect(buffer.isEmpty && buffer.copy(of: 0..<0).isEmpty)
    }

    @Test("a size that no system has is an error, and the bytes stay") func noMemory() throws {
        var empty = ByteBuffer()
        #expect(throws: MemoryUnavailable.self) { try empty.reserve(1 << 62) }
        var buffer = ByteBuffer()
        try buffer.reserve(3)
        buffer.setCount(3)
        buffer.replace(at: 0, with: [1, 2, 3].span)
        #expect(throws: MemoryUnavailable.self) { try buffer.reserve(1 << 62) }
        #expect(buffer.copy(of: 0..<3) == [1, 2, 3])
    }
}
