package import VaultCrypto
package import VaultFormat

/// Opens the records of one container in place: 4 bytes of head, the text, 16 bytes of tag (REC-7).
///
/// Every reader opens its records here. It reads nothing, and opens records in any order.
package struct RecordOpener: Sendable {
    private let cipher: RecordCipher
    private let restoresHeads: Bool

    init(_ schedule: KeySchedule, _ header: HeaderCopy) throws(VaultError) {
        self.init(try RecordCipher(schedule, preamble: header.preamble, capacity: header.capacity))
    }

    private init(_ cipher: RecordCipher, restoresHeads: Bool = false) {
        self.cipher = cipher
        self.restoresHeads = restoresHeads
    }

    /// An opener that first replaces the 4 bytes of each record's head by those that belong in its place (RECOV-9).
    /// They are the record's associated data, so the tag still tells whether the whole record is authentic.
    package var restoringHeads: RecordOpener { RecordOpener(cipher, restoresHeads: true) }

    /// The library that decrypts.
    package var library: CipherEngine { cipher.library }

    /// A SHA-256 for the container's plaintext.
    package func newDigest() -> SHA256 { cipher.newDigest() }

    /// Opens a data record.
    ///
    /// - Throws: `recordDamaged`.
    package func open(_ record: inout MutableSpan<UInt8>, at place: RecordPlace) throws(VaultError) {
        try open(&record, as: .data, index: place.index, offset: place.offset)
    }

    /// Opens the manifest's record and parses its members (SEEK-21, SEEK-22; STR-10, STR-13).
    ///
    /// - Parameters:
    ///   - index: the number of data records.
    ///   - offset: where the record begins in the container.
    /// - Throws: `recordDamaged`, `manifestMalformed`, and the codes for what this version does not support.
    package func openManifest(
        _ record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64, preamble: Preamble
    ) throws(VaultError) -> Manifest {
        try open(&record, as: .manifest, index: index, offset: offset)
        let text = RecordHead.count..<record.count - XChaCha20Poly1305.tagCount
        do {
            return try Manifest(parsing: record.span.extracting(text), preamble: preamble)
        } catch {
            throw error.at(offset)
        }
    }

    /// First compares the head with the one that belongs in this place (REC-9): otherwise a record of another length
    /// would be authentic at this index too. Then checks the tag, which covers the head and the index: a record that
    /// was moved, or taken from another container, fails.
    private func open(
        _ record: inout MutableSpan<UInt8>, as kind: RecordHead.Kind, index: UInt64, offset: UInt64
    ) throws(VaultError) {
        let expected = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        if restoresHeads { (record[0], record[1], record[2], record[3]) = expected }
        guard (record[0], record[1], record[2], record[3]) == expected else {
            throw VaultError(
                .recordDamaged, "the record's type and length are not those of its place", offset: offset,
                record: index)
        }
        guard cipher.open(&record, index: index) else {
            throw VaultError(.recordDamaged, "the record does not authenticate", offset: offset, record: index)
        }
    }
}
