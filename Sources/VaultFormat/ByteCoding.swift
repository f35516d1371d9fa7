/// Reads values from the front of untrusted bytes. Every step returns nil if too few bytes are left.
package struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    package private(set) var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        self.position = bytes.startIndex
    }

    package var remaining: Int { bytes.endIndex - position }

    package mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= remaining else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    package mutating func integer<T: FixedWidthInteger & UnsignedInteger>(_ type: T.Type = T.self) -> T? {
        take(T.bitWidth / 8)?.bigEndian()
    }
}

extension ArraySlice<UInt8> {
    /// The bytes as a big-endian integer. There must be as many bytes as its width: the first ones of more are lost.
    package func bigEndian<T: FixedWidthInteger & UnsignedInteger>() -> T {
        reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    package var isAllZero: Bool {
        allSatisfy { $0 == 0 }
    }
}

extension Span<UInt8> {
    /// The bytes of this range as a big-endian integer of the same width.
    func bigEndian<T: FixedWidthInteger & UnsignedInteger>(_ part: Range<Int>) -> T {
        part.reduce(0) { $0 << 8 | T(truncatingIfNeeded: self[$1]) }
    }
}

extension [UInt8] {
    init(copying bytes: Span<UInt8>) {
        self = bytes.indices.map { bytes[$0] }
    }

    package mutating func append<T: FixedWidthInteger & UnsignedInteger>(bigEndian value: T) {
        for shift in stride(from: T.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> T(shift)))
        }
    }

    /// Appends zeros up to `count` bytes.
    package mutating func pad(to count: Int) {
        precondition(count >= self.count)
        append(contentsOf: repeatElement(0, count: count - self.count))
    }

    package var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(Self.hexadecimal(byte >> 4))
            text.append(Self.hexadecimal(byte & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 { digit + (digit < 10 ? 0x30 : 0x61 - 10) }

    /// The bytes of an even number of hexadecimal digits; nil for any other text.
    package init?(hexadecimal text: some StringProtocol) {
        let digits = text.unicodeScalars.map { Character($0).isASCII ? Character($0).hexDigitValue : nil }
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        self = bytes
    }
}
