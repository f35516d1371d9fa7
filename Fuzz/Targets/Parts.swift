import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The bytes in the format.
    var bigEndianBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: self)
        return bytes
    }
}

/// The members of a manifest, in any order and form.
struct ManifestMembers {
    struct Member {
        var tag: UInt16
        /// The stated length; nil for the actual length of the value.
        var statedCount: UInt32?
        var value: [UInt8]
    }

    var members: [Member] = []

    /// Parses members as far as they reach.
    init(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        while let tag: UInt16 = reader.integer(), tag != 0, let count: UInt32 = reader.integer() {
            let value = reader.take(Int(count)) ?? reader.take(reader.remaining) ?? []
            members.append(Member(tag: tag, statedCount: nil, value: [UInt8](value)))
        }
    }

    func has(_ tag: UInt16) -> Bool { members.contains { $0.tag == tag } }

    /// Inserts a member, unless it is there already.
    mutating func set(_ tag: UInt16, _ value: [UInt8]) {
        if let index = members.firstIndex(where: { $0.tag == tag }) {
            members[index].value = value
        } else {
            let place = members.firstIndex { $0.tag > tag } ?? members.count
            members.insert(Member(tag: tag, statedCount: nil, value: value), at: place)
        }
    }

    mutating func remove(_ tag: UInt16) {
        members.removeAll { $0.tag == tag }
    }

    /// With the zeros that follow the members.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for member in members {
            bytes.append(bigEndian: member.tag)
            bytes.append(bigEndian: member.statedCount ?? UInt32(member.value.count))
            bytes += member.value
        }
        bytes.pad(to: max(512, (bytes.count + 511) / 512 * 512))
        return bytes
    }
}

extension PackedItems {
    /// Parses items as far as they reach. The rest becomes an item of its own.
    init(reading stream: [UInt8]) {
        self.init(items: [])
        var rest = stream[...]
        var place: UInt64 = 0
        while rest.count >= ItemHead.count {
            let count = Int(rest.dropFirst().prefix(3).bigEndian() as UInt32)
            let body = [UInt8](rest.dropFirst(ItemHead.count).prefix(count))
            let method = rest[rest.startIndex]
            if method == 2 { indexOffsets.append(place) }
            items.append(Item(method, statedCount: body.count < count ? count : nil, body))
            place += UInt64(ItemHead.count + body.count)
            rest = rest.dropFirst(ItemHead.count + body.count)
        }
    }

    /// The plaintext of the blocks, as far as they are valid.
    var plaintextLength: UInt64 {
        items.reduce(0) { $0 + UInt64(Self.plaintext(of: $1)?.count ?? 0) }
    }

    /// The contents of a block; nil if it is not one.
    static func plaintext(of item: Item) -> [UInt8]? {
        if item.method == 0 { return item.body }
        guard item.method == 1, let unpacker = try? BlockUnpacker(.init(capacity: .least, chunkSize: .maximum)) else {
            return nil
        }
        var block = [UInt8](repeating: 0, count: 1 << 16)
        let head = ItemHead(.deflated, bodyCount: item.body.count & 0xFF_FFFF)
        var span = block.mutableSpan
        guard let count = try? unpacker.unpack(head, item.body.span, into: &span, at: 0) else { return nil }
        return [UInt8](block.prefix(count))
    }
}
