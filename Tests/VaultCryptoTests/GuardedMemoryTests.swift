import Testing
import VaultCrypto
import VaultTestSupport

@Suite struct GuardedMemoryTests {
    @Test func beginsAsZerosAndIsWritten() throws {
        var buffer = try GuardedBuffer(count: 5000)
        #expect(buffer.withBytes { [UInt8](copying: $0) } == [UInt8](repeating: 0, count: 5000))
        buffer.withMutableBytes { bytes in
            for index in 0..<5000 { bytes[index] = UInt8(index % 251) }
        }
        #expect(buffer.withBytes { [UInt8](copying: $0) } == (0..<5000).map { UInt8($0 % 251) })
        let frozen = SecretBytes(buffer)
        #expect(frozen.count == 5000)
        #expect(frozen.withBytes { [UInt8](copying: $0) } == (0..<5000).map { UInt8($0 % 251) })
    }

    @Test(arguments: [0, 1, 32, 4096, 100_000]) func copies(_ count: Int) throws {
        let bytes = randomBytes(count, seed: 1)
        let kept = try SecretBytes(copying: bytes.span)
        #expect(kept.count == count)
        #expect(kept.withBytes { [UInt8](copying: $0) } == bytes)
    }

    /// The memory of a former key holds zeros for the next one, and can be written again.
    @Test func memoryOfKeysIsUsedAgain() throws {
        let bytes = [UInt8](repeating: 0xA5, count: 32)
        for _ in 0..<3 {
            let kept = try (0..<80).map { _ in try SecretBytes(copying: bytes.span) }
            #expect(kept.allSatisfy { $0.withBytes { [UInt8](copying: $0) } == bytes })
        }
        for _ in 0..<80 {
            var next = try GuardedBuffer(count: 32)
            #expect(next.withBytes { [UInt8](copying: $0) } == [UInt8](repeating: 0, count: 32))
            next.withMutableBytes { for index in 0..<32 { $0[index] = 0x5A } }
            #expect(next.withBytes { [UInt8](copying: $0) } == [UInt8](repeating: 0x5A, count: 32))
        }
    }

    @Test func equality() {
        let bytes = Array(UInt8(0)..<32)
        let isSame = constantTimeEqual(bytes.span, bytes.span)
        #expect(isSame)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            let isEqual = constantTimeEqual(bytes.span, other.span)
            #expect(!isEqual)
        }
        let longer = bytes + [0]
        let isLonger = constantTimeEqual(bytes.span, longer.span)
        #expect(!isLonger)
        let none: [UInt8] = []
        let areEqual = constantTimeEqual(none.span, none.span)
        #expect(areEqual)
    }

    /// Two generated keys are equal once in 2²⁵⁶ runs.
    @Test func randomBytesDiffer() throws {
        let keys = try (0..<8).map { _ in try SecretBytes(randomCount: 32).withBytes { [UInt8](copying: $0) } }
        #expect(Set(keys).count == 8)
        #expect(RandomBytes.array(count: 16) != RandomBytes.array(count: 16))
        #expect(RandomBytes.array(count: 0).isEmpty)
        // A bit that never changes would show here, except once in 2⁶⁰ runs.
        let draws = (0..<64).map { _ in RandomBytes.array(count: 48) }
        for place in 0..<48 {
            #expect(draws.reduce(0) { $0 | $1[place] } == 0xFF)
            #expect(draws.reduce(0xFF) { $0 & $1[place] } == 0)
        }
    }

    /// A size that no system has is an error.
    @Test func noMemory() {
        #expect(throws: MemoryUnavailable.self) { try SecretBytes(GuardedBuffer(count: 1 << 62)) }
    }

    @Test func printingShowsNothing() {
        let bytes = (0..<32).map { UInt8(0xC0 + $0) }
        let kept = secret(bytes)
        #expect(traces(of: bytes, in: everythingPrinted(kept)).isEmpty)
    }
}
