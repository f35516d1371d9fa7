package import VaultCrypto
package import VaultFormat

/// What seals and opens the records of one container where they stand: 4 bytes of head, the text, 16 bytes of tag
/// (REC-6). Knows no order and no I/O.
package struct RecordCipher: Sendable {
    private let engine: RecordEngine
    /// The library of the records and of the digest.
    package let library: CipherEngine

    /// - Parameter capacity: the header's. Less than `separate` is for small containers (WRITE-7); for what a writer
    ///   has made otherwise the slower library is taken. A compressed one says nothing of what is to be hashed: a
    ///   stranger could make a thousandfold of it slow.
    package init(_ schedule: KeySchedule, preamble: Preamble, capacity: HeaderCapacity) throws(VaultError) {
        let library = CipherEngine.preferred(isSmall: capacity < .separate && preamble.compression == .none)
        self.library = library
        engine = try guarded { () throws(MemoryUnavailable) in
            try RecordEngine(key: schedule.streamKey, fileID: preamble.nonceWords, engine: library)
        }
    }

    /// A SHA-256 for the container's plaintext.
    package func newDigest() -> SHA256 { SHA256(engine: library) }

    fileprivate func seal(_ record: inout MutableSpan<UInt8>, kind: RecordHead.Kind, index: UInt64) {
        let head = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        (record[0], record[1], record[2], record[3]) = head
        engine.seal(&record, prefixCount: RecordHead.count, index: index)
    }

    /// The names and versions of the libraries that encipher.
    package static var engineDescription: String {
        let (small, large) = (CipherEngine.preferred(isSmall: true), CipherEngine.preferred)
        return small == large ? large.description : "\(large.description); small containers by \(small.description)"
    }

    /// The engine that is chosen for this task, for threads that do its work.
    package static var engineOfThisTask: CipherEngine? { CipherEngine.chosen }

    /// Runs `body` with an engine.
    package static func withEngine<R>(_ engine: CipherEngine?, _ body: () throws -> R) rethrows -> R {
        try CipherEngine.$chosen.withValue(engine, operation: body)
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
        let text = RecordHead.count..<record.count - XChaCha20Poly1305.tagCount
        do {
            return try Manifest(parsing: record.span.extracting(text), preamble: preamble)
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
            try engine.open(&record, prefixCount: RecordHead.count, index: index)
        } catch {
            throw VaultError(.recordDamaged, "the record does not authenticate", offset: offset, record: index)
        }
    }
}

/// The right to seal records that stand one behind the other, each once (WRITE-2). Whoever has it may seal on any
/// thread and in any order; that it cannot be copied is what keeps a nonce from being used twice.
package struct RecordSeal: ~Copyable, Sendable {
    private let cipher: RecordCipher
    private let kind: RecordHead.Kind
    private let indices: Range<UInt64>
    /// What a full record holds.
    private let chunkCount: Int

    init(_ cipher: RecordCipher, kind: RecordHead.Kind, indices: Range<UInt64>, chunkCount: Int) {
        self.cipher = cipher
        self.kind = kind
        self.indices = indices
        self.chunkCount = chunkCount
    }

    /// Writes each record's head, enciphers the text behind it and writes the tag, in the first `count` bytes of
    /// `records`: all of them are full but perhaps the last.
    package consuming func seal(_ records: inout MutableSpan<UInt8>, count: Int) {
        let (cipher, kind) = (cipher, kind)
        var start = 0
        for index in indices {
            let end = min(start + chunkCount + RecordHead.overhead, count)
            precondition(end - start >= RecordHead.overhead, "there are fewer records than were handed out")
            records.withPart(start..<end) { cipher.seal(&$0, kind: kind, index: index) }
            start = end
        }
        precondition(start == count, "there are more records than were handed out")
    }
}
