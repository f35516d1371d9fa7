internal import CArchive
internal import CPlatform
public import SystemPackage
internal import VaultSystem

/// Writes a pax tar stream of files of this machine, by libarchive.
///
/// Use it on one thread. The order of the members is that of the calls.
@safe public final class TarPacker {
    /// What became of a file.
    public enum Outcome: Hashable, Sendable {
        /// It is in the stream.
        case packed
        /// It was gone, and is not in the stream.
        case vanished
        /// It is in the stream, without something that belongs to it, such as an extended attribute: what libarchive says
        /// of it.
        case incomplete(ArchiveError)
        /// It is in the stream, and changed while it was read: its bytes may be of different times.
        case changed
        /// It is in the stream, and reading failed: zeros take the place of the rest.
        case cut(Errno)
        /// It became another kind of file, and is not in the stream.
        case changedKind
        /// It cannot be read, and is not in the stream.
        case unreadable(Errno)
        /// tar has no form for it, such as a socket. It is not in the stream.
        case unsuitable(String)
    }

    private let library: ArchiveLibrary
    private let archive: OpaquePointer
    private let disk: OpaquePointer
    private let entry: OpaquePointer
    private let sink: Sink
    private var links = LinkTable()
    private let buffer: UnsafeMutableRawBufferPointer
    /// What holes are made of.
    private let zeros: UnsafeMutableRawBufferPointer
    private var isFinished = false
    /// Reads bytes of a file from an offset on. A test puts another one here.
    var read: (FileDescriptor, Int64, UnsafeMutableRawBufferPointer) throws -> Int = { file, offset, buffer in
        try unsafe file.read(fromAbsoluteOffset: offset, into: buffer)
    }

    private static let pieceLength = 1 << 20
    /// libarchive collects so many bytes before it writes them.
    private static let blockLength: Int32 = 1 << 18

    /// - Parameter write: takes the next bytes of the stream.
    /// - Throws: `ArchiveError` if libarchive is missing.
    public init(_ write: @escaping (Span<UInt8>) throws -> Void) throws(ArchiveError) {
        library = try ArchiveLibrary.load()
        ArchiveLibrary.useNamesInUTF8()
        let calls = library.calls
        guard let archive = calls.archive_write_new(), let disk = calls.archive_read_disk_new(),
            let entry = calls.archive_entry_new()
        else { throw ArchiveError("out of memory", systemError: .noMemory) }
        unsafe self.archive = archive
        unsafe self.disk = disk
        unsafe self.entry = entry
        sink = Sink(write)
        unsafe buffer = .allocate(byteCount: Self.pieceLength, alignment: 4096)
        unsafe zeros = .allocate(byteCount: Self.pieceLength, alignment: 4096)
        unsafe zeros.initializeMemory(as: UInt8.self, repeating: 0)
        _ = unsafe calls.archive_read_disk_set_symlink_physical(disk)
        _ = unsafe calls.archive_read_disk_set_standard_lookup(disk)
        _ = unsafe calls.archive_write_set_format_pax(archive)
        // Of the two forms of extended attributes, GNU tar reads this one.
        _ = unsafe calls.archive_write_set_format_option(archive, "pax", "xattrheader", "SCHILY")
        _ = unsafe calls.archive_write_set_bytes_per_block(archive, Self.blockLength)
        _ = unsafe calls.archive_write_set_bytes_in_last_block(archive, 1)
        let context = unsafe Unmanaged.passUnretained(sink).toOpaque()
        let status = unsafe calls.archive_write_open(
            archive, context, nil,
            { _, context, bytes, count in unsafe Sink.write(context, bytes, count) }, nil)
        guard status == ARCHIVE_OK else { throw unsafe library.error(of: archive, "cannot begin a tar stream") }
    }

    deinit {
        // An archive that was not finished must not write its end.
        if !isFinished { sink.isClosed = true }
        _ = unsafe library.calls.archive_write_free(archive)
        _ = unsafe library.calls.archive_read_free(disk)
        unsafe library.calls.archive_entry_free(entry)
        unsafe buffer.deallocate()
        unsafe zeros.deallocate()
    }

    /// Adds the folder that a descriptor is of.
    ///
    /// - Parameter path: its path in the stream.
    /// - Throws: `ArchiveError` if the stream cannot be written further; what writing threw.
    public func add(folder: FileDescriptor, as path: [UInt8]) throws -> Outcome {
        try add(path, try Self.place(of: folder), folder, .directory, isSparse: false)
    }

