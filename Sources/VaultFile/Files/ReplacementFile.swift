import SystemPackage
import VaultFormat

/// A new file that takes the place of a locked one. It gets its name in no other way: a plain rename would destroy a
/// file that another program, such as a restore or a synchronisation, has put there meanwhile.
struct ReplacementFile: ~Copyable, BytesOutput {
    private let output: OutputFile

    init(_ output: consuming OutputFile) {
        self.output = output
    }

    /// The open file, to write to.
    var descriptor: FileDescriptor { output.descriptor }

    func write(_ bytes: Span<UInt8>) throws(VaultError) {
        try output.write(bytes)
    }

    /// Takes the place of a file, with its mode.
    ///
    /// The new file was locked before it got the name, and stays locked. To do more under the lock, hold the returned
    /// value: the old file's lock keeps no other program out any more, because no name leads to the old file.
    ///
    /// - Parameters:
    ///   - mayBreakLinks: whether the old file may keep other names.
    ///   - isPrivate: whether only the owner may read the new file, even if others could read the old one.
    ///   - naming: runs the rename.
    ///   - isFolderSynced: whether the name is durable when this returns. If not, the caller syncs the folder.
    /// - Throws: `inUse` if another file has the name by now, which is not changed, or if no file has it; `hardLinks`,
    ///   `inputFailed`, `outputFailed`.
    @discardableResult
    consuming func take(
        placeOf file: borrowing LockedFile, mayBreakLinks: Bool = false, keepingPrivate isPrivate: Bool = false,
        naming: OutputFile.Naming = OutputFile.directly, synchronizingFolder isFolderSynced: Bool = true
    ) throws(VaultError) -> LockedFile {
        // Checked again now: hours may have passed.
        try file.refuseLinks(unless: mayBreakLinks)
        let permissions = try file.status().permissions
        return try output.commitLocked(
            permissions: isPrivate ? permissions.intersection(.ownerReadWriteExecute) : permissions,
            inPlaceOf: file, naming: naming, synchronizingFolder: isFolderSynced)
    }
}

/// A file to which bytes can be written in order.
package protocol BytesOutput: ~Copyable {
    /// Writes the next bytes.
    func write(_ bytes: Span<UInt8>) throws(VaultError)
}

extension OutputFile: BytesOutput {}
