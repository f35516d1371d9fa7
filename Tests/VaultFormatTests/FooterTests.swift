import Testing
import VaultFormat
import VaultTestSupport

@Suite struct FooterTests {
    private func bytes(_ m: UInt64, _ length: UInt64, _ c: UInt32, _ manifest: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: m)
        bytes.append(bigEndian: length)
        bytes.append(bigEndian: c)
        bytes.append(bigEndian: manifest)
        return bytes + Preamble.magic.reversed()
    }

    private func parse(_ bytes: [UInt8], fileSize: UInt64) -> Footer? {
        try? Footer(parsing: bytes, fileSize: fileSize)
    }

    /// Spec, 17.3.
    @Test func example() throws {
        let footer = try Footer(parsing: bytes(535, 2080, 512, 512), fileSize: 2080)
        #expect(footer.manifestOffset == 535 && footer.tailOffset == 1536 && footer.manifestLength == 512)
        #expect(footer.bytes.hexDigits == "00000000000002170000000000000820" + "00000200000002000a1a0a0d544c5689")
    }

    @Test func lengths() {
        #expect(parse(bytes(535, 2080, 512, 512), fileSize: 2079) == nil)
        #expect(parse(bytes(535, 2080, 512, 512), fileSize: 2081) == nil)
        #expect(parse(bytes(535, 2081, 512, 512), fileSize: 2081) == nil)
        #expect(parse([UInt8](bytes(535, 2080, 512, 512).dropFirst()), fileSize: 2080) == nil)
        #expect(parse([0] + bytes(535, 2080, 512, 512), fileSize: 2080) == nil)
        #expect(parse([], fileSize: 2080) == nil)
    }

    @Test func fields() {
        for capacity: UInt32 in [0, 1, 256, 511, 513, 768, 1 << 21, 1 << 31, .max] {
            #expect(parse(bytes(535, 2080, capacity, 512), fileSize: 2080) == nil, "\(capacity)")
        }
        for manifest: UInt32 in [0, 1, 511, 513, 1 << 20 + 512, 1 << 31, .max] {
            #expect(parse(bytes(535, 2080, 512, manifest), fileSize: 2080) == nil, "\(manifest)")
        }
        for offset: UInt64 in [0, 511, 2080, 2081, 1 << 62, 1 << 63 - 1, 1 << 63, .max - 2000, .max] {
            #expect(parse(bytes(offset, 2080, 512, 512), fileSize: 2080) == nil, "\(offset)")
        }
    }

    /// Whatever size a source claims, no arithmetic overflows.
    @Test func hugeFiles() {
        let sizes: [UInt64] = [1 << 63 - 1, 1 << 63, 1 << 63 + 4096, .max - 1, .max]
        for size in sizes {
            for offset: UInt64 in [512, 1 << 62, 1 << 63 - 1, 1 << 63, .max] {
                for length in sizes + [0, 2080] {
                    if let footer = parse(bytes(offset, length, 1 << 20, 1 << 20), fileSize: size) {
                        #expect(footer.tailOffset < size && footer.manifestOffset < 1 << 63)
                    }
                }
            }
        }
    }

    @Test func names() {
        let error = #expect(throws: VaultError.self) { try Footer(parsing: bytes(535, 2080, 3, 512), fileSize: 2080) }
        #expect(error?.code == .footerDamaged)
        #expect(Footer.hasEndMagic(bytes(0, 0, 0, 0)))
        #expect(!Footer.hasEndMagic([UInt8](repeating: 0, count: 32)))
    }
}
