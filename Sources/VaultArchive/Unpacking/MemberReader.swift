internal import CArchive
internal import SystemPackage
internal import VaultTar

/// Reads one member of a tar stream by libarchive: only the bytes of its headers and its content.
@safe final class MemberReader {
    private let library: ArchiveLibrary
    private let archive: OpaquePointer
    private let source: MemberBytes

    /// What libarchive knows of the member: everything but its names, which come from the headers as bytes.
    let entry: OpaquePointer

    /// - Parameter bytes: reads a part of the stream; no bytes at its end.
    /// - Throws: `ArchiveError` if libarchive takes it for another member, or for none; what `bytes` throws.
    init(
        _ member: TarEntry, _ library: ArchiveLibrary, _ entry: OpaquePointer,
        reading bytes: @escaping (UInt64, Int) throws -> [UInt8]
    ) throws {
        let calls = library.calls
        guard let archive = calls.archive_read_new() else {
            throw ArchiveError("out of memory", systemError: .noMemory)
        }
        self.library = library
        unsafe self.archive = unsafe archive
        unsafe self.entry = unsafe entry
        source = MemberBytes(member.place * 512..<member.nextPlace * 512, bytes)
        _ = unsafe calls.archive_read_support_format_tar(archive)
        let context = unsafe Unmanaged.passUnretained(source).toOpaque()
        _ = unsafe calls.archive_entry_clear(entry)
        let status = unsafe calls.archive_read_open(
            archive, context, nil, { _, context, start in unsafe MemberBytes.read(context, start) }, nil)
        guard status == ARCHIVE_OK, unsafe calls.archive_read_next_header2(archive, entry) >= ARCHIVE_WARN else {
            throw trouble("has wrong headers")
        }
        // The two parsers must see one file: otherwise the list that a person reads would not be what they get. libarchive
        // takes a file whose name ends with / for a folder, and the content would be lost without a word.
        // Of a member with very many extension headers it gives a file of no kind.
        let type = FileType(archived: UInt32(unsafe calls.archive_entry_filetype(entry)))
        guard let type, type == member.kind.archived else {
            throw ArchiveError(malformed: "has headers that contradict each other")
        }
        if member.kind == .file, unsafe UInt64(max(0, calls.archive_entry_size(entry))) != member.fileLength {
            throw ArchiveError(malformed: "has headers that contradict each other")
        }
        // It knows more maps of holes than the formats in the Spec. A mount and cat would give other bytes (TAR-11).
        guard unsafe member.isSparse || calls.archive_entry_sparse_reset(entry) == 0 else {
            throw ArchiveError(malformed: "has a map of holes of an unknown form")
        }
        guard promised <= member.contentLength else { throw Self.tooShort }
    }

    deinit {
        _ = unsafe library.calls.archive_read_free(archive)
    }

    /// The number of bytes that are no holes, by the member's map or its length.
    ///
    /// libarchive ends without an error if the content is shorter. Zeros would then take the place of bytes that the
    /// member never had, and nobody would know.
    private var promised: UInt64 {
        let calls = library.calls
        // There is no map, or its only part is the whole file.
        guard unsafe calls.archive_entry_sparse_reset(entry) > 0 else {
            return unsafe UInt64(max(0, calls.archive_entry_size(entry)))
        }
        var (sum, offset, size): (UInt64, la_int64_t, la_int64_t) = (0, 0, 0)
        while unsafe calls.archive_entry_sparse_next(entry, &offset, &size) == ARCHIVE_OK {
            let (next, overflow) = sum.addingReportingOverflow(UInt64(max(0, size)))
            sum = overflow ? .max : next
        }
        return sum
    }

    private static var tooShort: ArchiveError {
        ArchiveError(malformed: "its map of holes promises more bytes than it has")
    }

