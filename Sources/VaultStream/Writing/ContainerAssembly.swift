package import VaultFormat

/// A container that is being put together: header, data records, the manifest's record, zeros, tail, footer. It says
/// where each part belongs, as the stream grows.
///
/// Every writer of containers goes through it. If the records are encrypted, a `ContainerSealer` holds it; a copy
/// under another header (ROT-26) has its records already.
package struct ContainerAssembly: ~Copyable {
    /// A header copy, which is both the front and the tail.
    package let header: [UInt8]
    /// The layout of the records that were appended.
    package private(set) var layout: ContainerLayout

    /// A container without records.
    package init(_ header: HeaderCopy) throws(VaultError) {
        try self.init(header: header.bytes, capacity: header.capacity, chunkSize: header.preamble.chunkSize)
    }

    init(header: [UInt8], capacity: HeaderCapacity, chunkSize: ChunkSize) throws(VaultError) {
        self.header = header
        layout = try ContainerLayout(capacity: capacity, chunkSize: chunkSize, streamLength: 0)
    }

    /// Appends records for the next bytes of the stream. All are full, except perhaps the last of the container.
    ///
    /// - Returns: the place of the first record in the container, and the records' indices.
    /// - Throws: `tooLarge` (WRITE-11), before a byte of them is written.
    package mutating func append(_ count: UInt64) throws(VaultError) -> (offset: UInt64, indices: Range<UInt64>) {
        let first = layout.recordCount
        let offset = layout.manifestOffset
        precondition(layout.streamLength.isMultiple(of: UInt64(layout.chunkSize.bytes)), "the last record was short")
        layout = try ContainerLayout(
            capacity: layout.capacity, chunkSize: layout.chunkSize, streamLength: layout.streamLength + count)
        return (offset, first..<layout.recordCount)
    }

    /// What follows the manifest's record: zeros, tail, footer.
    package func end(manifestLength: Int) -> [UInt8] {
        layout.end(header: header, manifestLength: manifestLength)
    }
}