    /// Adds what has a name in a folder. A link is not followed.
    ///
    /// - Parameters:
    ///   - name: one component.
    ///   - path: its path in the stream.
    ///   - isLeftOut: says whether a file is left out after all.
    /// - Returns: nil if it was left out; else what became of it.
    /// - Throws: `ArchiveError` if the stream cannot be written further; what writing threw.
    public func add(
        _ name: FilePath, in folder: FileDescriptor, as path: [UInt8], unless isLeftOut: (Stat) -> Bool = { _ in false }
    ) throws -> Outcome? {
        do {
            let stat = try Stat(name, relativeTo: folder, flags: .symlinkNoFollow)
            guard !isLeftOut(stat) else { return nil }
            switch stat.type {
            case .regular: return try addFile(name, in: folder, as: path)
            case .symbolicLink, .characterSpecial, .blockSpecial, .fifo:
                let linked = LinkTable.File(stat, at: name, in: folder)
                let earlier = links.earlierPath(of: linked)
                let outcome = try add(
                    path, try Self.place(of: name, in: folder), nil, stat.type, isSparse: false, linkTo: earlier)
                if earlier == nil, outcome.hasHeader { links.note(linked, at: path) }
                return outcome
            case .directory: return .changedKind
            case .socket: return .unsuitable("is a socket")
            default: return .unsuitable("is of an unknown kind")
            }
        } catch Errno.noSuchFileOrDirectory {
            return .vanished
        } catch let error as Errno {
            return .unreadable(error)
        }
    }

    /// Ends the stream.
    ///
    /// - Throws: `ArchiveError` if that fails; what writing threw.
    public func finish() throws {
        guard unsafe library.calls.archive_write_close(archive) == ARCHIVE_OK else { throw failure("closing") }
        isFinished = true
    }

    private func addFile(_ name: FilePath, in folder: FileDescriptor, as path: [UInt8]) throws -> Outcome {
        let file = try FileDescriptor.openForReading(name, in: folder, .storage)
        defer { try? file.close() }
        let stat = try file.stat()
        guard stat.type == .regular else { return .changedKind }
        let linked = LinkTable.File(stat, of: file)
        if let earlier = links.earlierPath(of: linked) {
            return try add(path, try Self.place(of: file), file, .regular, isSparse: false, linkTo: earlier)
        }
        // Asking for the map of holes makes some file systems write the file out, so only files with holes are asked.
        let isSparse = stat.blocksAllocated < (stat.size + 511) / 512
        let outcome = try add(path, try Self.place(of: file), file, .regular, isSparse: isSparse)
        guard outcome.hasHeader else { return outcome }
        links.note(linked, at: path)
        // The length in the header is of a later moment than `stat`.
        let length = unsafe UInt64(max(0, library.calls.archive_entry_size(entry)))
        if let error = try copy(file, length) { return .cut(error) }
        guard unsafe library.calls.archive_write_finish_entry(archive) >= ARCHIVE_WARN else {
            throw failure("writing \(Self.text(path))")
        }
        let now = try? file.stat()
        let isSame = now.map { $0.size == stat.size && $0.modified == stat.modified && $0.changed == stat.changed }
        // What is missing is worth more words than what is of another moment.
        return isSame == false && outcome == .packed ? .changed : outcome
    }

