internal import SystemPackage
internal import VaultFile

/// Where the keyring is.
struct KeyringPlace: Sendable {
    /// The variable that says so.
    static let variable = "VAULTFILE_KEYRING"

    /// The keyring's file.
    let path: PathArgument
    /// The file beside it that unlocks it.
    let unlockKey: PathArgument
    /// Whether it is the place that nobody named, so that its folders are made where they are missing.
    let isStandard: Bool

    private init(path: [UInt8], isStandard: Bool) {
        self.path = PathArgument(bytes: path)
        unlockKey = PathArgument(bytes: Keyring.unlockKeyPath(of: self.path.path).bytes)
        self.isStandard = isStandard
    }

    /// The place that the environment gives: `VAULTFILE_KEYRING`, or `vaultfile/keyring.vault` in the folder of the
    /// user's data. Nil where there is no such folder.
    static func find() -> KeyringPlace? {
        if let path = RawArguments.environment(variable), !path.isEmpty {
            return KeyringPlace(path: path, isStandard: false)
        }
        let file = Array("/vaultfile/keyring.vault".utf8)
        // A path that is not absolute is to be ignored there, says the specification of the variable.
        if let folder = RawArguments.environment("XDG_DATA_HOME"), folder.first == UInt8(ascii: "/") {
            return KeyringPlace(path: folder + file, isStandard: true)
        }
        guard let home = RawArguments.environment("HOME"), home.first == UInt8(ascii: "/") else { return nil }
        return KeyringPlace(path: home + Array("/.local/share".utf8) + file, isStandard: true)
    }

    /// What a message about the keyring names.
    var subject: Failure.Subject { path.subject }

    /// Whether there is a keyring.
    var exists: Bool { Self.isThere(path) }

    /// Whether there is what unlocks it.
    var unlockKeyExists: Bool { Self.isThere(unlockKey) }

    /// What cannot be looked at is there: opening it says why it cannot be used.
    private static func isThere(_ path: PathArgument) -> Bool {
        do {
            _ = try path.path.stat()
            return true
        } catch {
            return error != Errno.noSuchFileOrDirectory && error != Errno.notDirectory
        }
    }

    /// Whether anything protects the unlock key. What cannot be looked at counts so: opening it says why it cannot be
    /// used.
    var isProtected: Bool { (try? Keyring.isProtected(at: path.path)) ?? true }
}
