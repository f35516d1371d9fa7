import Testing
import VaultFormat
import VaultTestSupport

@Suite struct ByteCodingTests {
    @Test func reader() {
        var reader = ByteReader(([9, 9] + Array(UInt8(1)...12))[2...])
        #expect(reader.remaining == 12)
        #expect(reader.integer(UInt8.self) == 0x01)
        #expect(reader.integer(UInt16.self) == 0x0203)
        #expect(reader.integer(UInt64.self) == 0x0405_0607_0809_0A0B)
        #expect(reader.integer(UInt16.self) == nil && reader.remaining == 1)
        #expect(reader.take(2) == nil && reader.take(-1) == nil && reader.take(.max) == nil)
        #expect(reader.take(1) == [12] && reader.take(0) == [] && reader.take(1) == nil)
    }

    @Test func integers() {
        var random = SeededRandom(seed: 6)
        for value in [0, 1, .max, 1 << 63] + (0..<50).map({ _ in random.next() }) {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: value)
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: value))
            bytes.append(bigEndian: UInt16(truncatingIfNeeded: value))
            #expect(bytes.count == 14)
            #expect(bytes[..<8].bigEndian() == value)
            #expect(bytes[8..<12].bigEndian() == UInt32(truncatingIfNeeded: value))
            #expect(bytes[12...].bigEndian() == UInt16(truncatingIfNeeded: value))
        }
    }

    @Test func hexadecimal() {
        let all = [UInt8](UInt8.min...UInt8.max)
        #expect([UInt8](hexadecimal: all.hexadecimal) == all)
        #expect([UInt8](hexadecimal: all.hexadecimal.uppercased()) == all)
        #expect(all.hexadecimal == all.hexDigits)
        for text in ["0", "0g", "g0", " 00", "0x00", "00 ", "é0"] {
            #expect([UInt8](hexadecimal: text) == nil, "\(text)")
        }
        #expect([UInt8](hexadecimal: "") == [])
    }

    @Test func recordHeads() {
        for length in [0, 1, 255, 256, 65_535, 65_536, 1 << 24 - 1] {
            for kind in [RecordHead.Kind.data, .manifest] {
                let head = RecordHead(kind: kind, length: length)
                let bytes = [head.bytes.0, head.bytes.1, head.bytes.2, head.bytes.3]
                #expect(RecordHead(parsing: bytes[...]) == head)
                #expect(bytes == [kind.rawValue, UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255)])
            }
        }
        for type in UInt8.min...UInt8.max {
            #expect((RecordHead(parsing: [type, 0, 0, 1]) != nil) == (type == 1 || type == 2))
        }
        #expect(RecordHead(parsing: [1, 0, 0]) == nil && RecordHead(parsing: [1, 0, 0, 1, 0]) == nil)
    }
}
