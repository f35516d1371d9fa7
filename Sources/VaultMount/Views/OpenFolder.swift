import CPlatform
import Synchronization
import SystemPackage
import VaultFile
import VaultFormat
import VaultSystem

/// An open folder of the source.
final class OpenFolder: Sendable {
    private let descriptor: FileDescriptor
    let identity: FileIdentity

    /// Takes over the descriptor, and closes it in the end, also if this throws.
    init(_ descriptor: FileDescriptor) throws {
        do {
            identity = FileIdentity(try descriptor.stat())
        } catch {
            try? descriptor.close()
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        try? descriptor.close()
    }

    /// When it was last changed.
    func modified() throws(Errno) -> Timestamp { try descriptor.stat().modified ?? Timestamp(seconds: 0) }

    /// What has this name in the view; nil if nothing has. A link is nothing.
    func look(for name: [UInt8]) throws -> (FolderNode.Kind, Timestamp)? {
        // A folder NAME hides a container NAME.vault beside it.
        if let stat = try stat(name), stat.type == .directory {
            return (.folder(FileIdentity(stat)), stat.modified ?? Timestamp(seconds: 0))
        }
        guard name.count + FolderView.ending.count <= longestName, let stat = try stat(name + FolderView.ending),
            stat.type == .regular
        else { return nil }
        return (.container(FolderNode.Version(stat)), stat.modified ?? Timestamp(seconds: 0))
    }

    /// The status of a name; nil if there is none. A link is not followed.
    private func stat(_ name: [UInt8]) throws(Errno) -> Stat? {
        do throws(Errno) {
            return try Stat(FilePath(bytes: name), relativeTo: descriptor, flags: .symlinkNoFollow)
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return nil
        }
    }

    /// Opens the folder of a node in this one.
    ///
    /// - Throws: `ViewError.replaced` if another folder has its name by now.
    func folder(_ node: FolderNode) throws -> OpenFolder {
        let opened: OpenFolder
        do throws(Errno) {
            let descriptor = try FileDescriptor.openForReading(FilePath(bytes: node.name), in: descriptor, .folder)
            opened = try Self.opened(descriptor)
        } catch {
            throw Self.isGone(error) ? ViewError.replaced : error
        }
        guard node.kind == .folder(opened.identity) else { throw ViewError.replaced }
        return opened
    }

    private static func opened(_ descriptor: FileDescriptor) throws(Errno) -> OpenFolder {
        do { return try OpenFolder(descriptor) } catch { throw error as? Errno ?? .ioError }
    }

    /// Opens the container of a node in this folder for reading.
    ///
    /// - Throws: `ViewError.replaced` if its name has another one by now, or another state of it.
    func open(_ node: FolderNode) throws -> FileDescriptor {
        let file: FileDescriptor
        do throws(Errno) {
            file = try FileDescriptor.openForReading(
                FilePath(bytes: node.name + FolderView.ending), in: descriptor, .storage)
        } catch {
            throw Self.isGone(error) ? ViewError.replaced : error
        }
        do {
            let stat = try file.stat()
            guard stat.type == .regular, node.kind == .container(FolderNode.Version(stat)) else {
                throw ViewError.replaced
            }
        } catch {
            try? file.close()
            throw error
        }
        return file
    }

    /// Calls `body` with the place of the container of a node in this folder.
    func withPlace<R>(of node: FolderNode, _ body: (FilePlace) throws -> R) rethrows -> R {
        try body(.name(FilePath(bytes: node.name + FolderView.ending), in: descriptor))
    }

    private static func isGone(_ error: Errno) -> Bool {
        [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error)
    }

    /// A stream of its names, from the first one on.
    fileprivate func stream() throws(Errno) -> OpaquePointer {
        // Opened again: a copy of the descriptor would share its position with other listings.
        let number = try FileDescriptor.openForReading(".", in: descriptor, .folder).rawValue
        guard let stream = unsafe fdopendir(number) else {
            let error = Errno(rawValue: vaultfile_error_number())
            CPlatform.close(number)
            throw error
        }
        return unsafe stream
    }

    /// What a name of a listing is in the view; nil if it is not shown.
    fileprivate func shown(_ name: [UInt8], _ type: Int32) throws -> ListedName? {
        guard !name.isEmpty, name.count <= longestName else { return nil }
        var kind = type
        if kind == Int32(DT_UNKNOWN) {
            switch try stat(name)?.type {
            case .directory: kind = Int32(DT_DIR)
            case .regular: kind = Int32(DT_REG)
            default: return nil
            }
        }
        if kind == Int32(DT_DIR) { return ListedName(name: name, kind: .folder) }
        let ending = FolderView.ending
        guard kind == Int32(DT_REG), name.count > ending.count, name.suffix(ending.count).elementsEqual(ending) else {
            return nil
        }
        let shown = [UInt8](name.dropLast(ending.count))
        guard shown != Array(".".utf8), shown != Array("..".utf8) else { return nil }
        // The folder beside it has its name.
        if let beside = try stat(shown), beside.type == .directory { return nil }
        return ListedName(name: shown, kind: .file)
    }
}

/// The listing of a folder of the source, in the order of its file system. It holds one name, however many there are.
final class FolderListing: OpenListing {
    @safe private struct State: @unchecked Sendable {
        var stream: OpaquePointer
        /// How many names were taken.
        var taken: UInt64 = 0
        /// A name that was read and not taken.
        var waiting: ListedName?
        /// Why the listing ends early. A name that has no status must not be left out without an error: a program that
        /// copies the folder would remove it from the copy.
        var failure: (any Error)?
    }

    private let folder: OpenFolder
    private let state: Mutex<State>

    init(_ folder: OpenFolder) throws {
        self.folder = folder
        let stream = try unsafe folder.stream()
        state = unsafe Mutex(State(stream: stream))
    }

    deinit {
        state.withLock { state in
            unsafe closedir(state.stream)
            return ()
        }
    }

    func list(after cookie: UInt64, _ body: (ListedName, UInt64) -> Bool) throws {
        try state.withLock { state in
            // A reader that goes back begins anew, and passes over what it had.
            if cookie < state.taken {
                unsafe rewinddir(state.stream)
                state.taken = 0
                state.waiting = nil
                state.failure = nil
            }
            if let failure = state.failure { throw failure }
            while let name = try exchange(&state.waiting, with: nil) ?? next(&state) {
                if state.taken >= cookie, !body(name, state.taken + 1) {
                    state.waiting = name
                    return
                }
                state.taken += 1
            }
        }
    }

    private func next(_ state: inout State) throws -> ListedName? {
        while true {
            vaultfile_set_error_number(0)
            guard let entry = unsafe readdir(state.stream) else {
                guard vaultfile_error_number() == 0 else { throw Errno(rawValue: vaultfile_error_number()) }
                return nil
            }
            // The name may be longer or shorter than its field is declared, so it is read as a C string.
            let start = unsafe UnsafeMutableRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
            let text = unsafe start.assumingMemoryBound(to: CChar.self)
            let name = unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
            guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
            do {
                if let shown = try folder.shown(name, unsafe Int32(entry.pointee.d_type)) { return shown }
            } catch {
                state.failure = error
                throw error
            }
        }
    }
}
