/// The place of a data record in the container, and in the stream that the data records hold.
package struct RecordPlace: Hashable, Sendable {
    /// The record's number, and its part of the nonce.
    package let index: UInt64
    /// The offset of the record in the container.
    package let offset: UInt64
    /// Which bytes of the stream the record holds.
    package let text: Range<UInt64>

    package init(index: UInt64, offset: UInt64, text: Range<UInt64>) {
        self.index = index
        self.offset = offset
        self.text = text
    }

    /// The length of the record, with head and tag.
    package var count: Int { text.count + RecordHead.overhead }
    /// The offset of the record's end in the container.
    package var end: UInt64 { offset + UInt64(count) }
}
