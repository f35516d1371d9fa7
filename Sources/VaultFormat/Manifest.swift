/// The last record's contents: how long the plaintext is, and what its maker says of it (Spec 6).
///
/// Members in ascending order of tag, each once: tag u16, length u32, value; then zeros to the least multiple of 512.
public struct Manifest: Hashable, Sendable {
    /// The plaintext's length in bytes, below 2⁶³.
    public let plaintextLength: UInt64
    /// The SHA-256 of the plaintext, 32 bytes, if its maker put it in. A reader of ranges has not checked it.
    public let digest: [UInt8]?
    /// What is said of the file.
    public let metadata: Metadata
    /// The length of the packed stream and the offsets of its index items; only with compression 1.
    package let packed: Packed?

    package struct Packed: Hashable, Sendable {
        package let streamLength: UInt64
        package let indexOffsets: [UInt64]

        package init(streamLength: UInt64, indexOffsets: [UInt64]) {
            self.streamLength = streamLength
            self.indexOffsets = indexOffsets
        }
    }

    enum Tag: UInt16 {
        case commitment = 1
        case plaintextLength = 2
        case streamLength = 3
        case indexOffsets = 4
        case digest = 5
        case contentType = 0x8001
        case name = 0x8002
        case modified = 0x8003
        case permissions = 0x8004
    }

    private static let block = 512
    private static let memberHead = 6
    private static let lengthsAllowed = 512...1 << 20

    package init(plaintextLength: UInt64, digest: [UInt8]?, metadata: Metadata, packed: Packed? = nil) {
        self.plaintextLength = plaintextLength
        self.digest = digest
        self.metadata = metadata
        self.packed = packed
    }

    /// Whether a manifest record may have this length M.
    package static func isValidLength(_ length: Int) -> Bool {
        lengthsAllowed.contains(length) && length.isMultiple(of: block)
    }

    /// The length of the stream that the data records hold, |Z|.
    package var streamLength: UInt64 { packed?.streamLength ?? plaintextLength }

    /// The manifest's plaintext, M bytes.
    package func encoded(commitment: [UInt8]) -> [UInt8] {
        var members: [(tag: UInt16, value: [UInt8])] = metadata.unknown.map { ($0.tag, $0.value) }
        func append(_ tag: Tag, _ value: [UInt8]) {
            members.append((tag.rawValue, value))
        }
        func integers(_ values: [UInt64]) -> [UInt8] {
            values.reduce(into: []) { $0.append(bigEndian: $1) }
        }
        append(.commitment, commitment)
        append(.plaintextLength, integers([plaintextLength]))
        if let packed {
            append(.streamLength, integers([packed.streamLength]))
            append(.indexOffsets, integers(packed.indexOffsets))
        }
        if let digest { append(.digest, digest) }
        if let contentType = metadata.contentType { append(.contentType, [UInt8](contentType.utf8)) }
        if let name = metadata.name { append(.name, name) }
        if let modified = metadata.modified {
            var value = integers([UInt64(bitPattern: modified.seconds)])
            value.append(bigEndian: modified.nanoseconds)
            append(.modified, value)
        }
        if let permissions = metadata.permissions {
            var value: [UInt8] = []
            value.append(bigEndian: permissions)
            append(.permissions, value)
        }
        var bytes: [UInt8] = []
        for member in members.sorted(by: { $0.tag < $1.tag }) {
            bytes.append(bigEndian: member.tag)
            bytes.append(bigEndian: UInt32(member.value.count))
            bytes += member.value
        }
        bytes.pad(to: (bytes.count + Self.block - 1) / Self.block * Self.block)
        return bytes
    }
}

