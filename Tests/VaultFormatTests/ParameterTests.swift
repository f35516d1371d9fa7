import Testing
import VaultFormat
import VaultTestSupport

@Suite struct ParameterTests {
    @Test func chunkSizes() {
        for log2 in 0..<63 { #expect((ChunkSize(bytes: 1 << log2)?.bytes == 1 << log2) == (12...23).contains(log2)) }
        for bytes in [.min, -4096, -1, 0, 1, 4095, 4097, 12288, 1 << 23 + 1, .max] {
            #expect(ChunkSize(bytes: bytes) == nil, "\(bytes)")
        }
        for log2 in UInt8.min...UInt8.max { #expect((ChunkSize(log2: log2) != nil) == (12...23).contains(log2)) }
        #expect(ChunkSize.minimum.bytes == 4096 && ChunkSize.standard.bytes == 65536)
        #expect(ChunkSize.maximum.bytes == 8 << 20)
    }

    @Test func capacities() {
        for log2 in 0..<63 { #expect((HeaderCapacity(bytes: 1 << log2) != nil) == (9...20).contains(log2)) }
        for bytes in [.min, -512, 0, 511, 513, 768, .max] { #expect(HeaderCapacity(bytes: bytes) == nil, "\(bytes)") }
        for count in [.min, 0, 1, 511, 512, 513, 4096, 4097, 1 << 20] {
            let capacity = HeaderCapacity(holding: count)
            let expected = (9...20).map { 1 << $0 }.first { $0 >= count }
            #expect(capacity?.bytes == expected)
        }
        #expect(HeaderCapacity(holding: 1 << 20 + 1) == nil)
        #expect(HeaderCapacity(holding: .max) == nil)
        #expect(HeaderCapacity.least < .separate && HeaderCapacity.least.alignment == 512)
        #expect(HeaderCapacity.capacity(1 << 20).alignment == 4096)
    }

    @Test func contexts() throws {
        #expect(try Context([]) == .none)
        #expect(try Context("é").bytes == [0xC3, 0xA9])
        #expect(try Context([UInt8](repeating: 0, count: 65_535)).bytes.count == 65_535)
        let error = #expect(throws: VaultError.self) { try Context([UInt8](repeating: 0, count: 65_536)) }
        #expect(error?.code == .badContext)
    }

    @Test func costs() {
        func writes(_ passes: UInt32, _ memory: UInt32) -> Bool {
            Argon2Parameters(passes: passes, memoryKiB: memory).isAllowedForWriting
        }
        #expect(Argon2Parameters.standard == Argon2Parameters(passes: 3, memoryKiB: 262_144))
        #expect(writes(2, 19_456) && writes(64, 19_456) && writes(2, 1 << 21))
        #expect(!writes(1, 19_456) && !writes(2, 19_455) && !writes(65, 19_456) && !writes(2, 1 << 21 + 1))
        #expect(
            Argon2Parameters(passes: .max, memoryKiB: .max).stretchingKiB == UInt64(UInt32.max) * UInt64(UInt32.max))
    }

    @Test func keyIDs() {
        let bytes = [UInt8](0..<16)
        #expect(KeyID(bytes: bytes)?.description == "000102030405060708090a0b0c0d0e0f")
        #expect(KeyID(hex: "000102030405060708090A0B0C0D0E0F") == KeyID(bytes: bytes))
        for text in [
            "", "00", String(repeating: "0", count: 31), String(repeating: "0", count: 33),
            "g" + String(repeating: "0", count: 31),
        ] {
            #expect(KeyID(hex: text) == nil)
        }
        // Digits of other scripts are not hexadecimal digits.
        #expect(KeyID(hex: String(repeating: "٠", count: 32)) == nil)
        #expect(KeyID(bytes: []) == nil && KeyID(bytes: bytes + [0]) == nil)
    }

    /// Compares the slots that a caller with limits may stretch for with the rule, word for word (Spec, SLOT-20).
    @Test func limits() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<500 {
            var limits = OpenLimits()
            limits.maximumPasses = UInt32(1 + random.below(4))
            limits.maximumMemoryKiB = UInt32(8 + random.below(40))
            limits.maximumPassphraseSlots = random.below(5)
            limits.maximumStretchingKiB = UInt64(random.below(200))
            var expected: Set<Int> = []
            var (count, sum) = (0, UInt64(0))
            let slots = (0..<6).map { index -> Slot in
                let isPassphrase = random.below(3) > 0
                let (passes, memory) = (UInt32(1 + random.below(5)), UInt32(8 + random.below(50)))
                var body: [UInt8] = []
                for value in [passes, memory, 1] { body.append(bigEndian: value) }
                body.pad(to: isPassphrase ? 84 : 72)
                if isPassphrase, passes <= limits.maximumPasses, memory <= limits.maximumMemoryKiB,
                    count + 1 <= limits.maximumPassphraseSlots,
                    sum + UInt64(passes) * UInt64(memory) <= limits.maximumStretchingKiB
                {
                    expected.insert(index)
                    count += 1
                    sum += UInt64(passes) * UInt64(memory)
                }
                let id = KeyID(unchecked: [UInt8](repeating: UInt8(index), count: 16)[...])
                return Slot(type: isPassphrase ? 2 : 1, keyID: id, body: body)
            }
            #expect(limits.slotsWithin(slots) == expected)
        }
    }
}
