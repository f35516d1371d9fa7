package import VaultFormat

extension RecordCipher {
    /// Opens a data record of as many bytes as `record` has, as if its first 4 bytes were those that belong there,
    /// whatever stands in their place (RECOV-9).
    package func openData(
        restoring record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64
    ) throws(VaultError) {
        Self.restoreHead(of: &record, .data)
        try openData(&record, index: index, offset: offset)
    }

    /// The same for the manifest's record.
    package func openManifest(
        restoring record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64, preamble: Preamble
    ) throws(VaultError) -> Manifest {
        Self.restoreHead(of: &record, .manifest)
        return try openManifest(&record, index: index, offset: offset, preamble: preamble)
    }

    /// The head is the record's associated data, so that the tag still says whether all of it is authentic.
    private static func restoreHead(of record: inout MutableSpan<UInt8>, _ kind: RecordHead.Kind) {
        let head = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        (record[0], record[1], record[2], record[3]) = head
    }
}
