internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The files of the keyring.
struct KeyringPlace: Sendable {
    /// The keyring's file.
    let path: PathArgument
    /// The `.key` file beside it, which unlocks it.
    let unlockKey: PathArgument
    /// Whether this is the default place. Only there are missing folders created.
    let isDefault: Bool

    private init(path: [UInt8], isDefault: Bool) {
        self.path = PathArgument(bytes: path)
        unlockKey = PathArgument(bytes: Keyring.unlockKeyPath(of: self.path.path).bytes)
        self.isDefault = isDefault
    }

    /// The place that `VAULTFILE_KEYRING` names, else `vaultfile/keyring.vault` in the user's data folder; nil if that
    /// folder is unknown.
    static func find() -> KeyringPlace? {
        if let path = Variable.value(Variable.keyring) { return KeyringPlace(path: path, isDefault: false) }
        let file = Array("/vaultfile/keyring.vault".utf8)
        // The XDG Base Directory Specification says to ignore a relative path.
        if let folder = Platform.environment("XDG_DATA_HOME"), folder.first == UInt8(ascii: "/") {
            return KeyringPlace(path: folder + file, isDefault: true)
        }
        guard let home = Platform.environment("HOME"), home.first == UInt8(ascii: "/") else { return nil }
        return KeyringPlace(path: home + Array("/.local/share".utf8) + file, isDefault: true)
    }

    /// What messages call the keyring.
    var subject: Failure.Subject { path.subject }

    /// Whether the keyring's file exists.
    var exists: Bool { Self.exists(path) }

    /// Whether the `.key` file exists.
    var unlockKeyExists: Bool { Self.exists(unlockKey) }

    /// Whether only the `.key` file exists: the keyring's file was lost, or a run was interrupted that made the keyring.
    var isWithoutKeyring: Bool { !exists && unlockKeyExists }

    /// True also if that cannot be determined: opening the file then reports why.
    private static func exists(_ path: PathArgument) -> Bool {
        do {
            _ = try path.path.stat()
            return true
        } catch {
            return error != Errno.noSuchFileOrDirectory && error != Errno.notDirectory
        }
    }

    /// Whether anything protects the unlock key. True also if that cannot be determined: opening it then reports why.
    var isProtected: Bool { (try? Keyring.isProtected(at: path.path)) ?? true }
}
