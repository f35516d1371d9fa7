/// Names a key without revealing it: 16 bytes, visible in the header of every container that the key opens (KEY-11).
///
/// The ID of a symmetric key is the same in all containers, so it links them. The ID of a passphrase slot is random.
public struct KeyID: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    static let count = 16

    /// Returns nil unless there are 16 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        self.bytes = bytes
    }

    /// Returns nil unless the text is 32 hexadecimal digits, in either case.
    public init?(hex: some StringProtocol) {
        guard let bytes = [UInt8](hexadecimal: hex) else { return nil }
        self.init(bytes: bytes)
    }

    /// Returns nil unless the text is 32 hexadecimal digits in lower case, as it is in a text that has one form.
    package init?(lowerCaseHex hex: String) {
        self.init(hex: hex)
        guard description == hex else { return nil }
    }

    package init(unchecked bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.count)
        self.bytes = [UInt8](bytes)
    }

    /// Feeds the bytes as two integers, and not one by one as the hash of an array does: a store looks up an ID for each
    /// item of a list.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytes[..<8].bigEndian() as UInt64)
        hasher.combine(bytes[8...].bigEndian() as UInt64)
    }
}

extension KeyID: CustomStringConvertible {
    /// 32 hexadecimal digits, lower case.
    public var description: String { bytes.hexadecimal }
}
