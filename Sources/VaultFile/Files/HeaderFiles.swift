import SystemPackage
import VaultFormat
import VaultStream
internal import VaultSystem

/// A header file that is locked while its container changes; or nothing, if the container has none.
struct LockedHeaderFile: ~Copyable {
    private let file: LockedFile?

    /// - Parameter place: nil for nothing.
    /// - Throws: as for a locked file; its errors say that they are about the header file.
    init(at place: FilePlace?, onWaiting: () -> Void = {}) throws(VaultError) {
        guard let place else {
            file = nil
            return
        }
        do throws(VaultError) {
            file = try LockedFile(at: place, onWaiting: onWaiting)
            file?.removeLeftover()
        } catch {
            throw error.ofHeaderFile
        }
    }

    /// Its bytes; nil if there is none.
    func bytes() throws -> [UInt8]? { try file?.headerFileBytes() }

    /// Stores the header file of the new container in the same folder, with the owner and the mode of this one (DET-13).
    ///
    /// - Parameter body: the name of the container.
    /// - Returns: nil if there is no file here.
    func makeNext(_ new: HeaderFile, forBody body: FilePath) throws(VaultError) -> NewHeaderFile? {
        try file?.makeNextHeaderFile(new, forBody: body)
    }

    /// Removes its name, durably.
    func remove() throws(VaultError) {
        do throws(VaultError) {
            try file?.remove()
        } catch {
            throw error.ofHeaderFile
        }
    }
}

extension LockedFile {
    /// The bytes of a locked header file.
    func headerFileBytes() throws -> [UInt8] {
        do {
            return try FileSource(descriptor, locking: .heldByCaller).headerFileBytes()
        } catch let error as VaultError {
            throw error.ofHeaderFile
        }
    }

    /// Replaces a locked header file as a whole (DET-10).
    ///
    /// - Returns: the new file, which is locked.
    func replaceHeaderFile(with new: HeaderFile, mayBreakLinks: Bool) throws(VaultError) -> LockedFile {
        // mutant: the new file checks this too, when it takes the place; this check comes before it is made
        try refuseLinks(unless: mayBreakLinks)
        let output = try OutputFile.replacing(self)
        try output.write(new.bytes.span)
        try output.descriptor.checkHeaderFile(new)
        return try output.take(placeOf: self, mayBreakLinks: mayBreakLinks)
    }
}

extension FileDescriptor {
    /// Reads a new header file back, before it is the only way into its container.
    fileprivate func checkHeaderFile(_ new: HeaderFile) throws(VaultError) {
        let found: [UInt8]
        do {
            found = try FileSource(self, locking: .heldByCaller).headerFileBytes()
        } catch {
            let message = "the new header file cannot be read back: \((error as? VaultError)?.message ?? "\(error)")"
            guard let number = (error as? VaultError)?.systemError else { throw VaultError(.outputFailed, message) }
            throw VaultError(.outputFailed, message, systemError: number)
        }
        // mutant: only a medium that loses bytes would show that it is missing
        guard found == new.bytes else {
            throw VaultError(.outputFailed, "the new header file does not read back as it was written")
        }
    }
}

extension LockedFile {
    fileprivate func makeNextHeaderFile(
        _ new: HeaderFile, forBody body: FilePath
    ) throws(VaultError) -> NewHeaderFile {
        let status = try status()
        let name = body.appendingName(HeaderFile.nameEnding(new.copy.preamble.commitment))
        do throws(VaultError) {
            let output = try OutputFile.locked(at: .name(name, in: folder), withOwnerOf: status)
            return NewHeaderFile(try output.commitHeaderFile(new, permissions: status.permissions), name: name)
        } catch {
            throw error.ofHeaderFile
        }
    }
}

/// The header file of a new container, durable under its own name, where no file was before.
struct NewHeaderFile: ~Copyable {
    private let file: LockedFile
    /// Its name in the folder of the old header file.
    let name: FilePath

    init(_ file: consuming LockedFile, name: FilePath) {
        self.file = file
        self.name = name
    }

    /// Removes it after a failure, if the old body still has its name: then nothing needs this file.
    func remove(unlessReplaced body: borrowing LockedFile) {
        if (try? body.standing()) == .inPlace { try? file.remove() }
    }
}

extension OutputFile {
    /// Writes a header file, which gets its name if nothing has it.
    ///
    /// - Returns: the file, which is locked.
    consuming func commitHeaderFile(
        _ new: HeaderFile, permissions: FilePermissions
    ) throws(VaultError) -> LockedFile {
        try write(new.bytes.span)
        try descriptor.checkHeaderFile(new)
        return try commitLocked(permissions: permissions)
    }
}

extension FilePath {
    /// The same path with text behind its last component.
    func appendingName(_ text: String) -> FilePath {
        FilePath(bytes: bytes + [UInt8](text.utf8))
    }

    /// Where a program looks for the header file of the container that is here (DET-4).
    func headerFile(_ commitment: [UInt8]) throws(VaultError) -> FilePath {
        do {
            return try followingLinks().appendingName(HeaderFile.nameEnding(commitment))
        } catch {
            throw VaultError(.inputFailed, "its path cannot be followed: \(error)", systemError: error)
        }
    }
}

extension FilePlace {
    /// The path of a file with another name in the same folder; in an open folder, its name.
    func besideIt(_ name: FilePath) -> FilePath {
        switch self {
        case .path(let path):
            let there = (try? path.followingLinks()) ?? path
            return there.removingLastComponent().appending(name.components)
        case .name: return name
        }
    }

    /// The header file that is there under the name for this container; nil if there is none.
    ///
    /// - Throws: `inputFailed` if the system does not tell whether it is there. Taken for missing, it would be called lost.
    func headerFile(_ commitment: [UInt8]) throws(VaultError) -> FilePlace? {
        let ending = HeaderFile.nameEnding(commitment)
        let what = "whether its name with \(ending) behind it is there"
        switch self {
        case .path(let path):
            let header = try path.headerFile(commitment)
            return try header.isThere(followingLinks: true, what) ? .path(header) : nil
        case .name(let name, in: let folder):
            let header = name.appendingName(ending)
            return try header.isThere(in: folder.rawValue, what) ? .name(header, in: folder) : nil
        }
    }
}

extension FilePath {
    /// Whether a header file is there.
    ///
    /// - Parameter what: what an error says cannot be found out.
    /// - Throws: `inputFailed` if the system does not tell.
    func isThere(
        in folder: Int32 = OpenFlags.currentDirectory, followingLinks: Bool = false,
        _ what: String = "whether it is there"
    ) throws(VaultError) -> Bool {
        switch SystemCalls.current.statusAt(folder, self, followingLinks) {
        case .success: return true
        case .failure(.noSuchFileOrDirectory), .failure(.notDirectory), .failure(.fileNameTooLong): return false
        case .failure(let error):
            throw VaultError(.inputFailed, "\(what) cannot be found out: \(error)", systemError: error).ofHeaderFile
        }
    }
}
