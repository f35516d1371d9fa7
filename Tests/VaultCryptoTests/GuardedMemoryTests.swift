import Testing
import VaultTestSupport

@testable import VaultCrypto

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

    /// Small secrets share pages. None may change a neighbour, whatever their sizes and the order of their ends.
    @Test(arguments: [0, 1, 31, 32, 33, 255, 256, 257, 4096, 5112, 5113]) func neighbours(_ count: Int) throws {
        func pattern(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 251 + 1), count: count) }
        var kept: [Int: SecretBytes] = [:]
        for number in 0..<300 {
            kept[number] = try SecretBytes(copying: pattern(number).span)
            if number % 3 == 1 { kept[number - 1] = nil }
            if number % 7 == 6 { kept[number - 4] = nil }
        }
        for (number, secret) in kept {
            #expect(secret.withBytes { [UInt8](copying: $0) } == pattern(number))
        }
        #expect(kept.count > 100)
    }

    /// Pages of their own, for what a program keeps.
    @Test(arguments: [0, 1, 32, 5000]) func frozen(_ count: Int) throws {
        let bytes = randomBytes(count, seed: 3)
        let frozen = try SecretBytes(copying: bytes.span).frozen()
        #expect(frozen.count == count && frozen.withBytes { [UInt8](copying: $0) } == bytes)
    }

    /// Several threads take and give back slots of the same pages.
    @Test func threads() async throws {
        let isRight = try await withThrowingTaskGroup(of: Bool.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    var isRight = true
                    for round in 0..<300 {
                        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ thread &* 64 &+ round) }
                        let kept = try (0..<10).map { _ in try SecretBytes(copying: bytes.span) }
                        isRight = isRight && kept.allSatisfy { $0.withBytes { [UInt8](copying: $0) } == bytes }
                        let zeros = try GuardedBuffer(count: 32)
                        isRight = isRight && zeros.withBytes { [UInt8](copying: $0) }.allSatisfy { $0 == 0 }
                    }
                    return isRight
                }
            }
            return try await group.reduce(true) { $0 && $1 }
        }
        #expect(isRight)
    }

    /// Pages that hold nothing any more are given back, and slots are used again.
    @Test func givesPagesBack() throws {
        let pool = SecretPool(slotSize: 64, pages: 1)
        for _ in 0..<3 {
            var kept: [Slot] = []
            for _ in 0..<1000 { kept.append(unsafe Slot(try pool.take())) }
            let most = pool.slabCount
            #expect((1000 * 64 / 65536...1000 * 64 / 4000 + 1).contains(most))
            // In another order than they were taken in.
            for slot in kept.filter({ $0.number % 2 == 0 }) { slot.giveBack() }
            #expect(pool.slabCount == most)
            for slot in kept.filter({ $0.number % 2 == 1 }) { slot.giveBack() }
            #expect(pool.slabCount == 1)
        }
    }

    /// A slot that a test has taken.
    @safe private struct Slot {
        let slab: SecretSlab
        let start: UnsafeMutablePointer<UInt8>
        let number: Int

        init(_ taken: (SecretSlab, UnsafeMutablePointer<UInt8>)) {
            unsafe (slab, start) = taken
            number = unsafe Int(bitPattern: start) / 64
        }

        func giveBack() { unsafe slab.pool.give(start, of: slab) }
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
