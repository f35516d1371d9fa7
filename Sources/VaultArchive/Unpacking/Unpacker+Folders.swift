internal import CArchive
internal import CPlatform
internal import SystemPackage
internal import VaultFormat
internal import VaultSystem
internal import VaultTar

/// The last member that is a folder, without its path, of which a stream can have a gigabyte.
struct FolderMember: Sendable {
    /// Its place in the stream. Its headers are read again at the end.
    let place: UInt64
    /// How many folders its path has.
    let depth: Int
}

/// Folders.
///
/// libarchive would keep the paths of folders, and set their modes and times by path at the end of the run. Until then
/// an attacker who can write in the target could put a link in the place of a folder above: then a folder elsewhere would
/// get the mode, the owner and the times of the member. So each folder is made in its open parent. At the end it is opened
/// without links on the way, compared with the one that was noted, and is the working folder while libarchive sets the
/// attributes of `.`.
extension Unpacker {
    func addFolder(
        _ member: TarEntry, _ path: TarPath, _ components: ArraySlice<ArraySlice<UInt8>>
    ) throws -> String? {
        guard let last = components.last else { throw Refusal.illegalPath }
        let name = FilePath(bytes: [UInt8](last))
        // Before anything is removed: libarchive can refuse the member.
        let reader = try unsafe MemberReader(member, library, entry, reading: read)
        let mode = UInt16(truncatingIfNeeded: unsafe library.calls.archive_entry_perm(reader.entry)) & 0o777
        let wasThere = try chain.with(components.dropLast(), making: { self.note($0, of: member) }) { folder -> Bool in
            try workshops.note(folder)
            if let there = try? Stat(name, relativeTo: folder, flags: .symlinkNoFollow) {
                if there.type == .directory { return true }
                guard there.type == .symbolicLink else { throw Refusal.otherKind }
                guard options.replaces || made[FileIdentity(there)] != nil else { throw Refusal.exists }
                _ = unsafe name.withPlatformString { unsafe unlinkat(folder.rawValue, $0, 0) }
                forget(there)
            }
            do {
                // With the right to write for its owner until the end: what is in it comes later.
                try retrying {
                    unsafe name.withPlatformString {
                        unsafe mkdirat(folder.rawValue, $0, mode_t(mode & ~options.mask | 0o700))
                    }
                }
            } catch let error as Errno {
                throw error == .fileExists ? Refusal.otherKind : Refusal.system(error)
            }
            return false
        }
        return try chain.with(components, making: nil) { folder -> String? in
            // It can be the first one on a file system that is mounted there.
            try workshops.note(folder)
            let identity = FileIdentity(try folder.stat())
            if !wasThere { note(identity, of: member) }
            // A folder that was there before keeps its mode and its times: it may be private, and have more in it than
            // the stream has. Only who restores everything wants it as it was.
            let mayChange = options.replaces && options.preserves
            guard mayChange || made[identity] != nil else { return nil }
            if folders[identity] != nil || folders.count < options.mostFolders {
                folders[identity] = FolderMember(place: member.place, depth: components.count)
                return nil
            }
            return try restore(reader, member, folder, isLast: false)
        }
    }

    /// Gives the folders their attributes, those farthest from the root first: a mode can forbid to open what is below.
    func restoreFolders(_ tell: (TarPath?, String) -> Void) {
        let source = TarSource(reading: read)
        let sorted = folders.sorted { ($0.value.depth, $0.value.place) > ($1.value.depth, $1.value.place) }
        folders = [:]
        for (identity, found) in sorted {
            var path: TarPath?
            do {
                guard let member = try source.entry(at: found.place), let its = member.path else {
                    throw ArchiveError(malformed: "its headers have changed")
                }
                path = its
                let reader = try unsafe MemberReader(member, library, entry, reading: read)
                let components = its.bytes.split(separator: UInt8(ascii: "/"))[...]
                let trouble = try chain.with(components, making: nil) { folder -> String? in
                    // Another program has put another folder there, whose attributes are not those of the stream.
                    guard FileIdentity(try folder.stat()) == identity else { return "it was replaced meanwhile" }
                    return try restore(reader, member, folder, isLast: true)
                }
                if let trouble { tell(path, trouble) }
            } catch let error as ArchiveError {
                tell(path, error.reason)
            } catch Refusal.system(let error) {
                tell(path, error.description)
            } catch Refusal.behindLink {
                tell(path, "a link is in its place now")
            } catch {
                tell(path, "its headers cannot be read again")
            }
        }
    }

    /// Sets the attributes of an open folder.
    ///
    /// - Parameters:
    ///   - reader: the one that has read `member`.
    ///   - isLast: whether nothing more is extracted into it.
    /// - Returns: what could not be restored.
    private func restore(
        _ reader: MemberReader, _ member: TarEntry, _ folder: FileDescriptor, isLast: Bool
    ) throws -> String? {
        do {
            try enter(folder)
        } catch {
            throw Refusal.system(error)
        }
        let calls = library.calls
        if !isLast { unsafe calls.archive_entry_set_perm(reader.entry, calls.archive_entry_perm(reader.entry) | 0o700) }
        guard let writer = unsafe newWriter() else { throw ArchiveError("out of memory", systemError: .noMemory) }
        defer { _ = unsafe calls.archive_write_free(writer) }
        let trouble = try unsafe writeHeader(member, at: ".", by: writer)
        let status = unsafe calls.archive_write_close(writer)
        let failure = unsafe status == ARCHIVE_OK ? nil : library.error(of: writer, "attributes").reason
        // libarchive sets the times of a folder only if it has made it.
        if let time = member.modified {
            _ = vaultfile_set_modified(folder.rawValue, time.seconds, Int(time.nanoseconds))
        }
        return trouble ?? failure
    }
}
