import VaultCrypto

extension [UInt8] {
    /// Appends the bytes that a writer or a reader lends: for containers and plaintexts that are kept in memory.
    public mutating func append(copying bytes: Span<UInt8>) {
        append(bytes)
    }
}
