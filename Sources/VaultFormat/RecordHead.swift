/// The first 4 bytes of a record: its type and the length of its plaintext (REC-2 to REC-5).
package struct RecordHead: Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        case data = 1
        case manifest = 2
    }

    package static let count = 4
    /// The length of a record without its plaintext: head and tag.
    package static let overhead = 20

    package let kind: Kind
    /// Length of the plaintext in bytes, below 2²⁴.
    package let length: Int

    package init(kind: Kind, length: Int) {
        precondition((0..<1 << 24).contains(length))
        self.kind = kind
        self.length = length
    }

    /// Nil for a type that version 1 does not have. Such a record is never skipped.
    package init?(parsing bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.count, let kind = bytes.first.flatMap(Kind.init) else { return nil }
        self.kind = kind
        self.length = Int(bytes.dropFirst().bigEndian() as UInt32)
    }

    package var bytes: (UInt8, UInt8, UInt8, UInt8) {
        (
            kind.rawValue, UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8),
            UInt8(truncatingIfNeeded: length)
        )
    }
}

extension ChunkSize {
    /// The length of a full record in bytes, with head and tag.
    package var recordBytes: Int { bytes + RecordHead.overhead }
}
