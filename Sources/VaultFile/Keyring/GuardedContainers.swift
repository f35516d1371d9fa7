import VaultCrypto
import VaultFormat
import VaultStream

/// Containers whose plaintext is keys: it is read and written in guarded memory alone. What the ordinary ways lend has
/// stood on the heap, where it would stay until something else is put there.
extension SeekableVaultReader {
    /// All of the plaintext.
    ///
    /// - Parameter tooLong: what to throw if it has more than `limit` bytes.
    /// - Throws: `unsupportedCompression`, and what `read` throws.
    func secret(atMost limit: Int, orElse tooLong: @autoclosure () -> VaultError) throws -> SecretBuffer {
        // What inflates has memory of its own, in which the keys would stay.
        guard packing == nil else {
            throw VaultError(.unsupportedCompression, "it holds keys and is compressed, as no keyring is")
        }
        // mutant: who reads it refuses it as well; this is before memory is taken for it
        guard let count = Int(exactly: length), count <= limit else { throw tooLong() }
        var text = try SecretBuffer(count: count)
        for index in 0..<layout.recordCount {
            let start = Int(layout.streamRange(ofRecord: index).lowerBound)
            try withSecretRecord(index) { record in
                text.withMutableBytes { $0.replace(at: start, with: record) }
            }
        }
        return text
    }

    private func withSecretRecord(_ index: UInt64, _ body: (Span<UInt8>) -> Void) throws {
        let count = layout.recordBytes(index)
        let offset = layout.offset(ofRecord: index)
        var record = try SecretBuffer(count: count)
        try record.withMutableBytes { record in
            var filled = 0
            while filled < count {
                let place = offset + UInt64(filled)
                let more = try record.withPart(filled..<count) { try source.read(at: place, into: &$0) }
                guard (1...count - filled).contains(more) else {
                    throw VaultError(.truncated, "the file has become shorter", offset: offset, record: index)
                }
                filled += more
            }
            try cipher.openData(&record, index: index, offset: offset)
        }
        record.withBytes { body($0.extracting(RecordHead.count..<RecordHead.count + layout.length(ofRecord: index))) }
    }
}

extension BytesOutput where Self: ~Copyable {
    /// Writes a container of `plaintext`, which is not packed and has no digest.
    ///
    /// - Parameter capacity: nil for the usual one.
    /// - Throws: what `VaultWriter` throws, and `outputFailed`.
    borrowing func seal(
        _ plaintext: Span<UInt8>, for recipients: [Recipient], context: Context, contentType: String,
        capacity: HeaderCapacity? = nil
    ) throws {
        var options = SealOptions()
        options.context = context
        options.metadata.contentType = contentType
        options.headerCapacity = capacity
        let sealer = try ContainerSealer(for: recipients, options: options, randomness: .system)
        var container = try sealer.start(isSmall: plaintext.count < ContainerSealer.smallInput)
        try write(container.header.span)
        let chunk = options.chunkSize.bytes
        var record = try SecretBuffer(count: min(chunk, plaintext.count) + RecordHead.overhead)
        var taken = 0
        while taken < plaintext.count {
            let count = min(chunk, plaintext.count - taken)
            record.withMutableBytes { record in
                record.replace(at: RecordHead.count, with: plaintext.extracting(taken..<taken + count))
                container.nextRecords().seal(&record, count: count + RecordHead.overhead)
            }
            try record.withBytes { try write($0.extracting(0..<count + RecordHead.overhead)) }
            taken += count
        }
        let end = try container.finish(plaintextLength: UInt64(plaintext.count), packed: nil, digest: nil)
        try write(end.bytes.span)
    }
}
