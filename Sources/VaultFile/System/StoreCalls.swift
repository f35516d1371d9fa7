package import SystemPackage
package import VaultFormat
package import VaultSystem

/// What a store asks the system for, besides reading and writing containers.
extension FileDescriptor {
    /// Opens a folder. A link is refused if the path begins in an open folder.
    ///
    /// - Throws: `inputFailed`.
    package static func folder(_ path: FilePath, in folder: FileDescriptor? = nil) throws(VaultError) -> FileDescriptor
    {
        do {
            return try openToRead(path, in: folder, .folder)
        } catch {
            throw VaultError(.inputFailed, "its folder cannot be opened: \(error)", systemError: error)
        }
    }

    /// Opens a folder by its own name: a link to it is refused.
    ///
    /// - Throws: `inputFailed`.
    package static func folderItself(_ path: FilePath) throws(VaultError) -> FileDescriptor {
        let here = FileDescriptor(rawValue: OpenFlags.currentDirectory)
        do {
            return try folder(path, in: here)
        } catch {
            guard let status = try here.status(of: path), status.kind == .link else { throw error }
            throw VaultError(.inputFailed, "it is a link: name the folder that it leads to")
        }
    }

    /// Opens a file in a folder for reading and writing. No link is followed.
    ///
    /// - Throws: `inputFailed`.
    package static func toUpdate(_ name: FilePath, in folder: FileDescriptor) throws(VaultError) -> FileDescriptor {
        do {
            return FileDescriptor(
                rawValue: try retrying { SystemCalls.current.openAt(folder.rawValue, name, OpenFlags.updating, 0) })
        } catch {
            throw VaultError(.inputFailed, "its file \(name) cannot be opened: \(error)", systemError: error)
        }
    }

    /// The status of a file in this folder; nil if there is none. No link is followed.
    ///
    /// - Throws: `inputFailed`.
    package func status(of name: FilePath) throws(VaultError) -> FileStatus? {
        switch SystemCalls.current.statusAt(rawValue, name, false) {
        case .success(let status): return status
        case .failure(.noSuchFileOrDirectory): return nil
        case .failure(let error):
            throw VaultError(.inputFailed, "its status cannot be read: \(error)", systemError: error)
        }
    }

    /// The identity of the open file.
    ///
    /// - Throws: `inputFailed`.
    package func identity() throws(VaultError) -> FileIdentity {
        do {
            return try status().identity
        } catch {
            throw VaultError(.inputFailed, "its status cannot be read: \(error)", systemError: error)
        }
    }

    /// Locks the open file exclusively, and returns whether that was possible: false if another program holds a lock.
    ///
    /// - Throws: `inputFailed` if the file system has no locks.
    package func locksExclusively() throws(VaultError) -> Bool {
        do {
            try lockExclusively()
            return true
        } catch {
            guard error == .wouldBlock || error == .resourceTemporarilyUnavailable else {
                let why = "it cannot be locked, and without a lock two changes at once could destroy it: \(error)"
                throw VaultError(.inputFailed, why, systemError: error)
            }
            return false
        }
    }

    /// Makes the names in this folder durable. Some file systems cannot sync folders, and report that as an error,
    /// which is ignored.
    ///
    /// - Throws: `outputFailed`.
    package func synchronizeFolder() throws(VaultError) {
        do {
            try synchronize()
        } catch {
            guard error.isMissingCall else {
                throw VaultError(.outputFailed, "its folder cannot be synced: \(error)", systemError: error)
            }
        }
    }

    /// Makes what was written to the file durable.
    ///
    /// - Throws: `outputFailed`.
    package func synchronizeFile() throws(VaultError) {
        do {
            try synchronize()
        } catch {
            throw VaultError(.outputFailed, "it cannot be synced: \(error)", systemError: error)
        }
    }

    /// Overwrites the whole open file with zeros, durably. Its length stays.
    ///
    /// - Throws: `inputFailed`, `outputFailed`.
    package func overwrite() throws(VaultError) {
        let size: UInt64
        do {
            size = try status().size
        } catch {
            throw VaultError(.inputFailed, "its status cannot be read: \(error)", systemError: error)
        }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var done: UInt64 = 0
        while done < size {
            let count = Int(min(UInt64(zeros.count), size - done))
            try writeFully(zeros.span.extracting(0..<count), at: done)
            done += UInt64(count)
        }
        try synchronizeFile()
    }

