import VaultFormat

/// A header block of a tar stream: 512 bytes.
struct TarBlock {
    static let count = 512

    private let bytes: [UInt8]

    init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == Self.count, "a header has 512 bytes")
        self.bytes = bytes.indices.map { bytes[$0] }
    }

    var isZero: Bool { bytes.allSatisfy { $0 == 0 } }

    /// Whether the sum in the header is that of its unsigned bytes (TAR-1).
    var hasRightSum: Bool {
        var sum: UInt64 = 8 * 0x20
        for (index, byte) in bytes.enumerated() where !Self.sumField.contains(index) { sum += UInt64(byte) }
        return number(Self.sumField) == sum
    }

    private static let sumField = 148..<156

    /// Octal digits with spaces or NULs around them, or base 256 (TAR-1); nil for anything else, and above 2⁶⁴ − 1.
    func number(_ field: Range<Int>) -> UInt64? {
        let field = bytes[field]
        guard let first = field.first else { return nil }
        if first & 0x80 != 0 {
            return number(field.dropFirst(), from: UInt64(first & 0x7F), base: 256) { UInt64($0) }
        }
        func isFill(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0 }
        guard let start = field.firstIndex(where: { !isFill($0) }), let end = field.lastIndex(where: { !isFill($0) })
        else { return 0 }
        return number(field[start...end], from: 0, base: 8) {
            (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) ? UInt64($0 - UInt8(ascii: "0")) : nil
        }
    }

    /// A number that can be negative: in base 256 it is a two's complement. Nil for what is no number, and outside of 64
    /// bits.
    func signedNumber(_ field: Range<Int>) -> Int64? {
        guard let first = bytes[field].first, first & 0xC0 == 0xC0 else {
            return number(field).flatMap(Int64.init(exactly:))
        }
        var sum = Int64(Int8(bitPattern: first))
        for byte in bytes[field].dropFirst() {
            let (product, overflow) = sum.multipliedReportingOverflow(by: 256)
            guard !overflow else { return nil }
            // The product is a multiple of 256, so this cannot overflow.
            sum = product | Int64(byte)
        }
        return sum
    }

    private func number(
        _ digits: ArraySlice<UInt8>, from start: UInt64, base: UInt64, _ value: (UInt8) -> UInt64?
    ) -> UInt64? {
        var sum = start
        for digit in digits {
            let (product, overflow) = sum.multipliedReportingOverflow(by: base)
            guard !overflow, let value = value(digit) else { return nil }
            // The product is a multiple of the base, so this cannot overflow.
            sum = product | value
        }
        return sum
    }

    /// The bytes of a field before the first NUL.
    func text(_ field: Range<Int>) -> [UInt8] { [UInt8](bytes[field].prefix { $0 != 0 }) }

    var type: UInt8 { bytes[156] }
    var size: UInt64? { number(124..<136) }
    var link: [UInt8] { text(157..<257) }

    /// The path of name and prefix. Only ustar has a prefix: GNU tar has other fields there.
    var name: [UInt8] {
        let name = text(0..<100)
        guard Array(bytes[257..<263]) == Array("ustar\0".utf8), bytes[345] != 0 else { return name }
        return text(345..<500) + [UInt8(ascii: "/")] + name
    }

    /// Whether a block with more of a sparse file's map follows, in the header of a sparse file of GNU tar.
    var hasMoreOfSparseMap: Bool { bytes[482] != 0 }
    /// The same, in a block that has more of the map.
    var mapGoesOn: Bool { bytes[504] != 0 }
    /// The length of the file, in the header of a sparse file of GNU tar.
    var sparseFileLength: UInt64? { number(483..<495) }
}
