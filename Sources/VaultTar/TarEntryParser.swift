import VaultFormat

/// Reads the headers of one entry (TAR-1). It asks for the next bytes, and takes them.
///
///     var parser = TarEntryParser(at: place)
///     while true {
///         switch try parser.take(nextBytes(parser.wanted)) { … }
///     }
struct TarEntryParser: Sendable {
    /// The most bytes of an extension header's data.
    static let longestExtension: UInt64 = 1 << 20

    /// What the bytes that were taken have completed.
    enum Step: Equatable {
        /// Nothing yet: more bytes are wanted.
        case more
        /// All headers of the entry.
        case entry(TarEntry)
        /// The end of the stream: a block of zeros instead of a header.
        case end
    }

    private enum State {
        case header
        /// The data of an extension header of a type: its length is rounded up to whole blocks when it is wanted.
        case extensionData(type: UInt8, length: Int)
        /// More of the map of a sparse file of GNU tar, behind its header.
        case sparseMap(TarBlock)
    }

    private let place: UInt64
    /// The bytes of headers that were taken.
    private var taken: UInt64 = 0
    private var state = State.header
    private var longName: [UInt8]?
    private var longLink: [UInt8]?
    private var pax = PaxRecords()

    /// - Parameter place: the number of the block where the entry begins, below 2⁵⁴.
    init(at place: UInt64) {
        self.place = place
    }

    /// The number of bytes that are to be taken next: a block, or at most 2²⁰ bytes.
    var wanted: Int {
        switch state {
        case .header, .sparseMap: TarBlock.count
        case .extensionData(_, let length): (length + TarBlock.count - 1) / TarBlock.count * TarBlock.count
        }
    }

    /// Takes the wanted bytes.
    ///
    /// - Throws: `NotTar`. Then the parser must not be used any more.
    mutating func take(_ bytes: Span<UInt8>) throws(NotTar) -> Step {
        precondition(bytes.count == wanted, "the parser gets what it wants")
        taken += UInt64(bytes.count)
        switch state {
        case .header:
            return try takeHeader(TarBlock(bytes))
        case .extensionData(let type, let length):
            state = .header
            try takeExtension(type, bytes.extracting(0..<length))
            return .more
        case .sparseMap(let header):
            guard TarBlock(bytes).mapGoesOn else { return .entry(try entry(header)) }
            return .more
        }
    }

    private mutating func takeHeader(_ header: TarBlock) throws(NotTar) -> Step {
        if header.isZero {
            // An extension header that nothing follows would change the meaning of no entry.
            guard taken == UInt64(TarBlock.count) else { throw NotTar("no header follows an extension header") }
            return .end
        }
        guard header.hasRightSum else { throw NotTar("the sum of a header is wrong") }
        switch header.type {
        case UInt8(ascii: "L"), UInt8(ascii: "K"), UInt8(ascii: "x"), UInt8(ascii: "g"):
            guard let size = header.size, size <= Self.longestExtension else {
                throw NotTar("an extension header has more than 2^20 bytes, or no size")
            }
            // It fits: 2²⁰ at most.
            let length = Int(size)
            if length == 0 {
                try takeExtension(header.type, Span())
            } else {
                state = .extensionData(type: header.type, length: length)
            }
            return .more
        case UInt8(ascii: "S") where header.hasMoreOfSparseMap:
            state = .sparseMap(header)
            return .more
        default:
            return .entry(try entry(header))
        }
    }

    private mutating func takeExtension(_ type: UInt8, _ data: Span<UInt8>) throws(NotTar) {
        let bytes = data.indices.map { data[$0] }
        switch type {
        case UInt8(ascii: "L"): longName = [UInt8](bytes.prefix { $0 != 0 })
        case UInt8(ascii: "K"): longLink = [UInt8](bytes.prefix { $0 != 0 })
        case UInt8(ascii: "x"): pax = try PaxRecords(parsing: bytes)
        // A global header changes nothing: a member must have the same path however it is reached.
        default: break
        }
    }

    private func entry(_ header: TarBlock) throws(NotTar) -> TarEntry {
        guard let headerSize = header.size else { throw NotTar("a header has no size") }
        let kind = TarEntry.Kind(header.type)
        let length = kind.hasContent ? pax.size ?? headerSize : 0
        let offset = place * UInt64(TarBlock.count) + taken
        guard length < 1 << 62, offset < 1 << 62 else { throw NotTar("the stream is too long") }
        let name = pax.sparseName ?? pax.path ?? longName ?? header.name
        let isSparse = pax.isSparse || header.type == UInt8(ascii: "S")
        let fileLength =
            isSparse ? pax.sparseLength ?? (header.type == UInt8(ascii: "S") ? header.sparseFileLength : nil) : nil
        return TarEntry(
            place: place, path: TarPath(trimming: name), name: name, kind: kind, contentOffset: offset,
            contentLength: length, fileLength: fileLength ?? length, isSparse: isSparse,
            permissions: header.number(100..<108).map { UInt16($0 & 0o7777) },
            modified: pax.modified ?? header.signedNumber(136..<148).map { Timestamp(seconds: $0) },
            userID: pax.userID ?? header.number(108..<116), groupID: pax.groupID ?? header.number(116..<124),
            linkTarget: kind.isLink ? pax.linkPath ?? longLink ?? header.link : [], attributeNames: pax.attributeNames)
    }
}

extension TarEntry.Kind {
    init(_ type: UInt8) {
        switch type {
        case 0, UInt8(ascii: "0"), UInt8(ascii: "7"), UInt8(ascii: "S"): self = .file
        case UInt8(ascii: "1"): self = .hardLink
        case UInt8(ascii: "2"): self = .symbolicLink
        case UInt8(ascii: "3"): self = .characterDevice
        case UInt8(ascii: "4"): self = .blockDevice
        case UInt8(ascii: "5"): self = .folder
        case UInt8(ascii: "6"): self = .pipe
        default: self = .other(type)
        }
    }

    /// Whether the size in the header is that of content: it is not for the types 1 to 6, whatever it says.
    var hasContent: Bool {
        switch self {
        case .file, .other: true
        default: false
        }
    }

    /// Whether it has a target.
    public var isLink: Bool { self == .hardLink || self == .symbolicLink }
}