    /// Makes a folder in this one, with mode 0700, and makes its name durable. The name of a folder that is there is
    /// made durable too: a program that made it may have been killed before that.
    ///
    /// - Parameter isOwned: whether a new one gets the owner and the group of this folder, as ``takeOwner(of:)`` says. A
    ///   folder that is there keeps its own: root must not give away what others have put here.
    /// - Returns: false if there is a folder already.
    /// - Throws: `outputFailed`; `inputFailed` if it cannot be opened.
    @discardableResult
    package func makeFolder(_ name: FilePath, keepingOwner isOwned: Bool) throws(VaultError) -> Bool {
        var isNew = true
        do {
            try retrying { SystemCalls.current.makeFolderAt(rawValue, name, 0o700) }
        } catch {
            guard error == .fileExists, case .success(let there) = SystemCalls.current.statusAt(rawValue, name, false),
                there.kind == .folder
            else { throw VaultError(.outputFailed, "its folder cannot be made: \(error)", systemError: error) }
            isNew = false
        }
        if isOwned, isNew {
            let made = try FileDescriptor.folder(name, in: self)
            defer { made.closeQuietly() }
            // The owner of this folder can put another folder of root in its place, but not one that shows them anything.
            if try made.names({ _ in true }).isEmpty { try made.takeOwner(of: self) }
        }
        try synchronizeFolder()
        return isNew
    }

    /// Gives a new file or folder of root the owner and the group of a folder. Nobody else may read what is in a store,
    /// so its owner would lose what root writes there.
    ///
    /// Call it on a descriptor of what this program has made. Behind a name may be something else by then: the owner of the
    /// folder could get any file of root.
    ///
    /// - Throws: `outputFailed`.
    package func takeOwner(of folder: FileDescriptor) throws(VaultError) {
        guard let own = try? status(), own.owner == 0, let there = try? folder.status(),
            own.owner != there.owner || own.group != there.group
        else { return }
        do {
            try retrying { SystemCalls.current.setOwner(rawValue, there.owner, there.group) }
        } catch {
            throw VaultError(
                .outputFailed, "it cannot be given the owner of its folder: \(error)", systemError: error)
        }
    }

    /// Gives a file of this folder another name, in another folder.
    ///
    /// - Returns: false if something has that name.
    /// - Throws: `outputFailed`.
    package func link(_ name: FilePath, as other: FilePath, in folder: FileDescriptor) throws(VaultError) -> Bool {
        do {
            try retrying { SystemCalls.current.linkAt(rawValue, name, folder.rawValue, other, 0) }
            return true
        } catch {
            if error == .fileExists { return false }
            throw VaultError(.outputFailed, "it cannot be given another name: \(error)", systemError: error)
        }
    }

    /// Removes a name in this folder.
    ///
    /// - Returns: false if there is none.
    /// - Throws: `outputFailed`.
    @discardableResult
    package func remove(_ name: FilePath) throws(VaultError) -> Bool {
        do {
            try retrying { SystemCalls.current.unlinkAt(rawValue, name) }
            return true
        } catch {
            if error == .noSuchFileOrDirectory { return false }
            throw VaultError(.outputFailed, "it cannot be removed: \(error)", systemError: error)
        }
    }

    /// The names in this folder that `isWanted` accepts.
    ///
    /// - Throws: `inputFailed`.
    package func names(_ isWanted: ([UInt8]) -> Bool) throws(VaultError) -> [FilePath] {
        var names: [FilePath] = []
        let listed = SystemCalls.current.forEachName(rawValue) { name, _ in
            if isWanted(name) { names.append(FilePath(bytes: name)) }
        }
        if case .failure(let error) = listed {
            throw VaultError(.inputFailed, "its folder cannot be read: \(error)", systemError: error)
        }
        return names
    }
}

extension SystemCalls {
    /// Waits for this many milliseconds.
    package static func pause(_ milliseconds: Int32) { _ = current.pause(milliseconds) }
}