    /// Writes the header of a member.
    ///
    /// - Parameters:
    ///   - place: a path by which libarchive finds what no descriptor gives.
    ///   - file: the open file; nil for what cannot be opened.
    private func add(
        _ path: [UInt8], _ place: FilePath, _ file: FileDescriptor?, _ type: FileType, isSparse: Bool,
        linkTo earlier: [UInt8]? = nil
    ) throws -> Outcome {
        let calls = library.calls
        _ = unsafe calls.archive_entry_clear(entry)
        unsafe Self.withCString(path) { unsafe calls.archive_entry_copy_pathname(entry, $0) }
        unsafe place.withPlatformString { unsafe calls.archive_entry_copy_sourcepath(entry, $0) }
        // File flags belong to one kind of file system, and other programs warn of them.
        let behavior = ARCHIVE_READDISK_NO_FFLAGS | (isSparse ? 0 : ARCHIVE_READDISK_NO_SPARSE)
        _ = unsafe calls.archive_read_disk_set_behavior(disk, behavior)
        let status = unsafe calls.archive_read_disk_entry_from_file(disk, entry, file?.rawValue ?? -1, nil)
        // Taken now: the next call on it forgets it.
        let error = status == ARCHIVE_OK ? nil : unsafe library.error(of: disk, "cannot be read")
        if let error, status < ARCHIVE_WARN {
            return error.systemError == .noSuchFileOrDirectory ? .vanished : .unreadable(error.systemError ?? .ioError)
        }
        // Between two calls another program can put something else there, unless the file is open.
        guard let found = FileType(archived: UInt32(unsafe calls.archive_entry_filetype(entry))), found == type else {
            return .changedKind
        }
        dropWhatOthersWarnOf()
        if let earlier {
            unsafe Self.withCString(earlier) { unsafe calls.archive_entry_copy_hardlink(entry, $0) }
            unsafe calls.archive_entry_set_size(entry, 0)
            unsafe calls.archive_entry_sparse_clear(entry)
        } else if type != .regular {
            unsafe calls.archive_entry_set_size(entry, 0)
        }
        let written = unsafe calls.archive_write_header(archive, entry)
        guard written >= ARCHIVE_WARN else { throw failure("writing \(Self.text(path))") }
        let loss = written == ARCHIVE_OK ? nil : unsafe library.error(of: archive, "cannot be written whole")
        return Self.outcome(reading: error, writing: loss)
    }

    /// The outcome for a member whose header is in the stream.
    ///
    /// libarchive calls it a warning if it cannot list or read extended attributes or access control lists. Without a
    /// word about it, the user would learn from a restored system that they are missing.
    ///
    /// - Parameters:
    ///   - reading: what it warns of when it asks the system about a file.
    ///   - writing: what it warns of when it writes the header.
    static func outcome(reading: ArchiveError?, writing: ArchiveError?) -> Outcome {
        if let reading { return .incomplete(reading) }
        // A name that is no UTF-8. It is in the header as it is.
        guard let writing, writing.systemError != Self.isNoText else { return .packed }
        return .incomplete(writing)
    }

    #if canImport(Darwin)
    private static let isNoText = Errno.badFileTypeOrFormat
    #else
    private static let isNoText = Errno.illegalByteSequence
    #endif

    /// Leaves out what no restoring program uses: the times of the last access, of the last change and of the birth,
    /// and the numbers of device, inode and links.
    private func dropWhatOthersWarnOf() {
        let calls = library.calls
        unsafe calls.archive_entry_unset_atime(entry)
        unsafe calls.archive_entry_unset_ctime(entry)
        unsafe calls.archive_entry_unset_birthtime(entry)
        unsafe calls.archive_entry_set_dev(entry, 0)
        unsafe calls.archive_entry_set_ino64(entry, 0)
        unsafe calls.archive_entry_set_nlink(entry, 1)
    }

    /// Writes the contents of a file: exactly as many bytes as its header says. The holes are not read.
    ///
    /// - Returns: why the file could not be read to its end, if so. Zeros are in the stream instead.
    private func copy(_ file: FileDescriptor, _ length: UInt64) throws -> Errno? {
        var (offset, size): (la_int64_t, la_int64_t) = (0, 0)
        let calls = library.calls
        var done: UInt64 = 0
        // Without a map all of it is one part.
        if unsafe calls.archive_entry_sparse_reset(entry) > 0 {
            while unsafe calls.archive_entry_sparse_next(entry, &offset, &size) == ARCHIVE_OK {
                let start = min(length, UInt64(max(0, offset)))
                let (end, overflow) = start.addingReportingOverflow(UInt64(max(0, size)))
                try pass(zeros: start - min(start, done))
                done = max(done, start)
                if let error = try pass(file, done..<max(done, overflow ? length : min(length, end))) { return error }
                done = max(done, overflow ? length : min(length, end))
            }
            try pass(zeros: length - min(length, done))
            return nil
        }
        return try pass(file, 0..<length)
    }

    private func pass(zeros count: UInt64) throws {
        var left = count
        while left > 0 {
            let piece = unsafe Int(min(left, UInt64(zeros.count)))
            try unsafe write(UnsafeRawBufferPointer(rebasing: zeros[..<piece]))
            left -= UInt64(piece)
        }
    }

