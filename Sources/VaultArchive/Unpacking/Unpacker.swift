internal import CArchive
internal import CPlatform
public import SystemPackage
internal import VaultFormat
internal import VaultSystem
public import VaultTar

/// Extracts members of a tar stream into a folder, by libarchive.
///
/// The maker of the stream may be hostile. Nothing is written outside of the folder: a path has no `..` and is not
/// absolute, no link is followed on the way to a member, and a link that leads out is refused.
///
/// A file gets its name when it is whole. Use it on one thread. It makes the folder the working folder of the process.
@safe public final class Unpacker {
    /// What is allowed.
    public struct Options: Sendable {
        /// Whether a member replaces a file that is there. With `preserves`, a folder that is there gets the mode and the
        /// times of its member, too.
        public var replaces = false
        /// Whether owners, access control lists, all extended attributes and the whole mode are restored. Otherwise it
        /// is the mode that the process's mask leaves, without set-user-ID and set-group-ID, and attributes of users.
        public var preserves = false
        /// Whether devices are made.
        public var makesDevices = false
        /// Whether symbolic links may lead out of the folder.
        public var makesAllLinks = false
        /// Whether a file is durable before it replaces another one. Otherwise a power failure could lose both.
        public var isDurable = true
        /// The mode bits that new files do not get.
        public var mask: UInt16 = 0o022
        /// How many folders get their attributes at the end. Further ones get them at once, and what is extracted into
        /// them later changes their times: a stream can have any number of folders.
        var mostFolders = 1 << 20

        /// The defaults, which are safe for the stream of a stranger.
        public init() {}
    }

    let library: ArchiveLibrary
    /// Writes everything but folders. A member that cannot be written spoils it, and another one takes its place.
    private var files: OpaquePointer
    private let flags: Int32
    let entry: OpaquePointer
    let options: Options
    private let root: FileDescriptor
    let read: @Sendable (UInt64, Int) throws -> [UInt8]
    var chain: FolderChain
    /// Where files are written.
    public let workshops = Workshops()
    /// The files and folders that this value made. A later member may replace them, because the last one with a path
    /// counts. A hard link may lead to them only: otherwise a member could change a file that was there before.
    ///
    /// Each has the place of its member: a link leads to members before it.
    var made: [FileIdentity: UInt64] = [:]
    /// The place of the last member with a path that was not extracted, by the hash of the path. A hard link that leads to
    /// it must not become one to a file that an earlier member with the path has left.
    var failed: [Int: UInt64] = [:]
    /// Where the last part of the stream begins whose members are not known. A hard link behind it must not become one
    /// to a file of a member before it, unless it leads there for certain: a later member with the path may be lost.
    var lastGap: UInt64 = 0
    /// Later ones are treated as if they had been there before. (No test makes so many.)
    private static let mostRemembered = 2 << 20
    /// The folders that get their attributes at the end, each with the last member that is this folder.
    var folders: [FileIdentity: FolderMember] = [:]

    /// - Parameters:
    ///   - folder: an open folder. The caller keeps it open.
    ///   - read: reads a part of the stream; fewer bytes only at its end.
    /// - Throws: `ArchiveError` if libarchive is missing; `Errno` if the folder cannot be used.
    public init(
        into folder: FileDescriptor, _ options: Options,
        reading read: @escaping @Sendable (UInt64, Int) throws -> [UInt8]
    ) throws {
        library = try ArchiveLibrary.load()
        ArchiveLibrary.useNamesInUTF8()
        let calls = library.calls
        // A second guard: paths were judged before, and FolderChain follows no link. So no test sees these missing.
        var flags = ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT
        flags |= ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_NO_AUTODIR
        flags |= ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_XATTR
        if options.preserves { flags |= ARCHIVE_EXTRACT_ACL | (geteuid() == 0 ? ARCHIVE_EXTRACT_OWNER : 0) }
        guard let files = unsafe Self.newWriter(library, flags), let entry = calls.archive_entry_new() else {
            throw ArchiveError("out of memory", systemError: .noMemory)
        }
        unsafe self.files = unsafe files
        self.flags = flags
        unsafe self.entry = unsafe entry
        self.options = options
        self.read = read
        root = folder
        chain = FolderChain(folder)
        // A target that cannot be written to is an error at once.
        _ = try workshops.workshop(in: folder)
        try enter(folder)
    }

    func newWriter() -> OpaquePointer? { unsafe Self.newWriter(library, flags) }

