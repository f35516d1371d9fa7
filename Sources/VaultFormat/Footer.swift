/// The last 32 bytes: a hint for seeking readers. It must agree with computed and authenticated values (Spec 2.4).
///
///     0   m u64
///     8   length of the container u64
///     16  c u32
///     20  M u32
///     24  end magic (8)
package struct Footer: Hashable, Sendable {
    package static let count = 32
    package static let endMagic = [UInt8](Preamble.magic.reversed())
    /// The length of the smallest container: two copies of the least capacity, the smallest manifest record, the zeros
    /// after it, and the footer.
    package static let leastContainer: UInt64 = 2080

    package let manifestOffset: UInt64
    package let containerLength: UInt64
    package let capacity: HeaderCapacity
    package let manifestLength: Int

    init(manifestOffset: UInt64, containerLength: UInt64, capacity: HeaderCapacity, manifestLength: Int) {
        self.manifestOffset = manifestOffset
        self.containerLength = containerLength
        self.capacity = capacity
        self.manifestLength = manifestLength
    }

    package static func hasEndMagic(_ bytes: [UInt8]) -> Bool {
        bytes.suffix(8).elementsEqual(endMagic)
    }

    /// Parses the last 32 bytes of a file of `fileSize` bytes (FOOT-2 to FOOT-6). The range of every field is checked
    /// before the field is used in a computation.
    package init(parsing bytes: [UInt8], fileSize: UInt64) throws(VaultError) {
        var reader = ByteReader(bytes[...])
        guard Self.hasEndMagic(bytes), let offset: UInt64 = reader.integer(), let length: UInt64 = reader.integer(),
            let capacity: UInt32 = reader.integer(), let manifestLength: UInt32 = reader.integer()
        else { throw VaultError(.footerDamaged, "the end is missing or damaged") }
        guard let capacity = HeaderCapacity(bytes: Int(capacity)) else {
            throw VaultError(.footerDamaged, "the footer's header capacity is not a power of two from 2^9 to 2^20")
        }
        guard Manifest.isValidLength(Int(manifestLength)) else {
            throw VaultError(.footerDamaged, "the footer's manifest length is not a multiple of 512 up to 2^20")
        }
        guard offset >= UInt64(capacity.bytes), offset < min(fileSize, 1 << 63) else {
            throw VaultError(.footerDamaged, "the footer's manifest offset lies outside the file")
        }
        manifestOffset = offset
        containerLength = length
        self.capacity = capacity
        self.manifestLength = Int(manifestLength)
        guard length == tailOffset + UInt64(capacity.bytes) + UInt64(Self.count), length == fileSize else {
            throw VaultError(.footerDamaged, "the footer's length is not the file's")
        }
    }

    /// T. The manifest is within a file, below 2⁶³, so this does not overflow.
    package var tailOffset: UInt64 {
        capacity.aligned(manifestOffset + UInt64(manifestLength) + UInt64(RecordHead.overhead))
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: manifestOffset)
        bytes.append(bigEndian: containerLength)
        bytes.append(bigEndian: UInt32(capacity.bytes))
        bytes.append(bigEndian: UInt32(manifestLength))
        bytes += Self.endMagic
        return bytes
    }
}
