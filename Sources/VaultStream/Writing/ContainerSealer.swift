import VaultCrypto
package import VaultFormat

/// Assembles a container and encrypts it: hands out the right to seal each record once, then seals the manifest.
///
/// It reads and writes nothing. Records may be sealed and written in any order.
package struct ContainerSealer: ~Copyable {
    private var assembly: ContainerAssembly
    private let preamble: Preamble
    private let metadata: Metadata
    private let cipher: RecordCipher
    /// The process that drew the file key.
    private let owner: ProcessMark

    init(
        _ assembly: consuming ContainerAssembly, preamble: Preamble, metadata: Metadata, cipher: RecordCipher,
        owner: ProcessMark
    ) {
        self.assembly = assembly
        self.preamble = preamble
        self.metadata = metadata
        self.cipher = cipher
        self.owner = owner
    }

    /// Refuses to seal in a forked process (WRITE-2): its parent has the same key and the same next nonce.
    func checkOwner() throws(VaultError) {
        guard ProcessMark.current == owner else {
            throw VaultError(
                .forked, "the process was forked after the writer was made; only the process that made it may use it")
        }
    }

    /// A header copy, which is both the front and the tail.
    package var header: [UInt8] { assembly.header }

    /// A SHA-256 for the plaintext.
    func newDigest() -> SHA256 { cipher.newDigest() }

    /// The records for the next bytes of the stream. All are full, except perhaps the last of the container.
    ///
    /// - Throws: `tooLarge` (WRITE-11) or `forked`, before a byte of them is written.
    package mutating func nextRecords(of count: Int) throws(VaultError) -> RecordSeal {
        try checkOwner()
        let (offset, indices) = try assembly.append(UInt64(count))
        return RecordSeal(
            cipher, kind: .data, offset: offset, indices: indices, chunkCount: preamble.chunkSize.bytes)
    }

    /// What follows the data records.
    package struct End: Sendable {
        /// Its offset in the container.
        package let offset: UInt64
        /// The manifest's record, zeros, tail, footer.
        package let bytes: [UInt8]
        package let manifest: Manifest
    }

    /// Completes the container.
    ///
    /// - Parameters:
    ///   - packed: what the manifest says about a packed stream.
    ///   - findings: what it says about the plaintext. An index that was looked for takes the place of one that the
    ///     metadata have.
    /// - Throws: `tooLarge`, `forked`.
    package consuming func finish(
        plaintextLength: UInt64, packed: Manifest.Packed?, findings: PassingPlaintext.Findings
    ) throws(VaultError) -> End {
        try checkOwner()
        var metadata = metadata
        if let index = findings.index { metadata.setTarIndex(index) }
        let manifest = Manifest(
            plaintextLength: plaintextLength, digest: findings.digest, metadata: metadata, packed: packed)
        let layout = assembly.layout
        precondition(manifest.streamLength == layout.streamLength, "the records are not those of the stream")
        let text = manifest.encoded(commitment: preamble.commitment)
        guard Manifest.isValidLength(text.count) else {
            throw VaultError(.tooLarge, "the manifest needs more than 2^20 bytes")
        }
        var record = [UInt8](repeating: 0, count: RecordHead.count)
        record += text
        record.pad(to: text.count + RecordHead.overhead)
        var span = record.mutableSpan
        let count = span.count
        RecordSeal(
            cipher, kind: .manifest, offset: layout.manifestOffset,
            indices: layout.recordCount..<layout.recordCount + 1, chunkCount: text.count
        ).seal(&span, count: count)
        return End(
            offset: layout.manifestOffset, bytes: record + assembly.end(manifestLength: text.count), manifest: manifest)
    }
}