    private static func newWriter(_ library: ArchiveLibrary, _ flags: Int32) -> OpaquePointer? {
        guard let writer = library.calls.archive_write_disk_new() else { return nil }
        _ = unsafe library.calls.archive_write_disk_set_options(writer, flags)
        _ = unsafe library.calls.archive_write_disk_set_standard_lookup(writer)
        return unsafe writer
    }

    deinit {
        workshops.removeAll()
        try? enter(root)
        _ = unsafe library.calls.archive_write_free(files)
        unsafe library.calls.archive_entry_free(entry)
    }

    /// Extracts a member.
    ///
    /// - Parameters:
    ///   - member: its headers.
    ///   - target: finds the member that a hard link leads to (TAR-12), if that was not extracted before: the link then
    ///     becomes a file of its own.
    /// - Returns: what could not be restored of its attributes, in words of libarchive; nil if nothing is missing.
    /// - Throws: `Refusal` or `ArchiveError`, and the next member can be extracted; what reading and `target` throw.
    public func add(_ member: TarEntry, target: (TarEntry) throws -> TarEntry?) throws -> String? {
        guard let path = member.path else {
            // The folder itself, as `tar -c .` has it.
            if member.isRoot { return nil }
            throw Refusal.illegalPath
        }
        workshops.waitIfEnding()
        defer { workshops.waitIfEnding() }
        do {
            return try add(member, path, target)
        } catch {
            if failed.count < Self.mostRemembered {
                failed[path.hashValue] = member.place
            } else {
                lastGap = max(lastGap, member.place)
            }
            throw error
        }
    }

    private func add(
        _ member: TarEntry, _ path: TarPath, _ target: (TarEntry) throws -> TarEntry?
    ) throws -> String? {
        let components = path.bytes.split(separator: UInt8(ascii: "/"))[...]
        // The next run would take it for what a killed run has left.
        guard !components.contains(where: { $0.starts(with: Workshop.prefix.utf8) }) else { throw Refusal.reservedName }
        switch member.kind {
        case .folder: return try addFolder(member, path, components)
        case .hardLink: return try addHardLink(member, components, target)
        case .symbolicLink:
            guard options.makesAllLinks || Self.staysInside(member.linkTarget, depth: components.count - 1) else {
                throw Refusal.linkLeadsOut(member.linkTarget)
            }
        case .characterDevice, .blockDevice: guard options.makesDevices else { throw Refusal.device }
        case .other: throw Refusal.unknownKind
        case .file, .pipe: break
        }
        return try addFile(member, from: member, components)
    }

    /// Takes note of a part of the stream whose headers cannot be read.
    ///
    /// - Parameter start: where it begins, in bytes of the stream.
    public func pass(gapAt start: UInt64) { lastGap = max(lastGap, start / 512) }

    /// Restores the attributes of folders, which later members would have changed.
    ///
    /// - Parameter tell: takes the path of a folder and what could not be restored, in words of libarchive.
    public func finish(_ tell: (TarPath?, String) -> Void) {
        // First: to remove a workshop changes the time of the folder that it is in, and needs that folder's mode.
        workshops.removeAll()
        restoreFolders(tell)
    }

    /// Makes what was extracted durable.
    ///
    /// - Throws: `Errno`.
    public func synchronize() throws { try workshops.synchronize() }

    /// Makes a folder the working folder: libarchive takes paths, and none that begin in an open folder.
    func enter(_ folder: FileDescriptor) throws(Errno) {
        try retrying { fchdir(folder.rawValue) }
    }

    /// Whether a link in a folder so many levels down leads to a place within. A `..` behind a name could go up from
    /// where another link leads, so it counts as leading out.
    static func staysInside(_ target: [UInt8], depth: Int) -> Bool {
        guard target.first != UInt8(ascii: "/"), !target.isEmpty else { return false }
        var (level, hasName) = (depth, false)
        for component in target.split(separator: UInt8(ascii: "/")) where component != Array(".".utf8)[...] {
            guard component == Array("..".utf8)[...] else {
                hasName = true
                continue
            }
            level -= 1
            guard !hasName, level >= 0 else { return false }
        }
        return true
    }

    /// To be called when a name of a file goes. The system can give its number to a file of another program, which a later
    /// member must not replace.
    func forget(_ file: Stat) {
        if file.linkCount <= 1 { made[FileIdentity(file)] = nil }
    }

    func note(_ file: FileIdentity, of member: TarEntry) {
        if made.count < Self.mostRemembered { made[file] = member.place }
    }

    // MARK: Files