extension Manifest {
    /// Takes an authenticated manifest and checks every rule of its form, in the order of MAN-17.
    ///
    /// That it is authenticated does not make it harmless: whoever has a key can write one.
    package init(parsing bytes: [UInt8], preamble: Preamble) throws(VaultError) {
        let members = try Self.members(of: bytes)
        for member in members where member.tag < 0x8000 && Tag(rawValue: member.tag) == nil {
            throw VaultError(
                .unsupportedMember,
                "the manifest has a member with tag \(member.tag), which this version of vaultfile does not know")
        }
        var values = Values()
        for member in members {
            if let tag = Tag(rawValue: member.tag) {
                try values.take(tag, member.value)
            } else if member.tag >= 0x8000 {
                values.metadata.keep(unknown: member.tag, member.value)
            }
        }
        guard let commitment = values.commitment, commitment.elementsEqual(preamble.commitment) else {
            throw VaultError(.manifestMalformed, "the manifest does not belong to this header: another commitment")
        }
        guard let plaintextLength = values.plaintextLength else {
            throw VaultError(.manifestMalformed, "the manifest does not say how long the plaintext is")
        }
        switch (preamble.compression, values.streamLength, values.indexOffsets) {
        case (.none, nil, nil):
            packed = nil
        case (.deflate, let streamLength?, let indexOffsets?):
            packed = Packed(streamLength: streamLength, indexOffsets: indexOffsets)
        default:
            throw VaultError(.manifestMalformed, "the members for packing do not fit the header's compression")
        }
        self.plaintextLength = plaintextLength
        digest = values.digest
        metadata = values.metadata
    }

    private static func members(of bytes: [UInt8]) throws(VaultError) -> [(tag: UInt16, value: ArraySlice<UInt8>)] {
        var reader = ByteReader(bytes[...])
        var members: [(tag: UInt16, value: ArraySlice<UInt8>)] = []
        var end = bytes.endIndex
        while reader.remaining >= memberHead {
            let start = reader.position
            guard let tag: UInt16 = reader.integer(), tag != 0 else {
                end = start
                break
            }
            if let last = members.last, tag <= last.tag {
                throw VaultError(.manifestMalformed, "the manifest's members are not in ascending order of tag")
            }
            guard let length: UInt32 = reader.integer(), let value = reader.take(Int(length)) else {
                throw VaultError(.manifestMalformed, "a member reaches past the manifest's end")
            }
            members.append((tag, value))
            end = reader.position
        }
        let padding = bytes[end...]
        guard padding.isAllZero else {
            throw VaultError(.manifestMalformed, "a byte behind the manifest's members is not zero")
        }
        guard padding.count < block else {
            throw VaultError(.manifestMalformed, "there are more zeros behind the manifest's members than needed")
        }
        return members
    }

    /// The members as they are met, each checked by its own rule.
    private struct Values {
        var commitment: ArraySlice<UInt8>?
        var plaintextLength: UInt64?
        var streamLength: UInt64?
        var indexOffsets: [UInt64]?
        var digest: [UInt8]?
        var metadata = Metadata()

        mutating func take(_ tag: Tag, _ value: ArraySlice<UInt8>) throws(VaultError) {
            switch tag {
            case .commitment:
                commitment = value
            case .plaintextLength:
                plaintextLength = try Self.length(value, "the plaintext's length")
            case .streamLength:
                streamLength = try Self.length(value, "the packed stream's length")
            case .indexOffsets:
                guard value.count.isMultiple(of: 8) else { throw Self.malformed("the index offsets are cut") }
                indexOffsets = stride(from: value.startIndex, to: value.endIndex, by: 8).map {
                    value[$0..<$0 + 8].bigEndian()
                }
            case .digest:
                guard value.count == 32 else { throw Self.malformed("the SHA-256 does not have 32 bytes") }
                digest = [UInt8](value)
            case .contentType:
                guard Metadata.isValidContentType(value) else { throw Self.malformed("the content type is not one") }
                metadata.contentType = String(decoding: value, as: UTF8.self)
            case .name:
                guard Metadata.isValidName([UInt8](value)) else {
                    throw Self.malformed("the name is not one path component of valid UTF-8")
                }
                metadata.name = [UInt8](value)
            case .modified:
                guard value.count == 12,
                    let time = Timestamp(
                        seconds: Int64(bitPattern: value.prefix(8).bigEndian()),
                        nanoseconds: value.suffix(4).bigEndian())
                else { throw Self.malformed("the modification time is not one") }
                metadata.modified = time
            case .permissions:
                guard value.count == 2, case let mode:UInt16 = value.bigEndian(), mode & ~0o777 == 0 else {
                    throw Self.malformed("the mode has bits outside 0o777")
                }
                metadata.permissions = mode
            }
        }

        private static func length(_ value: ArraySlice<UInt8>, _ what: String) throws(VaultError) -> UInt64 {
            guard value.count == 8, case let length:UInt64 = value.bigEndian(), length < 1 << 63 else {
                throw malformed("\(what) is not a number below 2^63")
            }
            return length
        }

        private static func malformed(_ check: String) -> VaultError {
            VaultError(.manifestMalformed, check)
        }
    }
}
