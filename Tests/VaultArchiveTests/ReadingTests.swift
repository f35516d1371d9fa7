import Synchronization
import Testing
import VaultTar
import VaultTestSupport

@testable import VaultArchive

/// Reading ahead, links that stay inside, and walks over damage.
@Suite struct ReadingTests {
    @Test("reading in order takes ever larger pieces, reading elsewhere a small one, and no byte is wrong")
    func window()
        throws
    {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let reads = Mutex<[Range<UInt64>]>([])
        let window = StreamWindow(length: UInt64(bytes.count)) { range in
            reads.withLock { $0.append(range) }
            return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        for offset in stride(from: 0, to: bytes.count, by: 512) {
            let expected = Array(bytes[offset..<min(bytes.count, offset + 512)])
            #expect(try window.bytes(at: UInt64(offset), count: 512) == expected)
        }
        let inOrder = reads.withLock { exchange(&$0, with: []) }
        #expect(inOrder.count < 10 && inOrder.map(\.count).max() ?? 0 <= 1 << 20)
        #expect(try window.bytes(at: 100, count: 3) == Array(bytes[100..<103]))
        #expect(reads.withLock { $0.last.map(\.count) ?? 0 } <= 1 << 16)
        #expect(try window.bytes(at: 5_000_000, count: 3) == [])
        #expect(try window.bytes(at: UInt64.max, count: 3) == [])
    }

    @Test("bytes that were not asked for may be damaged") func damageAhead() throws {
        struct Damage: Error {}
        let window = StreamWindow(length: 100_000) { range in
            guard range.upperBound <= 1000 else { throw Damage() }
            return [UInt8](repeating: 1, count: range.count)
        }
        #expect(try window.bytes(at: 0, count: 1000).count == 1000)
        #expect(throws: Damage.self) { try window.bytes(at: 500, count: 501) }
        #expect(try window.bytes(at: 500, count: 500).count == 500)
    }

    @Test(
        arguments: [
            ("a", 0, true), ("../a", 1, true), ("../a", 0, false), ("../../a", 1, false), ("/a", 9, false),
            ("", 3, false),
            ("a/../b", 5, false), (".", 0, true), ("./../a", 1, true), ("a/..", 3, false), ("..", 1, true),
            ("..", 0, false),
            ("a/b/c", 0, true), ("a//b", 0, true), ("..a", 0, true),
        ] as [(String, Int, Bool)])
    func links(_ target: String, _ depth: Int, _ stays: Bool) {
        #expect(Unpacker.staysInside(Array(target.utf8), depth: depth) == stays)
    }
}