    /// - Parameter source: the member whose content and attributes it gets.
    func addFile(
        _ member: TarEntry, from source: TarEntry, _ components: ArraySlice<ArraySlice<UInt8>>
    ) throws -> String? {
        do {
            // Asked for before the content is read.
            return try write(member, from: source, components, in: workshop(for: member, components))
        } catch Refusal.system(.improperLink) {
            // Some file systems have parts between which nothing can be renamed, such as projects with quotas of their own.
            return try write(member, from: source, components, in: workshop(for: member, components, isOwn: true))
        }
    }

    private func write(
        _ member: TarEntry, from source: TarEntry, _ components: ArraySlice<ArraySlice<UInt8>>, in workshop: Workshop
    ) throws -> String? {
        defer { workshop.clear() }
        let reader = try unsafe MemberReader(source, library, entry, reading: read)
        var isWhole = false
        defer { if !isWhole { renewWriter() } }
        try enter(workshop.folder)
        var trouble = try unsafe writeHeader(source, at: Workshop.file, by: files)
        if source.kind == .file {
            try unsafe reader.forEachPiece { bytes, offset in
                let status = unsafe library.calls.archive_write_data_block(
                    files, bytes.baseAddress, bytes.count, la_int64_t(offset))
                guard status >= ARCHIVE_OK else { throw unsafe library.error(of: files, "cannot be written") }
            }
        }
        let status = unsafe library.calls.archive_write_finish_entry(files)
        if status != ARCHIVE_OK {
            let error = unsafe library.error(of: files, "attributes")
            guard status == ARCHIVE_WARN else { throw error }
            trouble = error.reason
        }
        isWhole = true
        trouble = trouble ?? missingBits(of: source, in: workshop)
        try name(member, components, from: workshop)
        return trouble
    }

    /// A member that was not written to its end would be ended by the next one, and make it fail too.
    private func renewWriter() {
        guard let writer = unsafe newWriter() else { return }
        _ = unsafe library.calls.archive_write_free(files)
        unsafe files = unsafe writer
    }

    /// Where a member is to be written. Refuses one whose name something has that was there before.
    ///
    /// - Parameter isOwn: whether it is to be in the folder of the member.
    func workshop(
        for member: TarEntry, _ components: ArraySlice<ArraySlice<UInt8>>, isOwn: Bool = false
    ) throws -> Workshop {
        guard let last = components.last else { throw Refusal.illegalPath }
        let name = FilePath(bytes: [UInt8](last))
        return try chain.with(components.dropLast(), making: { self.note($0, of: member) }) { folder in
            if let there = try? Stat(name, relativeTo: folder, flags: .symlinkNoFollow) {
                guard there.type != .directory else { throw Refusal.otherKind }
                guard options.replaces || made[FileIdentity(there)] != nil else { throw Refusal.exists }
            }
            do {
                return try workshops.workshop(in: folder, isOwn: isOwn)
            } catch let error as Errno {
                throw Refusal.system(error)
            }
        }
    }

    /// Gives what was written its name.
    ///
    /// - Parameter member: nil for another name of a file that is noted already.
    func name(
        _ member: TarEntry?, _ components: ArraySlice<ArraySlice<UInt8>>, from workshop: Workshop
    ) throws {
        guard let last = components.last else { throw Refusal.illegalPath }
        let name = FilePath(bytes: [UInt8](last))
        // Its folders were made when the workshop was asked for.
        try chain.with(components.dropLast(), making: nil) { folder in
            let there = try? Stat(name, relativeTo: folder, flags: .symlinkNoFollow)
            let isMade = there.map { made[FileIdentity($0)] != nil } ?? false
            let mayReplace = options.replaces || isMade
            do {
                if let there, there.type == .regular, !isMade, options.isDurable { try workshop.synchronize() }
                try retrying {
                    unsafe Workshop.file.withPlatformString { file in
                        unsafe name.withPlatformString { name in
                            unsafe vaultfile_rename(
                                workshop.folder.rawValue, file, folder.rawValue, name, mayReplace ? 1 : 0)
                        }
                    }
                }
            } catch Errno.fileExists {
                throw Refusal.exists
            } catch Errno.isDirectory {
                throw Refusal.otherKind
            } catch let error as Errno {
                throw Refusal.system(error)
            }
            if let there { forget(there) }
            guard let member, let now = try? Stat(name, relativeTo: folder, flags: .symlinkNoFollow) else { return }
            note(FileIdentity(now), of: member)
        }
    }
}
