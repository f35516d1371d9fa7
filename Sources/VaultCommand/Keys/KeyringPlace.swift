internal import SystemPackage
internal import VaultFile

/// Where the keyring is.
struct KeyringPlace: Sendable {
    /// The keyring's file.
    let path: PathArgument
    /// The file beside it that unlocks it.
    let unlockKey: PathArgument
    /// Whether this is the default place, where missing folders are made.
    let isDefault: Bool

    private init(path: [UInt8], isDefault: Bool) {
        self.path = PathArgument(bytes: path)
        unlockKey = PathArgument(bytes: Keyring.unlockKeyPath(of: self.path.path).bytes)
        self.isDefault = isDefault
    }

    /// The place that `VAULTFILE_KEYRING` names, else `vaultfile/keyring.vault` in the folder of the user's data. Nil
    /// without such a folder.
    static func find() -> KeyringPlace? {
        if let path = Variable.value(Variable.keyring) { return KeyringPlace(path: path, isDefault: false) }
        let file = Array("/vaultfile/keyring.vault".utf8)
        // The specification of the variable says that a relative path does not count.
        if let folder = RawArguments.environment("XDG_DATA_HOME"), folder.first == UInt8(ascii: "/") {
            return KeyringPlace(path: folder + file, isDefault: true)
        }
        guard let home = RawArguments.environment("HOME"), home.first == UInt8(ascii: "/") else { return nil }
        return KeyringPlace(path: home + Array("/.local/share".utf8) + file, isDefault: true)
    }

    /// What a message about the keyring names.
    var subject: Failure.Subject { path.subject }

    /// Whether there is a keyring.
    var exists: Bool { Self.exists(path) }

    /// Whether there is what unlocks it.
    var unlockKeyExists: Bool { Self.exists(unlockKey) }

    /// True also for what cannot be looked at: opening it says why.
    private static func exists(_ path: PathArgument) -> Bool {
        do {
            _ = try path.path.stat()
            return true
        } catch {
            return error != Errno.noSuchFileOrDirectory && error != Errno.notDirectory
        }
    }

    /// Whether anything protects the unlock key. True also for what cannot be looked at: opening it says why.
    var isProtected: Bool { (try? Keyring.isProtected(at: path.path)) ?? true }
}
