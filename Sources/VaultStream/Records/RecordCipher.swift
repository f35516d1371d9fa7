package import VaultCrypto
package import VaultFormat

/// Seals and opens records where they stand: 4 bytes of head, the text, 16 bytes of tag (Spec, Records).
///
/// Knows no order: whoever seals gives each index out once, which is what keeps a nonce from being used twice.
package struct RecordCipher: Sendable {
    private let key: SecretBytes
    private let fileID: (high: UInt64, low: UInt64)

    package init(_ schedule: KeySchedule, preamble: Preamble) {
        key = schedule.streamKey
        fileID = preamble.nonceWords
    }

    /// Writes the head, enciphers the text behind it and writes the tag. `record` is as long as the record.
    package func seal(_ record: inout MutableSpan<UInt8>, kind: RecordHead.Kind, index: UInt64) {
        let head = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        (record[0], record[1], record[2], record[3]) = head
        XChaCha20Poly1305.seal(
            &record, prefixCount: RecordHead.count, nonce: XChaChaNonce(fileID: fileID, index: index), key: key)
    }

    /// Checks the tag under the head's 4 bytes and this index, then deciphers the text. A record that was moved,
    /// shortened or taken from another container fails here; its bytes are zeros then.
    package func open(_ record: inout MutableSpan<UInt8>, index: UInt64) throws(AuthenticationFailure) {
        try XChaCha20Poly1305.open(
            &record, prefixCount: RecordHead.count, nonce: XChaChaNonce(fileID: fileID, index: index), key: key)
    }

    /// Opens a data record that must hold `length` bytes: its head is compared before anything else, because a record
    /// of another length would still be authentic at this index.
    package func openData(
        _ record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64
    ) throws(VaultError) {
        try check(record, is: .data, index: index, offset: offset)
        do {
            try open(&record, index: index)
        } catch {
            throw VaultError(.recordDamaged, "the record does not authenticate", offset: offset, record: index)
        }
    }

    /// Opens the manifest's record and takes its members.
    package func openManifest(
        _ record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64, preamble: Preamble
    ) throws(VaultError) -> Manifest {
        try check(record, is: .manifest, index: index, offset: offset)
        do {
            try open(&record, index: index)
        } catch {
            throw VaultError(.recordDamaged, "the manifest does not authenticate", offset: offset, record: index)
        }
        let text = (RecordHead.count..<record.count - XChaCha20Poly1305.tagCount).map { record[$0] }
        do {
            return try Manifest(parsing: text, preamble: preamble)
        } catch {
            throw error.at(offset)
        }
    }

    private func check(
        _ record: borrowing MutableSpan<UInt8>, is kind: RecordHead.Kind, index: UInt64, offset: UInt64
    ) throws(VaultError) {
        let head = RecordHead(parsing: [record[0], record[1], record[2], record[3]])
        guard head == RecordHead(kind: kind, length: record.count - RecordHead.overhead) else {
            throw VaultError(
                .recordDamaged, "the record's type and length are not those of its place", offset: offset,
                record: index)
        }
    }
}
