extension Manifest {
    /// The length of the stream must be what lies between header and manifest.
    package func check(streamLength: UInt64, at offset: UInt64) throws(VaultError) {
        try Self.compare(self.streamLength, streamLength, at: offset)
    }

    /// The length of the plaintext must be what the stream unpacks to.
    package func check(plaintextLength: UInt64, at offset: UInt64) throws(VaultError) {
        try Self.compare(self.plaintextLength, plaintextLength, at: offset)
    }

    private static func compare(_ said: UInt64, _ found: UInt64, at offset: UInt64) throws(VaultError) {
        guard said == found else {
            throw VaultError(
                .manifestMismatch, "the manifest's length is \(said), but \(found) bytes are there", offset: offset)
        }
    }

    /// Where the groups of a packed stream stand; nil of one that is not packed.
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
