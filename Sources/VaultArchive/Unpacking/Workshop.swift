internal import CPlatform
internal import SystemPackage
internal import VaultSystem

/// A private folder beside extracted members. Each file is written there, and gets its name when it is whole.
final class Workshop: Sendable {
    static let prefix = ".vaultfile-extract-"
    /// The name of the file that is being written.
    static let file = FilePath("m")

    let folder: FileDescriptor
    private let name: FilePath
    /// The folder that it is in.
    private let parent: FileDescriptor

    /// Makes the folder in another one. Removes those that killed runs have left there.
    init(in place: FileDescriptor) throws(Errno) {
        let parent = FileDescriptor(rawValue: try retrying { vaultfile_above_standard(place.rawValue) })
        do throws(Errno) {
            Self.removeLeftovers(in: parent)
            var made: (name: FilePath, folder: FileDescriptor)?
            for _ in 0..<Self.attempts where made == nil { made = try Self.make(in: parent) }
            guard let made else { throw .resourceTemporarilyUnavailable }
            (name, folder) = made
            self.parent = parent
        } catch {
            try? parent.close()
            throw error
        }
    }

    private static let attempts = 100

    /// Makes a folder, and locks it, which tells other runs that this one is alive.
    ///
    /// - Returns: nil if another run has taken it for a leftover before it was locked.
    private static func make(in parent: FileDescriptor) throws(Errno) -> (FilePath, FileDescriptor)? {
        var generator = SystemRandomNumberGenerator()
        let name = FilePath(prefix + String(generator.next() as UInt64, radix: 16))
        try retrying { unsafe name.withPlatformString { unsafe mkdirat(parent.rawValue, $0, 0o700) } }
        let folder: FileDescriptor
        do {
            folder = try FileDescriptor.openForReading(name, in: parent, .folder)
        } catch .noSuchFileOrDirectory {
            return nil
        }
        // A file system without locks has no other run that could remove it.
        var isTaken = false
        do {
            try retrying { flock(folder.rawValue, LOCK_EX | LOCK_NB) }
        } catch {
            isTaken = error == .wouldBlock
        }
        if !isTaken, let own = try? folder.stat(),
            let named = try? Stat(name, relativeTo: parent, flags: .symlinkNoFollow),
            FileIdentity(named) == FileIdentity(own)
        {
            return (name, folder)
        }
        try? folder.close()
        return nil
    }

    deinit {
        remove()
        try? folder.close()
        try? parent.close()
    }

    /// Makes what was written durable.
    func synchronize() throws(Errno) {
        if let file = try? FileDescriptor.openForReading(Self.file, in: folder, .storage) {
            defer { try? file.close() }
            do {
                try retrying { vaultfile_synchronize(file.rawValue) }
                return
            } catch .invalidArgument {
                // A pipe.
            }
        }
        // A link cannot be opened, nor a file whose mode forbids it.
        try retrying { vaultfile_sync_file_system(folder.rawValue) }
    }

    /// Removes what was written.
    func clear() {
        _ = unsafe Self.file.withPlatformString { unsafe unlinkat(folder.rawValue, $0, 0) }
    }

    /// Removes the folder, and what is in it.
    func remove() { Self.remove(name, folder, in: parent) }

    private static func remove(_ name: FilePath, _ folder: FileDescriptor, in parent: FileDescriptor) {
        // When a signal ends the process, the thread that extracts can make one more file in between.
        for _ in 0..<attempts {
            _ = unsafe file.withPlatformString { unsafe unlinkat(folder.rawValue, $0, 0) }
            do {
                try retrying { unsafe name.withPlatformString { unsafe unlinkat(parent.rawValue, $0, AT_REMOVEDIR) } }
                return
            } catch {
                guard [.directoryNotEmpty, .fileExists].contains(error) else { return }
            }
        }
    }

    /// Whether a folder is one of these, by its name, its mode and what is in it.
    ///
    /// A user can have a folder with such a name. It has another mode, or other files in it.
    static func isOne(_ name: [UInt8], _ folder: FileDescriptor) -> Bool {
        guard name.starts(with: prefix.utf8), let stat = try? folder.stat(),
            // A folder below one with the bit for set-group-ID gets that bit, too.
            stat.permissions.intersection([.ownerReadWriteExecute, .groupReadWriteExecute, .otherReadWriteExecute])
                == .ownerReadWriteExecute
        else { return false }
        var isAlone = true
        do {
            try folder.forEachName { name, _ in if name != file.bytes { isAlone = false } }
        } catch {
            return false
        }
        // It holds a file or a link, never a folder.
        return isAlone && (try? Stat(file, relativeTo: folder, flags: .symlinkNoFollow).type) != .directory
    }

    private static func removeLeftovers(in parent: FileDescriptor) {
        var names: [[UInt8]] = []
        try? parent.forEachName { name, _ in if name.starts(with: prefix.utf8) { names.append(name) } }
        for name in names {
            let path = FilePath(bytes: name)
            guard let folder = try? FileDescriptor.openForReading(path, in: parent, .folder) else { continue }
            defer { try? folder.close() }
            guard isOne(name, folder), (try? folder.stat().userID.rawValue) == geteuid(),
                flock(folder.rawValue, LOCK_EX | LOCK_NB) == 0
            else { continue }
            remove(path, folder, in: parent)
        }
    }
}
