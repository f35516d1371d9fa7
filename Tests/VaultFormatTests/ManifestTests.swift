import Testing
import VaultTestSupport

@testable import VaultFormat

@Suite struct ManifestTests {
    private static let commitment = [UInt8](repeating: 0x5A, count: 32)

    private static func preamble(_ compression: Compression = .none) -> Preamble {
        Preamble(chunkSize: .standard, compression: compression, fileID: Array(0..<16), commitment: commitment)
    }

    /// Members by tag, then zeros up to `count`, or to a multiple of 512.
    private static func text(_ members: [(UInt16, [UInt8])], count: Int? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        for (tag, value) in members {
            bytes.append(bigEndian: tag)
            bytes.append(bigEndian: UInt32(value.count))
            bytes += value
        }
        bytes.pad(to: count ?? (bytes.count + 511) / 512 * 512)
        return bytes
    }

    private static let needed: [(UInt16, [UInt8])] = [(1, commitment), (2, [0, 0, 0, 0, 0, 0, 0, 3])]

    private static func code(_ bytes: [UInt8], _ compression: Compression = .none) -> VaultError.Code? {
        do {
            _ = try Manifest(parsing: bytes.span, preamble: preamble(compression))
            return nil
        } catch {
            return error.code
        }
    }

    private static func code(with members: (UInt16, [UInt8])...) -> VaultError.Code? {
        code(text(needed + members))
    }

