internal import CPlatform
internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// A text that an editor changes, in a folder of its own that only its owner can enter. The folder also takes the files
/// that editors make beside a text: swap files, backups.
///
/// Lost work is worse than a text that stays: the folder is removed only if nothing in it is new, or if the container
/// holds what the user wrote.
struct EditedText: Sendable {
    let file: FilePath
    private let folder: FilePath
    private let name: FilePath.Component
    /// Open and locked while this run uses the folder.
    private let lock: FileDescriptor
    /// The state of the file before the editor began; nil before that.
    private var written: Version?
    /// The process of the editor, while it runs.
    private var editor: pid_t?

    private static let prefix = "vaultfile-edit-"

    private struct Version: Equatable, Sendable {
        let identity: FileIdentity
        let size: Int64
        let modified: Timestamp?
        let changed: Timestamp?

        init?(_ path: FilePath) {
            guard let stat = try? path.stat(followTargetSymlink: false) else { return nil }
            identity = FileIdentity(stat)
            size = Int64(stat.size)
            modified = stat.modified
            changed = stat.changed
        }
    }

    // MARK: Its place

    /// Whether the files of a folder are in memory. False also if the system cannot tell.
    static func isInMemory(_ folder: FilePath) -> Bool {
        guard let descriptor = try? FileDescriptor.openForReading(folder, .folder) else { return false }
        defer { try? descriptor.close() }
        // tmpfs and ramfs
        return [0x0102_1994, 0x8584_58F6].contains(vaultfile_file_system(descriptor.rawValue))
    }

