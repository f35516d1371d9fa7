import VaultCrypto
package import VaultFormat

/// What seals and opens the records of one container where they stand: 4 bytes of head, the text, 16 bytes of tag
/// (REC-6). Knows no order and no I/O.
package struct RecordCipher: Sendable {
    private let key: SecretBytes
    private let fileID: (high: UInt64, low: UInt64)

    package init(_ schedule: KeySchedule, preamble: Preamble) {
        key = schedule.streamKey
        fileID = preamble.nonceWords
    }

    private func nonce(_ index: UInt64) -> XChaChaNonce {
        XChaChaNonce(fileID: fileID, index: index)
    }

    fileprivate func seal(_ record: inout MutableSpan<UInt8>, kind: RecordHead.Kind, index: UInt64) {
        let head = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        (record[0], record[1], record[2], record[3]) = head
        XChaCha20Poly1305.seal(&record, prefixCount: RecordHead.count, nonce: nonce(index), key: key)
    }

    /// Opens a data record of as many bytes as `record` has.
    ///
    /// - Parameter offset: where it stands in the container, for the error.
    package func openData(
        _ record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64
    ) throws(VaultError) {
        try open(&record, as: .data, index: index, offset: offset)
    }

    /// Opens the manifest's record and takes its members (SEEK-21, SEEK-22; STR-10, STR-13).
    package func openManifest(
        _ record: inout MutableSpan<UInt8>, index: UInt64, offset: UInt64, preamble: Preamble
    ) throws(VaultError) -> Manifest {
        try open(&record, as: .manifest, index: index, offset: offset)
        let text = (RecordHead.count..<record.count - XChaCha20Poly1305.tagCount).map { record[$0] }
        do {
            return try Manifest(parsing: text, preamble: preamble)
        } catch {
            throw error.at(offset)
        }
    }

    /// Compares the head with what belongs here before anything else (REC-8): a record of another length would be
    /// authentic at this index all the same. Then checks the tag under these 4 bytes and the index: a record that was
    /// moved, or taken from another container, fails.
    private func open(
        _ record: inout MutableSpan<UInt8>, as kind: RecordHead.Kind, index: UInt64, offset: UInt64
    ) throws(VaultError) {
        let expected = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        guard (record[0], record[1], record[2], record[3]) == expected else {
            throw VaultError(
                .recordDamaged, "the record's type and length are not those of its place", offset: offset,
                record: index)
        }
        do {
            try XChaCha20Poly1305.open(&record, prefixCount: RecordHead.count, nonce: nonce(index), key: key)
        } catch {
            throw VaultError(.recordDamaged, "the record does not authenticate", offset: offset, record: index)
        }
    }
}

/// The right to seal one record, once (WRITE-2). Whoever has it may seal on any thread and in any order; that it cannot
/// be copied is what keeps a nonce from being used twice.
package struct RecordSeal: ~Copyable, Sendable {
    private let cipher: RecordCipher
    private let kind: RecordHead.Kind
    /// The record's index.
    package let index: UInt64

    init(_ cipher: RecordCipher, kind: RecordHead.Kind, index: UInt64) {
        self.cipher = cipher
        self.kind = kind
        self.index = index
    }

    /// Writes the head, enciphers the text behind it and writes the tag, in the first `count` bytes of `record`.
    package consuming func seal(_ record: inout MutableSpan<UInt8>, count: Int) {
        let (cipher, kind, index) = (cipher, kind, index)
        record.withPart(0..<count) { cipher.seal(&$0, kind: kind, index: index) }
    }
}
