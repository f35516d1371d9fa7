import SystemPackage
import VaultFormat

/// A file that is to take the place of one that is locked. It has no other way to get a name: one that only renamed
/// would destroy whatever another program, a restore or a synchronisation, has put there meanwhile.
struct ReplacementFile: ~Copyable, BytesOutput {
    private let output: OutputFile

    init(_ output: consuming OutputFile) {
        self.output = output
    }

    /// Where it is written.
    var descriptor: FileDescriptor { output.descriptor }

    func write(_ bytes: Span<UInt8>) throws(VaultError) {
        try output.write(bytes)
    }

    /// Takes the place of a file, with its mode.
    ///
    /// The file that has the name then is locked as it was before it had it. Who has more to do under the lock holds
    /// the one that is returned: the lock of the old file keeps nobody out any more, since no name leads to that one.
    ///
    /// - Parameters:
    ///   - mayBreakLinks: whether other names of the file may go on to mean the old one.
    ///   - isPrivate: whether nobody but the owner may come to read it, whoever could read the old one.
    /// - Throws: `inUse` if another file has come to stand under the name, which is left alone, or if none is there any
    ///   more; `hardLinks`, `inputFailed`, `outputFailed`.
    @discardableResult
    consuming func take(
        placeOf file: borrowing LockedFile, mayBreakLinks: Bool = false, keepingPrivate isPrivate: Bool = false
    ) throws(VaultError) -> LockedFile {
        // Looked at now: hours may have passed.
        try file.refuseLinks(unless: mayBreakLinks)
        let permissions = try file.status().permissions
        return try output.commitLocked(
            permissions: isPrivate ? permissions.intersection(.ownerReadWriteExecute) : permissions
        ) { () throws(VaultError) in
            // Behind the sync, which takes as long as the disk does: between this look and the rename, a file that
            // somebody puts there would be lost.
            switch try file.standing() {
            case .inPlace: break
            case .removed: throw VaultError(.inUse, "it was removed meanwhile, and nothing was put in its place")
            case .replaced:
                throw VaultError(.inUse, "another file has come to stand under its name; that one was left alone")
            }
        }
    }
}

/// Where bytes can be written in order.
protocol BytesOutput: ~Copyable {
    /// Writes the next bytes.
    func write(_ bytes: Span<UInt8>) throws(VaultError)
}

extension OutputFile: BytesOutput {}
