internal import VaultStore

/// The hints of `vaultfile store`.
extension Hint {
    /// The hint for an error of a store; nil if there is none.
    static func of(_ code: StoreError.Code) -> Hint? {
        switch code {
        case .locked: storeIsLocked
        case .gone: Hint("its keys are destroyed; remove the folder to make another store there")
        case .itemExists:
            Hint("remove it first, or leave --class out: an item that is replaced keeps its class")
        case .protectionNeeded:
            Hint("--class says when it can be read: always, after-first-unlock, unless-open or complete")
        case .noKeybag: Hint("vaultfile store create --unlock K adds what unlocks the store, and the other classes")
        case .noPublicKey:
            Hint("vaultfile store rotate --class unless-open adds the class to a store of an older program")
        case .keysChanged: Hint("another program has changed the keys of the store; run the command again")
        case .storeForged:
            Hint(
                "someone may have exchanged files; vaultfile store check --repair moves forged items to the folder lost"
            )
        default: nil
        }
    }

    // MARK: Keys of a store

    static let renewStore = Hint(
        "vaultfile store passphrase --renew --add passphrase --add file:PATH makes old copies of keys.vault alone useless: "
            + "name all that must still unlock the store; destroy copies of both files yourself")
    static let renewCard = Hint(
        "vaultfile store rotate --new-device-key makes old copies of store.vault alone useless; destroy copies of both "
            + "files yourself")
    static let storeRotationIsUnfinished = Hint(
        "recover these items and remove them, and run vaultfile store rotate again")
    static let storeRotationIsInterrupted = Hint("the same vaultfile store rotate again finishes it")
    static let restoreItem = Hint("restore this file from a backup, or remove the item and put it again")
    static let checkRepairs = Hint("vaultfile store check --repair makes them equal, unless they contradict each other")
    static let forceMovesItem = Hint("--force replaces the item that has the new name")

    // MARK: Opening and items

    static let nameStore = Hint("name its folder with -S, or set \(Variable.store)")
    static let deviceKeyWord =
        Hint("--device-key takes file:PATH, command:COMMAND or a key's NAME or ID in the keyring")
    static let storeUnlockWord = Hint(
        "--unlock takes file:PATH, command:COMMAND, a key's NAME in the keyring, passphrase, passphrase-file:PATH or "
            + "passphrase-fd:N")
    static let storeIsLocked = Hint(
        "--unlock K unlocks the store for this command, vaultfile store unlock for a time")
    static let otherStoreUnlocker = Hint("name a passphrase, or another key, which is kept apart from the device key")
    static let otherDeviceKey = Hint("name another key, which is kept apart from what unlocks the store")
    static let keybagIsLost = Hint(
        "restore keys.vault and keys.vault.key from a backup; without them the items of the other classes are lost")
    static let restoreAllKeyFiles = Hint(
        "restore store.vault, keys.vault and their .key files from one and the same backup; the items stay as they are")
    static let wipeOutside = Hint(
        "run vaultfile store wipe again outside of the container that this program runs in, or restart the machine")
    static let restartEndsKeys = Hint("restart the machine to end them")
    static let nameFirstUnlocker = Hint("name with --unlock what the interrupted run named")
    static let restoreStoreFile = Hint("restore it from a backup")
    static let restoreItems = Hint(
        "restore the folder from a backup; if the store had no items, make it with mkdir -m 700")
    static let restoreFirstShard = Hint(
        "if store group create was interrupted, the same command finishes it; otherwise restore the file from a backup")
    static let restoreShard = Hint("restore it from a backup of the folder shards; without it its accounts are lost")
    static let eraseWipedAccount = Hint(
        "vaultfile store group erase with this account ends it; then store create makes it again, empty")
    static let finishGroupRenewal = Hint(
        "if vaultfile store group renew --new-device-key was interrupted, the same command with both keys finishes it")
    static func nameAccount(_ folder: String) -> Hint { Hint("\(folder) is a group: name the account with --account") }
    static let storeWithoutTerminal = Hint(
        "\(nameStoreUnlocker.text); vaultfile store unlock, on a terminal, unlocks it for a time")
    static let rotateNeedsUnlocker = Hint("rotate needs --unlock K, even while the store is unlocked")
    static let nameStoreUnlocker = Hint("--unlock names what unlocks the store")
    static let newStoreUnlockerWithoutTerminal = Hint(
        "file:PATH, command:COMMAND and passphrase-file:PATH need no terminal")
    static let storeKeysUnavailable = Hint(
        "only Linux has this, and many containers of programs forbid it; --unlock K unlocks the store for one command")
    static let forceShowsItem = Hint("--force shows it anyway; -o FILE writes it to a file")
    static func protectChanges(_ itemClass: String, _ name: String) -> Hint {
        Hint(
            "vaultfile store protect --class \(itemClass) \(quoted(name)) changes the class; to replace the contents now, "
                + "name the class that it has")
    }
    static let putAgain = Hint("if that matters, put it again while no program writes to the file")
    static let nameItem = Hint("--as gives it a name")
    static let renewGroup = Hint(
        "vaultfile store group renew makes them useless; destroy copies of a shard together with its .key file "
            + "yourself")
    static let groupRenewsDevice = Hint("vaultfile store group renew --new-device-key exchanges the key of a group")
    static let storedElsewhere = Hint("keep the device key elsewhere, or in a keyring or a token")
}
