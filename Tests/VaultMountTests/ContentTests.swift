import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultMount

/// Reading at any place, and the memory that this takes.
@Suite struct ContentTests {
    private func content(_ options: SealOptions, _ count: Int = 3_000_000) throws -> ([UInt8], OpenContainer) {
        let folder = try TemporaryFolder()
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 251 &* 31 &+ $0) }
        try folder.seal(bytes, to: "a.vault", options: options)
        return (bytes, try folder.container("a.vault"))
    }

    @Test(
        "any range of any container is right",
        arguments: [
            SealOptions(chunk: .minimum), SealOptions(),
            SealOptions(chunk: ChunkSize(bytes: 1 << 20) ?? .standard),
            SealOptions(chunk: .standard, compression: .deflate),
        ])
    func ranges(_ options: SealOptions) throws {
        let (bytes, container) = try content(options)
        let all = ContentRange(container, 0..<UInt64(bytes.count))
        // In order, as the kernel reads ahead.
        for start in stride(from: 0, to: bytes.count, by: 131_072) {
            let end = min(bytes.count, start + 131_072)
            #expect(try all.bytes(at: UInt64(start), count: 131_072) == Array(bytes[start..<end]))
        }
        var random = SeededRandom(seed: 5)
        for _ in 0..<50 {
            let start = Int.random(in: 0..<bytes.count, using: &random)
            let count = Int.random(in: 1...200_000, using: &random)
            let end = min(bytes.count, start + count)
            #expect(try all.bytes(at: UInt64(start), count: count) == Array(bytes[start..<end]))
        }
        // A part of it, as a member of a tar is.
        let part = ContentRange(container, 1000..<1_000_000)
        #expect(try part.bytes(at: 999_000 - 10, count: 100) == Array(bytes[999_990..<1_000_000]))
        #expect(try part.bytes(at: 999_000, count: 100) == [])
        #expect(try part.bytes(at: .max, count: 100) == [])
        #expect(try part.bytes(at: 5, count: 0) == [])
    }

    @Test("damage in a block loses no more than its record") func damage() throws {
        let folder = try TemporaryFolder()
        // Larger than what the kernel asks for, so blocks of several records are kept.
        let options = SealOptions(chunk: ChunkSize(bytes: 1 << 18) ?? .standard)
        let bytes = [UInt8](repeating: 5, count: 1 << 20)
        var container = try sealed(bytes, options: options)
        container[container.count * 3 / 8] ^= 1
        try folder.write(container, to: "a.vault")
        let opened = try folder.container("a.vault")
        let all = ContentRange(opened, 0..<UInt64(bytes.count))
        #expect(try all.bytes(at: 0, count: 1 << 18).count == 1 << 18)
        #expect(number { _ = try all.bytes(at: 1 << 18, count: 4096) } == .ioError)
        #expect(try all.bytes(at: 1 << 19, count: 4096).count == 4096)
    }

    @Test("the cache keeps to its limit, and loads a block once") func cache() async throws {
        let cache = PlaintextCache(limit: 100_000)
        let loads = Counter()
        try await withThrowingTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    for block in 0..<4 {
                        let bytes = try cache.bytes(PlaintextCache.Key(container: 1, block: UInt64(block))) {
                            loads.add()
                            return [UInt8](repeating: UInt8(block), count: 20_000)
                        }
                        #expect(bytes == [UInt8](repeating: UInt8(block), count: 20_000))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(loads.count == 4)
        for block in 0..<100 {
            _ = try cache.bytes(PlaintextCache.Key(container: 2, block: UInt64(block))) { [1] }
            #expect(cache.size <= 100_000)
        }
        // A block that is larger than all of it stays alone.
        _ = try cache.bytes(PlaintextCache.Key(container: 3, block: 0)) { [UInt8](repeating: 1, count: 200_000) }
        #expect(cache.size == 204_096)
        _ = try cache.bytes(PlaintextCache.Key(container: 3, block: 1)) { [1] }
        #expect(cache.size == 4097)
    }

    @Test("a block that cannot be loaded is tried again") func failedLoad() throws {
        let cache = PlaintextCache()
        let key = PlaintextCache.Key(container: 1, block: 1)
        #expect(throws: Errno.ioError) { try cache.bytes(key) { throw Errno.ioError } }
        #expect(try cache.bytes(key) { [3] } == [3])
    }

    @Test("what was used last stays") func recentlyUsed() {
        var values = RecentlyUsed<Int, Int>(limit: 4)
        for key in 0..<4 { values[key] = key }
        #expect(values[0] == 0)
        values[4] = 4
        #expect(values.count <= 4 && values[0] == 0 && values[4] == 4 && values[1] == nil)
        values[4] = nil
        #expect(values[4] == nil)
    }

    @Test(
        "errors become the numbers that programs know",
        arguments: [
            (VaultError.Code.wrongKey, Errno.permissionDenied), (.badContext, .permissionDenied),
            (.recordDamaged, .ioError), (.truncated, .ioError), (.notVaultfile, .ioError), (.indexMismatch, .ioError),
            (.unsupportedVersion, .notSupported), (.memoryUnavailable, .noMemory), (.inputFailed, .ioError),
        ])
    func numbers(_ code: VaultError.Code, _ expected: Errno) {
        #expect(errorNumber(for: VaultError(code, "")) == expected)
    }
}
