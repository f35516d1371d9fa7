internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Recognises files whose loss would lose keys: key files, files of identities, header files, and the two files of a
/// keyring, whether this run uses them or not. No run replaces such a file, and no walk removes one.
struct KeyHolders: Sendable {
    /// The files of the user's own keyrings.
    var own: Set<FileIdentity> = []

    /// A longer file is no unlock file: those that vaultfile writes have about nine thousand bytes.
    private static let longestUnlockFile: UInt64 = 1 << 16

    /// What the file is, in words after its name; nil if it holds no keys, as far as its bytes show.
    func what(_ input: Input) -> String? {
        if own.contains(FileIdentity(input.stat)) { return "belongs to a keyring" }
        if let found = try? input.withSecretPrefix(KnownFormats.keyHolder), let what = found { return what }
        guard (try? input.beginsWithMagic) == true else { return nil }
        // No key opens its container without it.
        if (try? HeaderFile(FileSource(input.descriptor))) != nil { return "is a header file" }
        return isKeyringFile(input) || isUnlockFile(input) ? "looks like a file of a keyring" : nil
    }

    /// Whether the file with this status belongs to one of the user's keyrings.
    func isOwn(_ stat: Stat) -> Bool { own.contains(FileIdentity(stat)) }

    private static let suffix = Array(".key".utf8)

    /// Whether the container is a keyring file: its unlock file is beside it.
    private func isKeyringFile(_ input: Input) -> Bool {
        guard let unlockFile = sibling(of: input, input.operand.lastComponent + Self.suffix) else { return false }
        defer { unlockFile.close() }
        return Self.areKeyring(input, unlockFile)
    }

    /// Whether the container is an unlock file: its keyring file is beside it, or it was and is lost.
    private func isUnlockFile(_ input: Input) -> Bool {
        let name = input.operand.lastComponent
        guard name.suffix(Self.suffix.count) == Self.suffix[...] else { return false }
        let stem = Array(name.dropLast(Self.suffix.count))
        guard let keyring = sibling(of: input, stem) else {
            return stem.suffix(OutputRules.suffix.count) == OutputRules.suffix[...]
                && (input.size ?? 0) <= Self.longestUnlockFile
        }
        defer { keyring.close() }
        return Self.areKeyring(keyring, input)
    }

    /// Whether the two look like the files of a keyring, which only what unlocks it could prove.
    private static func areKeyring(_ file: Input, _ unlockFile: Input) -> Bool {
        guard let slots = (try? Inspection(FileSource(file.descriptor)))?.slots,
            (1...2).contains(slots.count), slots.allSatisfy({ $0.kind == .symmetric })
        else { return false }
        if (try? unlockFile.beginsWithMagic) == true { return (unlockFile.size ?? 0) <= longestUnlockFile }
        // A key file beside a container may be that container's own key. That of an unprotected keyring opens it.
        let keyring = try? Keyring.open(at: file.operand.path, unlocking: KeySet(), allowsUnprotected: true)
        return keyring != nil
    }

    /// The regular file with another name in the folder of a file.
    private func sibling(of input: Input, _ name: [UInt8]) -> Input? {
        let path = input.operand.replacingLastComponent(with: name)
        let item = InputItem(operand: path, found: input.found.map { FoundFile(folder: $0.folder, name: name) })
        // Opening a pipe would wait.
        guard (try? item.stat().type) == .regular else { return nil }
        return try? Input(item)
    }
}

extension InputItem {
    fileprivate func stat() throws(Errno) -> Stat {
        if let found { return try found.folder.stat(found.name) }
        return try operand.path.stat()
    }
}
