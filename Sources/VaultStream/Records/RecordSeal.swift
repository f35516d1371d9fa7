import VaultCrypto
import VaultFormat

/// The right to seal records that follow one another, each once (WRITE-2). Its owner may seal them on any thread and in
/// any order. It cannot be copied, so no nonce is used twice.
package struct RecordSeal: ~Copyable, Sendable {
    /// The place of the first record in the container.
    package let offset: UInt64
    private let cipher: RecordCipher
    private let kind: RecordHead.Kind
    private let indices: Range<UInt64>
    /// The text of a full record.
    private let chunkCount: Int

    init(_ cipher: RecordCipher, kind: RecordHead.Kind, offset: UInt64, indices: Range<UInt64>, chunkCount: Int) {
        self.cipher = cipher
        self.kind = kind
        self.offset = offset
        self.indices = indices
        self.chunkCount = chunkCount
    }

    /// Writes each record's head, encrypts the text after it and writes the tag, in the first `count` bytes of
    /// `records`. All records are full, except perhaps the last.
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