    /// What reading threw, else what libarchive says of the member.
    private func trouble(_ what: String) -> any Error {
        if let failure = source.failure { return failure }
        let error = unsafe library.error(of: archive, what)
        return error.systemError == .noMemory ? error : ArchiveError(malformed: "is malformed: \(error.reason)")
    }

    /// Passes the content to `body`, as pieces with their offsets, which ascend. Between them are holes.
    ///
    /// - Throws: `ArchiveError` if libarchive cannot read it, or if it is not what its map says; what reading and `body`
    ///   throw.
    func forEachPiece(_ body: (UnsafeRawBufferPointer, Int64) throws -> Void) throws {
        let calls = library.calls
        let promised = promised
        let length = unsafe UInt64(max(0, calls.archive_entry_size(entry)))
        var (end, sum): (UInt64, UInt64) = (0, 0)
        while true {
            var (start, count, offset): (UnsafeRawPointer?, Int, la_int64_t) = (nil, 0, 0)
            let status = unsafe calls.archive_read_data_block(archive, &start, &count, &offset)
            if status == ARCHIVE_EOF { break }
            guard status >= ARCHIVE_WARN else { throw trouble("cannot be read") }
            guard count > 0 else { continue }
            // The map comes from the maker of the stream.
            guard let place = UInt64(exactly: offset), place >= end, place <= length,
                UInt64(count) <= length - place
            else { throw ArchiveError(malformed: "its map of holes has parts in no order, or outside of the file") }
            end = place + UInt64(count)
            sum += UInt64(count)
            try unsafe body(UnsafeRawBufferPointer(start: start, count: count), Int64(offset))
        }
        guard sum >= promised else { throw Self.tooShort }
    }
}

extension TarEntry.Kind {
    /// What libarchive must take it for; nil for what is not written from its own headers.
    fileprivate var archived: FileType? {
        switch self {
        case .file: .regular
        case .folder: .directory
        case .symbolicLink: .symbolicLink
        case .characterDevice: .characterSpecial
        case .blockDevice: .blockSpecial
        case .pipe: .fifo
        case .hardLink, .other: nil
        }
    }
}

/// The bytes of one member, as libarchive asks for them.
@safe private final class MemberBytes {
    private static let pieceLength: UInt64 = 1 << 18

    private var left: Range<UInt64>
    private let read: (UInt64, Int) throws -> [UInt8]
    private(set) var failure: (any Error)?
    /// The last piece. libarchive uses it until it asks for the next one.
    private let piece: UnsafeMutableRawBufferPointer

    init(_ range: Range<UInt64>, _ read: @escaping (UInt64, Int) throws -> [UInt8]) {
        left = range
        self.read = read
        let count = Int(min(Self.pieceLength, UInt64(range.count)))
        unsafe piece = .allocate(byteCount: max(1, count), alignment: 16)
    }

    deinit {
        unsafe piece.deallocate()
    }

    static func read(
        _ context: UnsafeMutableRawPointer?, _ start: UnsafeMutablePointer<UnsafeRawPointer?>?
    ) -> Int {
        guard let context = unsafe context, let start = unsafe start else { return -1 }
        let source = unsafe Unmanaged<MemberBytes>.fromOpaque(context).takeUnretainedValue()
        unsafe start.pointee = unsafe UnsafeRawPointer(source.piece.baseAddress)
        return source.next()
    }

    private func next() -> Int {
        guard failure == nil, !left.isEmpty else { return failure == nil ? 0 : -1 }
        do {
            let wanted = Int(min(UInt64(unsafe piece.count), UInt64(left.count)))
            let bytes = try read(left.lowerBound, wanted)
            unsafe piece.copyBytes(from: bytes.prefix(wanted))
            left = left.lowerBound + UInt64(min(bytes.count, wanted))..<left.upperBound
            if bytes.isEmpty { left = left.upperBound..<left.upperBound }
            return min(bytes.count, wanted)
        } catch {
            failure = error
            return -1
        }
    }
}
