import VaultCrypto

extension [UInt8] {
    /// Appends the bytes that a writer or a reader lends.
    package mutating func append(copying bytes: Span<UInt8>) {
        append(bytes)
    }
}
