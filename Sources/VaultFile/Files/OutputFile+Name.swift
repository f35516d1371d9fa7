internal import SystemPackage
internal import VaultFormat
internal import VaultSystem

/// How the file gets its name.
extension OutputFile {
    mutating func complete(
        _ permissions: FilePermissions, _ modified: Timestamp?, _ synchronize: Bool
    ) throws(VaultError) {
        let calls = SystemCalls.current
        let file = descriptor.rawValue
        do throws(Errno) {
            try retrying { calls.setPermissions(file, permissions.rawValue) }
        } catch {
            // A file system without modes. Elsewhere the file keeps the mode 0600.
            guard error == .notPermitted || error.isMissingCall else {
                throw Self.failed("its mode cannot be set", error)
            }
        }
        if let modified { try Self.call("its time cannot be set") { calls.setModified(file, modified) } }
        if synchronize { try Self.call("it cannot be synced") { calls.sync(file) } }
    }

    /// Takes the name, and replaces a file that has it.
    ///
    /// - Parameter check: called right before the rename.
    mutating func replace(_ check: () throws(VaultError) -> Void) throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, name) = (folder.rawValue, name)
        let named: TemporaryName
        if let temporary {
            named = temporary
        } else {
            named = try linkNameless(reserved)
            temporary = named
        }
        try check()
        try named.end { () throws(VaultError) in
            try Self.call("it cannot be renamed") { calls.renameAt(folder, named.name, name) }
        }
        temporary = nil
    }

    /// Takes the name if nothing has it. A file that has got the name meanwhile is not changed.
    mutating func appear() throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, name) = (folder.rawValue, name)
        guard let temporary else { return try linkNameless(to: name) }
        let named = temporary.name
        try temporary.end { () throws(VaultError) in
            do throws(Errno) {
                try retrying { calls.renameExclusiveAt(folder, named, name) }
                return
            } catch {
                guard error != .fileExists else { throw Self.exists }
                guard error.isMissingCall else { throw Self.failed("it cannot be renamed", error) }
            }
            // A hard link replaces nothing either. The old name is removed before the folder is synced: otherwise a
            // crash could leave both.
            do throws(Errno) {
                try retrying { calls.linkAt(folder, named, folder, name, 0) }
            } catch {
                guard error != .fileExists else { throw Self.exists }
                guard error == .notPermitted || error.isMissingCall else {
                    throw Self.failed("it cannot be renamed", error)
                }
                return try claim(name, for: named)
            }
            do throws(VaultError) {
                try Self.call("its temporary name cannot be removed") { calls.unlinkAt(folder, named) }
            } catch {
                // After an error, the file has no name.
                removeOwn(name)
                throw error
            }
        }
        self.temporary = nil
    }

    /// Takes the name on a file system such as exFAT, which has neither hard links nor, on many systems, a rename that
    /// replaces nothing. An empty file takes the name if nothing has it, and the rename replaces that file. A program
    /// that is killed in between leaves the empty file.
    private func claim(_ name: FilePath, for named: FilePath) throws(VaultError) {
        let (calls, folder) = (SystemCalls.current, folder)
        let empty: FileDescriptor
        do throws(VaultError) {
            empty = try Self.open(folder, name, OpenFlags.exclusive, mode: .ownerReadWrite)
        } catch {
            throw error.systemError == .fileExists ? Self.exists : error
        }
        defer { empty.closeQuietly() }
        // Another program may have put its file there meanwhile.
        let isOwn = { () -> Bool in
            guard let identity = try? empty.status().identity else { return false }
            return (try? calls.statusAt(folder.rawValue, name, false).get().identity) == identity
        }
        guard isOwn() else { throw Self.exists }
        do throws(VaultError) {
            try Self.call("it cannot be renamed") { calls.renameAt(folder.rawValue, named, name) }
        } catch {
            if isOwn() { _ = try? retrying { calls.unlinkAt(folder.rawValue, name) } }
            throw error
        }
    }

    /// Gives the file its reserved temporary name, or another one if that is taken.
    private func linkNameless(_ reserved: FilePath?) throws(VaultError) -> TemporaryName {
        if let reserved {
            do throws(VaultError) {
                return try linkNameless(as: reserved)
            } catch {
                // mutant: with another name, the same error comes again
                guard error.code == .outputExists else { throw error }
            }
        }
        return try linkNameless(as: Self.temporaryName())
    }

    private func linkNameless(as name: FilePath) throws(VaultError) -> TemporaryName {
        // Locked before it has the name. On a file system without locks, no run removes it.
        try? descriptor.lockExclusively()
        return try TemporaryName.make(name, in: folder) { () throws(VaultError) in try linkNameless(to: name) }.1
    }

    private func linkNameless(to name: FilePath) throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, source) = (folder.rawValue, Self.procPath(of: descriptor))
        do {
            try retrying { calls.linkAt(OpenFlags.currentDirectory, source, folder, name, OpenFlags.followLinks) }
        } catch {
            throw error == .fileExists ? Self.exists : Self.failed("it cannot be given its name", error)
        }
    }
}