    private func pass(_ file: FileDescriptor, _ range: Range<UInt64>) throws -> Errno? {
        var place = range.lowerBound
        while place < range.upperBound {
            let wanted = unsafe Int(min(range.upperBound - place, UInt64(buffer.count)))
            let piece = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count: Int
            do {
                count = try unsafe read(file, Int64(place), piece)
            } catch {
                // libarchive writes zeros for the rest, so that the stream goes on.
                return error as? Errno ?? .ioError
            }
            guard count > 0 else {
                // The file has become shorter. Its new time shows that. If it grows again, what is behind this part would
                // come to the place of the missing bytes.
                try pass(zeros: range.upperBound - place)
                return nil
            }
            try unsafe write(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            place += UInt64(count)
        }
        return nil
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        var done = 0
        while done < bytes.count {
            let count = unsafe library.calls.archive_write_data(
                archive, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done)
            guard count > 0 else { throw failure("writing") }
            done += count
        }
    }

    /// What writing threw, else libarchive's error.
    private func failure(_ what: String) -> any Error {
        sink.failure ?? (unsafe library.error(of: archive, what))
    }

    private static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

    private static func withCString(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Void) {
        let text = bytes.map(CChar.init(bitPattern:)) + [0]
        unsafe text.withUnsafeBufferPointer { text in
            if let start = text.baseAddress { unsafe body(start) }
        }
    }

    /// A path of an open file or folder. On Linux it means that file whatever its names are; elsewhere it is the path
    /// that the file has now, and what another program puts there meanwhile is found out by its kind.
    private static func place(of file: FileDescriptor) throws(Errno) -> FilePath {
        var buffer = [CChar](repeating: 0, count: Int(VAULTFILE_LONGEST_PLACE))
        let status = unsafe buffer.withUnsafeMutableBufferPointer {
            unsafe vaultfile_archive_place(file.rawValue, $0.baseAddress, $0.count)
        }
        guard status == 0 else { throw Errno(rawValue: status) }
        return FilePath(bytes: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)))
    }

    private static func place(of name: FilePath, in folder: FileDescriptor) throws(Errno) -> FilePath {
        try place(of: folder).pushing(name)
    }
}

/// Where the bytes of the stream go.
private final class Sink {
    private let write: (Span<UInt8>) throws -> Void
    private(set) var failure: (any Error)?
    var isClosed = false

    init(_ write: @escaping (Span<UInt8>) throws -> Void) {
        self.write = write
    }

    static func write(_ context: UnsafeMutableRawPointer?, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        guard let context = unsafe context else { return -1 }
        let sink = unsafe Unmanaged<Sink>.fromOpaque(context).takeUnretainedValue()
        guard sink.failure == nil else { return -1 }
        if sink.isClosed { return count }
        do {
            let bytes = unsafe UnsafeBufferPointer(start: bytes?.assumingMemoryBound(to: UInt8.self), count: count)
            try sink.write(unsafe Span(_unsafeElements: bytes))
            return count
        } catch {
            sink.failure = error
            return -1
        }
    }
}

extension TarPacker.Outcome {
    /// Whether a header is written, and the content can follow.
    fileprivate var hasHeader: Bool {
        switch self {
        case .packed, .incomplete: true
        default: false
        }
    }
}

extension LinkTable.File {
    /// - Parameter file: the open file that has this status.
    fileprivate init(_ stat: Stat, of file: FileDescriptor) {
        self.init(stat) { unsafe vaultfile_archive_birth(file.rawValue, "") }
    }

    /// - Parameter name: the name of a file with this status, which is not followed if it is a link.
    fileprivate init(_ stat: Stat, at name: FilePath, in folder: FileDescriptor) {
        self.init(stat) { unsafe name.withPlatformString { unsafe vaultfile_archive_birth(folder.rawValue, $0) } }
    }

    /// Most files have one name, and nothing more is asked about these.
    private init(_ stat: Stat, _ birth: () -> UInt64) {
        let names = UInt64(stat.linkCount)
        self.init(
            identity: FileIdentity(stat), names: names, size: stat.size, modified: stat.modified,
            birth: names > 1 ? birth() : 0)
    }
}

extension FileType {
    /// The kind by the number that libarchive has for it; nil for none of these.
    init?(archived number: UInt32) {
        switch number & 0o170000 {
        case 0o100000: self = .regular
        case 0o120000: self = .symbolicLink
        case 0o020000: self = .characterSpecial
        case 0o060000: self = .blockSpecial
        case 0o040000: self = .directory
        case 0o010000: self = .fifo
        default: return nil
        }
    }
}
