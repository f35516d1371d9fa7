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

    /// Its names, from the first one on.
    fileprivate func names() throws(Errno) -> FolderNames { try FolderNames(of: descriptor) }

    /// What a name of a listing is in the view; nil if it is not shown.
    fileprivate func shown(_ name: [UInt8], _ listed: EntryKind?) throws -> ListedName? {
        guard !name.isEmpty, name.count <= longestName else { return nil }
        var kind = listed
        if kind == nil {
            switch try stat(name)?.type {
            case .directory: kind = .folder
            case .regular: kind = .regular
            default: return nil
            }
        }
        if kind == .folder { return ListedName(name: name, kind: .folder) }
        let ending = FolderView.ending
        guard kind == .regular, name.count > ending.count, name.suffix(ending.count).elementsEqual(ending) else {
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
    private struct State: @unchecked Sendable {
        let names: FolderNames
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
        state = Mutex(State(names: try folder.names()))
    }

    func list(after cookie: UInt64, _ body: (ListedName, UInt64) -> Bool) throws {
        try state.withLock { state in
            // A reader that goes back begins anew, and passes over what it had.
            if cookie < state.taken {
                state.names.rewind()
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
        while let (name, kind) = try state.names.next() {
            do {
                if let shown = try folder.shown(name, kind) { return shown }
            } catch {
                state.failure = error
                throw error
            }
        }
        return nil
    }
}
