extension Manifest {
    /// Checks that the length of the stream is the length between header and manifest (SEEK-23, STR-15, STR-16).
    ///
    /// - Throws: `manifestMismatch`.
    package func check(streamLength: UInt64, at offset: UInt64) throws(VaultError) {
        try Self.compare(self.streamLength, streamLength, at: offset)
    }

    /// Checks that the length of the plaintext is the length to which the stream unpacks (STR-16).
    ///
    /// - Throws: `manifestMismatch`.
    package func check(plaintextLength: UInt64, at offset: UInt64) throws(VaultError) {
        try Self.compare(self.plaintextLength, plaintextLength, at: offset)
    }

    private static func compare(_ said: UInt64, _ found: UInt64, at offset: UInt64) throws(VaultError) {
        guard said == found else {
            throw VaultError(
                .manifestMismatch, "the manifest states a length of \(said) bytes, but there are \(found)",
                offset: offset)
        }
    }

    /// The groups of a packed stream; nil if the stream is not packed.
    ///
    /// - Throws: `packingMalformed` (PACK-14).
    package func packing(_ layout: ContainerLayout) throws(VaultError) -> PackedLayout? {
        guard let packed else { return nil }
        do {
            return try PackedLayout(
                PackedStream(capacity: layout.capacity, chunkSize: layout.chunkSize), plaintextLength: plaintextLength,
                packed: packed)
        } catch {
            throw error.at(layout.manifestOffset)
        }
    }
}
