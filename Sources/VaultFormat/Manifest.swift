/// The content of the last record: the length of the plaintext, and what its maker says about it (Spec 6).
///
/// It is authenticated, but every holder of a key of the container can write one.
public struct Manifest: Hashable, Sendable {
    /// The plaintext's length in bytes, below 2⁶³.
    public let plaintextLength: UInt64
    /// The SHA-256 of the plaintext, 32 bytes; nil if the maker did not store it.
    ///
    /// A reader of the whole plaintext checks it at the end. A reader of ranges never checks it (SEEK-29).
    public let digest: [UInt8]?
    /// What the maker says about the file.
    public let metadata: Metadata
    /// The length of the packed stream and the offsets of its index items; nil with compression 0.
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
        var members = metadata.unknown.all
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
        if let name = metadata.name { append(.name, [UInt8](name.utf8)) }
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
            ManifestMembers.append(member.tag, member.value.span, to: &bytes)
        }
        bytes.pad(to: (bytes.count + Self.block - 1) / Self.block * Self.block)
        return bytes
    }
}

extension Manifest {
    /// Parses an authenticated manifest and checks every rule of its form, in the order of MAN-18.
    ///
    /// Authentication does not make a manifest harmless: every holder of a key can write one.
    package init(parsing text: Span<UInt8>, preamble: Preamble) throws(VaultError) {
        try Self.checkForm(of: text)
        var unknownCount = 0
        try ManifestMembers.forEach(in: text) { tag, value throws(VaultError) in
            guard Tag(rawValue: tag) == nil else { return }
            guard tag >= 0x8000 else {
                throw VaultError(
                    .unsupportedMember,
                    "the manifest has a member with tag \(tag), which this version of vaultfile does not know")
            }
            unknownCount += ManifestMembers.headCount + value.count
        }
        var values = Values()
        values.metadata.unknown = UnknownMembers(reserving: unknownCount)
        try ManifestMembers.forEach(in: text) { tag, value throws(VaultError) in
            if let tag = Tag(rawValue: tag) {
                try values.take(tag, value)
            } else {
                values.metadata.unknown.keep(tag, value)
            }
        }
        guard let commitment = values.commitment, commitment == preamble.commitment else {
            throw VaultError(.manifestMalformed, "the manifest does not belong to this header: another commitment")
        }
        guard let plaintextLength = values.plaintextLength else {
            throw VaultError(.manifestMalformed, "the manifest does not state the length of the plaintext")
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

    /// Checks the form of the whole manifest (MAN-11 to MAN-15), before the value of any member.
    private static func checkForm(of text: Span<UInt8>) throws(VaultError) {
        let end = try ManifestMembers.forEach(in: text) { _, _ in }
        guard (end..<text.count).allSatisfy({ text[$0] == 0 }) else {
            throw VaultError(.manifestMalformed, "a byte behind the manifest's members is not zero")
        }
        guard text.count - end < block else {
            throw VaultError(.manifestMalformed, "there are more zeros than needed behind the manifest's members")
        }
    }

    /// The values of the members, each checked by its own rule.
    private struct Values {
        var commitment: [UInt8]?
        var plaintextLength: UInt64?
        var streamLength: UInt64?
        var indexOffsets: [UInt64]?
        var digest: [UInt8]?
        var metadata = Metadata()

        mutating func take(_ tag: Tag, _ value: Span<UInt8>) throws(VaultError) {
            switch tag {
            case .commitment:
                commitment = [UInt8](copying: value)
            case .plaintextLength:
                plaintextLength = try Self.length(value, "the plaintext's length")
            case .streamLength:
                streamLength = try Self.length(value, "the packed stream's length")
            case .indexOffsets:
                guard value.count.isMultiple(of: 8) else { throw Self.malformed("the index offsets are cut") }
                indexOffsets = (0..<value.count / 8).map { value.bigEndian($0 * 8..<$0 * 8 + 8) }
            case .digest:
                guard value.count == 32 else { throw Self.malformed("the SHA-256 is not 32 bytes long") }
                digest = [UInt8](copying: value)
            case .contentType:
                let type = [UInt8](copying: value)
                guard Metadata.isValidContentType(type) else {
                    throw Self.malformed("the content type is not 1 to 127 printable ASCII characters")
                }
                metadata.contentType = String(decoding: type, as: UTF8.self)
            case .name:
                guard let name = Metadata.name([UInt8](copying: value)) else {
                    throw Self.malformed("the name is not one path component of valid UTF-8")
                }
                metadata.name = name
            case .modified:
                guard value.count == 12,
                    let time = Timestamp(
                        seconds: Int64(bitPattern: value.bigEndian(0..<8)), nanoseconds: value.bigEndian(8..<12))
                else { throw Self.malformed("the modification time is malformed") }
                metadata.modified = time
            case .permissions:
                guard value.count == 2, case let mode:UInt16 = value.bigEndian(0..<2), mode & ~0o777 == 0 else {
                    throw Self.malformed("the mode has bits outside 0o777")
                }
                metadata.permissions = mode
            }
        }

        private static func length(_ value: Span<UInt8>, _ what: String) throws(VaultError) -> UInt64 {
            guard value.count == 8, case let length:UInt64 = value.bigEndian(0..<8), length < 1 << 63 else {
                throw malformed("\(what) is not a number below 2^63")
            }
            return length
        }

        private static func malformed(_ check: String) -> VaultError {
            VaultError(.manifestMalformed, check)
        }
    }
}
