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

    init(path: [UInt8], isDefault: Bool) {
        self.path = PathArgument(bytes: path)
        unlockKey = PathArgument(bytes: Keyring.unlockKeyPath(of: self.path.path).bytes)
        self.isDefault = isDefault
    }

    /// The place that `VAULTFILE_KEYRING` names, else the default place; nil if that is unknown.
    static func find() -> KeyringPlace? { named ?? standard }

    /// All places where the user's keyrings may be, also one that this run does not use.
    static var all: [KeyringPlace] { [named, standard].compactMap(\.self) }

    private static var named: KeyringPlace? {
        Variable.value(Variable.keyring).map { KeyringPlace(path: $0, isDefault: false) }
    }

    /// `vaultfile/keyring.vault` in the user's data folder; nil if that folder is unknown.
    private static var standard: KeyringPlace? {
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

    /// Waits a moment if another run seems to be making the keyring: its `.key` file is new and its own file is not yet
    /// there.
    func waitWhileMade() {
        for _ in 0..<100 {
            guard isWithoutKeyring, let changed = try? unlockKey.path.stat().changed,
                changed.seconds >= Platform.now.seconds - 5
            else { return }
            Platform.pause(.milliseconds(20))
        }
    }

    /// Refuses a folder where the keyring's file should be.
    func check() throws(Failure) {
        guard (try? path.path.stat().type) == .directory else { return }
        throw Failure(
            .noKey, subject, "is a folder, and a keyring is a file",
            hint: isDefault ? nil : .keyringIsFile(path.escaped))
    }

    /// True also if that cannot be determined: opening the file then reports why.
    static func exists(_ path: PathArgument) -> Bool {
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