    @Test func roundTrip() throws {
        var random = SeededRandom(seed: 4)
        for _ in 0..<300 {
            var metadata = Metadata()
            if random.below(2) == 0 {
                metadata.name = String(repeating: "n\u{e9}", count: 1 + random.below(80))
            }
            if random.below(2) == 0 { metadata.contentType = String(repeating: "a~", count: 1 + random.below(60)) }
            if random.below(2) == 0 {
                metadata.modified = Timestamp(
                    seconds: Int64(bitPattern: random.next()), nanoseconds: UInt32(random.below(1_000_000_000)))
            }
            if random.below(2) == 0 { metadata.permissions = UInt16(random.below(0o1000)) }
            let digest = random.below(2) == 0 ? random.bytes(32) : nil
            let isPacked = random.below(2) == 0
            let offsets = (0..<random.below(40)).map { _ in random.next() }
            let manifest = Manifest(
                plaintextLength: random.next() >> 1, digest: digest, metadata: metadata,
                packed: isPacked ? .init(streamLength: random.next() >> 1, indexOffsets: offsets) : nil)
            let bytes = manifest.encoded(commitment: Self.commitment)
            #expect(Manifest.isValidLength(bytes.count))
            #expect(try Manifest(parsing: bytes.span, preamble: Self.preamble(isPacked ? .deflate : .none)) == manifest)
            #expect(Self.code(bytes, isPacked ? .none : .deflate) == .manifestMalformed)
            #expect(
                Self.code(bytes + [UInt8](repeating: 0, count: 512), isPacked ? .deflate : .none) == .manifestMalformed)
        }
    }

    /// Spec, 17.3.
    @Test func example() {
        let manifest = Manifest(plaintextLength: 3, digest: [UInt8](repeating: 0xBA, count: 32), metadata: Metadata())
        let expected = "0001000000205a5a"
        let bytes = manifest.encoded(commitment: Self.commitment)
        #expect(bytes.hexDigits.hasPrefix(expected))
        #expect(bytes[38..<52].elementsEqual([0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3]))
        #expect(bytes[52..<58].elementsEqual([0, 5, 0, 0, 0, 32]))
        #expect(bytes.count == 512 && bytes[90...].allSatisfy { $0 == 0 })
    }

    @Test func requiredMembers() {
        #expect(Self.code(Self.text(Self.needed)) == nil)
        #expect(Self.code(Self.text([Self.needed[0]])) == .manifestMalformed)
        #expect(Self.code(Self.text([Self.needed[1]])) == .manifestMalformed)
        #expect(Self.code(Self.text([], count: 512)) == .manifestMalformed)
        #expect(Self.code([]) == .manifestMalformed)
        for place in 0..<32 {
            var other = Self.commitment
            other[place] ^= 1
            #expect(Self.code(Self.text([(1, other), Self.needed[1]])) == .manifestMalformed)
        }
        #expect(Self.code(Self.text([(1, Self.commitment.dropLast()), Self.needed[1]])) == .manifestMalformed)
        for length in [
            [], [1], [UInt8](repeating: 0, count: 7), [UInt8](repeating: 0, count: 9), [0x80, 0, 0, 0, 0, 0, 0, 0],
        ] {
            #expect(Self.code(Self.text([Self.needed[0], (2, length)])) == .manifestMalformed)
        }
        #expect(Self.code(Self.text([Self.needed[0], (2, [0x7F] + [UInt8](repeating: 0xFF, count: 7))])) == nil)
    }

    @Test func form() {
        // Wrong order and repetition.
        #expect(Self.code(Self.text(Self.needed.reversed())) == .manifestMalformed)
        #expect(Self.code(with: Self.needed[1]) == .manifestMalformed)
        #expect(Self.code(with: (0x8001, [0x61]), (5, Self.commitment)) == .manifestMalformed)
        // A value that reaches past the end, by one byte and by almost 2³².
        for length: [UInt8] in [[0, 0, 1, 0xC7], [0xFF, 0xFF, 0xFF, 0xFF]] {
            var bytes = Self.text(Self.needed)
            bytes.replaceSubrange(52..<58, with: [0x90, 0x00] + length)
            #expect(Self.code(bytes) == .manifestMalformed)
        }
        var exact = Self.text(Self.needed)
        exact.replaceSubrange(52..<58, with: [0x90, 0x00, 0, 0, 1, 0xC6])
        #expect(Self.code(exact) == nil)
        // Every byte after the members, and a whole block of zeros too many.
        for place in 52..<512 {
            var bytes = Self.text(Self.needed)
            bytes[place] = 1
            #expect(Self.code(bytes) != nil, "\(place)")
        }
        #expect(Self.code(Self.text(Self.needed, count: 1024)) == .manifestMalformed)
        // If fewer than 6 bytes are left, they are zeros too.
        var full = Self.text(Self.needed + [(0x9000, [UInt8](repeating: 1, count: 512 - 52 - 6 - 5))])
        #expect(full.count == 512 && Self.code(full) == nil)
        full[511] = 1
        #expect(Self.code(full) == .manifestMalformed)
    }

    @Test func unknownMembers() {
        for tag: UInt16 in [6, 7, 0x10, 0x7FFF] { #expect(Self.code(with: (tag, [])) == .unsupportedMember) }
        for tag: UInt16 in [0x8000, 0x8005, 0x8010, 0xFFFF] { #expect(Self.code(with: (tag, [1, 2, 3])) == nil) }
        // The form comes first, then unknown tags, then values.
        #expect(Self.code(with: (6, []), (6, [])) == .manifestMalformed)
        #expect(Self.code(with: (5, [1]), (6, [])) == .unsupportedMember)
        #expect(Self.code(Self.text([(6, [])])) == .unsupportedMember)
    }

    @Test func values() {
        for count in [0, 31, 33] {
            #expect(Self.code(with: (5, [UInt8](repeating: 0, count: count))) == .manifestMalformed)
        }
        for type: [UInt8] in [[], [0x1F], [0x7F], [0x80], [UInt8](repeating: 0x61, count: 128)] {
            #expect(Self.code(with: (0x8001, type)) == .manifestMalformed)
        }
        #expect(Self.code(with: (0x8001, [UInt8](repeating: 0x7E, count: 127))) == nil)
        let nanoseconds: [[UInt8]] = [[0x3B, 0x9A, 0xCA, 0x00], [0xFF, 0xFF, 0xFF, 0xFF]]
        for value in nanoseconds {
            #expect(Self.code(with: (0x8003, [UInt8](repeating: 0, count: 8) + value)) == .manifestMalformed)
        }
        for count in [0, 11, 13] {
            #expect(Self.code(with: (0x8003, [UInt8](repeating: 0, count: count))) == .manifestMalformed)
        }
        for mode: [UInt8] in [[], [1], [2, 0], [0x10, 0], [0, 1, 0]] {
            #expect(Self.code(with: (0x8004, mode)) == .manifestMalformed)
        }
        #expect(Self.code(with: (0x8004, [1, 0xFF])) == nil)
        #expect(Self.code(with: (3, [UInt8](repeating: 0, count: 8))) == .manifestMalformed)
        #expect(Self.code(with: (4, [])) == .manifestMalformed)
    }
}