    /// The texts that earlier runs left in a folder because they held new work.
    static func leftBehind(in parent: FilePath) -> [FilePath] {
        guard let folder = try? OpenFolder(at: parent) else { return [] }
        var names: [[UInt8]] = []
        try? folder.forEachName { name, kind in
            if kind == .folder, name.starts(with: prefix.utf8) { names.append(name) }
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.map { parent.appending(FilePath(bytes: $0).string) }
            .filter { path in
                guard let stat = try? path.stat(followTargetSymlink: false), stat.userID.rawValue == getuid(),
                    let descriptor = try? FileDescriptor.openForReading(path, .folder)
                else { return false }
                defer { try? descriptor.close() }
                // Another run still uses it.
                return flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0
            }
    }

    /// Makes the folder, and an empty file in it, mode 0600.
    ///
    /// - Returns: The text, and the open file.
    static func make(in parent: FilePath, named name: FilePath.Component) throws -> (EditedText, FileDescriptor) {
        var template = Array(parent.appending(prefix + "XXXXXX").string.utf8CString)
        let isMade = unsafe template.withUnsafeMutableBufferPointer { template in
            unsafe template.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
        }
        guard isMade else { throw Errno(rawValue: vaultfile_error_number()) }
        let folder = FilePath(platformString: template)
        do {
            let lock = try FileDescriptor.openForReading(folder, .folder)
            _ = flock(lock.rawValue, LOCK_EX | LOCK_NB)
            let text = EditedText(name, in: folder, lock: lock)
            Signals.undo.withLock { $0.text = text }
            let descriptor = try FileDescriptor.open(
                text.file, .writeOnly, options: [.create, .exclusiveCreate, Platform.openOptions],
                permissions: [.ownerRead, .ownerWrite])
            return (text, descriptor)
        } catch {
            Signals.undo.withLock { $0.text = nil }
            _ = unsafe folder.withPlatformString { unsafe rmdir($0) }
            throw error
        }
    }

    private init(_ name: FilePath.Component, in folder: FilePath, lock: FileDescriptor) {
        file = folder.appending(name)
        self.folder = folder
        self.name = name
        self.lock = lock
    }

    // MARK: Editing

    /// Runs the editor on the file, and waits until it ends.
    ///
    /// - Parameter command: For the shell, without the file.
    /// - Returns: Why the editor failed, in words; nil if it succeeded.
    mutating func edit(with command: [UInt8]) throws(Errno) -> String? {
        written = Version(file)
        // An editor may interrupt this program as soon as it runs.
        tellSignals(editing: true)
        defer { tellSignals(editing: false) }
        let shell = try ShellCommand.Foreground(command, argument: Array(file.bytes))
        editor = shell.process
        tellSignals(editing: true)
        let failure = shell.wait()
        editor = nil
        return failure
    }

    private func tellSignals(editing isEditing: Bool) {
        Signals.undo.withLock { state in
            state.text = self
            state.ignoresKeyboard = isEditing
        }
    }

    /// Whether something in the folder is new: the file was written and is not empty, or another file is beside it.
    private var holdsWork: Bool {
        guard let written else { return false }
        guard let folder = try? OpenFolder(at: folder) else { return true }
        let own = Array(file.lastComponent?.string.utf8 ?? "".utf8)
        var hasOthers = false
        do {
            try folder.forEachName { name, _ in if name != own { hasOthers = true } }
        } catch {
            return true
        }
        guard !hasOthers, let now = Version(file) else { return hasOthers }
        return now != written && now.size > 0
    }

    // MARK: Its end

    /// Removes the folder with all files in it.
    ///
    /// - Returns: What may still hold plaintext; nil if nothing does. An empty folder may be left.
    func remove() -> FilePath? {
        Signals.undo.withLock { $0.text = nil }
        return removeAll()
    }

    /// Removes the folder if nothing in it is new.
    ///
    /// - Returns: What may still hold plaintext; nil if nothing does.
    func removeUnlessNew() -> FilePath? {
        guard !holdsWork else {
            Signals.undo.withLock { $0.text = nil }
            return file
        }
        return remove()
    }

    /// Plaintext must not stay because one call fails. So the text is removed by its name before the folder is listed,
    /// and everything is tried twice.
    private func removeAll() -> FilePath? {
        defer { try? lock.close() }
        var isEmpty = false
        for _ in 0..<2 {
            removeEntry(FilePath(root: nil, [name]))
            var names: [[UInt8]] = []
            let list = Result { () throws(Errno) in try lock.forEachName { name, _ in names.append(name) } }
            for name in names { removeEntry(FilePath(bytes: name)) }
            if unsafe folder.withPlatformString({ unsafe rmdir($0) }) == 0 { return nil }
            if case .success = list { isEmpty = names.isEmpty }
        }
        return isEmpty ? nil : Version(file) == nil ? folder : file
    }

    /// Removes a file of the folder. If its name stays, its contents go.
    private func removeEntry(_ name: FilePath) {
        do throws(Errno) {
            try Platform.remove(name, in: lock)
        } catch {
            guard error != .noSuchFileOrDirectory else { return }
            try? Platform.empty(name, in: lock)
        }
    }

    /// What a signal does that ends the program: the editor gets it too and has two seconds to save what it holds. A
    /// text that may hold new work stays.
    func end(by number: Int32) {
        if let editor {
            kill(editor, number)
            // The main thread waits for the editor. Until it has, the process exists.
            for _ in 0..<100 where kill(editor, 0) == 0 { Platform.pause(.milliseconds(20)) }
        }
        guard holdsWork else {
            if let left = removeAll() { tell("plaintext could not be removed from", left) }
            return
        }
        tell("the edited text is in", file)
    }

    private func tell(_ what: String, _ path: FilePath) {
        FileDescriptor.standardError.writeTextIfReady("vaultfile: \(what) \(Self.shown(path))\n")
    }

    private static func shown(_ path: FilePath) -> String {
        String(
            decoding: path.bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// The editor that the environment names.
enum Editor {
    /// The command for the shell: `VISUAL`, else `EDITOR`, else `vi`.
    static var command: [UInt8] {
        ["VISUAL", "EDITOR"].lazy.compactMap { Platform.environment($0) }.first { !$0.isEmpty } ?? Array("vi".utf8)
    }
}
