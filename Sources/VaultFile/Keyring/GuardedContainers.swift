import VaultCrypto
package import VaultFormat
package import VaultStream

/// Containers whose plaintext is keys. The plaintext is only in guarded memory: the ordinary reader and writer use the
/// heap, where keys would stay until the memory is used again.
extension SeekableVaultReader {
    /// All of the plaintext.
    ///
    /// - Parameter tooLong: the error if it has more than `limit` bytes.
    /// - Throws: `unsupportedCompression`, and what `read` throws.
    func secret(atMost limit: Int, orElse tooLong: @autoclosure () -> any Error) throws -> SecretBuffer {
        // zlib has its own memory, in which the keys would stay.
        guard packing == nil else {
            throw VaultError(.unsupportedCompression, "a container of keys must not be compressed")
        }
        // mutant: the parser refuses it as well; this check comes before memory is taken for it
        guard let count = Int(exactly: length), count <= limit else { throw tooLong() }
        var text = try SecretBuffer(count: count)
        for index in 0..<layout.recordCount {
            let place = layout.place(ofRecord: index)
            var record = try SecretBuffer(count: place.count)
            try record.withMutableBytes { try records.open(place, in: &$0) }
            record.withBytes { record in
                let opened = record.extracting(RecordHead.count..<RecordHead.count + place.text.count)
                text.withMutableBytes { $0.replace(at: Int(place.text.lowerBound), with: opened) }
            }
        }
        return text
    }
}

extension BytesOutput where Self: ~Copyable {
    /// Writes a container of `plaintext`, not packed and without a digest.
    ///
    /// - Parameter capacity: nil for the standard capacity.
    /// - Throws: what `VaultWriter` throws, and `outputFailed`.
    package borrowing func seal(
        _ plaintext: Span<UInt8>, for recipients: [Recipient], context: Context, contentType: String,
        capacity: HeaderCapacity? = nil
    ) throws {
        var options = SealOptions()
        options.context = context
        options.metadata.contentType = contentType
        options.headerCapacity = capacity
        let new = try NewContainer(for: recipients, options: options, randomness: .system)
        var container = try new.start(plaintextLength: UInt64(plaintext.count))
        try write(container.header.span)
        let chunk = options.chunkSize.bytes
        var record = try SecretBuffer(count: min(chunk, plaintext.count) + RecordHead.overhead)
        var taken = 0
        while taken < plaintext.count {
            let count = min(chunk, plaintext.count - taken)
            try record.withMutableBytes { record in
                record.replace(at: RecordHead.count, with: plaintext.extracting(taken..<taken + count))
                try container.nextRecords(of: count).seal(&record, count: count + RecordHead.overhead)
            }
            try record.withBytes { try write($0.extracting(0..<count + RecordHead.overhead)) }
            taken += count
        }
        let end = try container.finish(plaintextLength: UInt64(plaintext.count), packed: nil, findings: .none)
        try write(end.bytes.span)
    }
}
