internal import VaultFile

/// The verbs, as they are typed and reported.
enum VerbName: String, CaseIterable, Encodable, Sendable {
    case encrypt, decrypt, extract, cat, edit, ls, mount, verify, inspect, rotate, reencrypt, repair, recover
    case detach, attach
    case keyGenerate = "key generate"
    case keyShow = "key show"
    case keyList = "key list"
    case keyUse = "key use"
    case keyRetire = "key retire"
    case keyDestroy = "key destroy"
    case keyGroup = "key group"
    case keyImport = "key import"
    case keyExport = "key export"
    case keyPassphrase = "key passphrase"
    case keyUnlock = "key unlock"
    case keyLock = "key lock"
    case keyBackup = "key backup"
    case keyRestore = "key restore"
    case storeCreate = "store create"
    case storeStatus = "store status"
    case storePut = "store put"
    case storeGet = "store get"
    case storeList = "store list"
    case storeRemove = "store remove"
    case storeMove = "store move"
    case storeProtect = "store protect"
    case storeUnlock = "store unlock"
    case storeLock = "store lock"
    case storePassphrase = "store passphrase"
    case storeRotate = "store rotate"
    case storeCheck = "store check"
    case storeWipe = "store wipe"
    case storeGroupCreate = "store group create"
    case storeGroupErase = "store group erase"
    case storeGroupRenew = "store group renew"

    /// The last word of the verb: what follows `key`, `store` or `store group`, for verbs that begin with it.
    var lastWord: String { rawValue.split(separator: " ").last.map(String.init) ?? rawValue }

    /// Whether it changes containers in place.
    var worksInPlace: Bool { [.rotate, .reencrypt, .repair, .detach, .attach].contains(self) }

    /// Whether it is about the keyring or about key files, and opens no container.
    var isOfKeyring: Bool { rawValue.hasPrefix("key ") }

    /// Whether it is about a store. It names no container and no recipient.
    var isOfStore: Bool { rawValue.hasPrefix("store ") }

    /// Whether it makes slots.
    var makesSlots: Bool { [.encrypt, .edit, .rotate, .reencrypt].contains(self) }

    /// Whether it needs what unlocks the keyring even if `key unlock` has unlocked it.
    var alwaysUnlocks: Bool {
        [.keyBackup, .keyDestroy, .keyExport, .keyPassphrase, .keyRestore, .keyUnlock].contains(self)
    }
}

extension BinaryInteger {
    /// The number and the noun, in the plural unless the number is 1.
    func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

/// The outcome of an input, as reports and sums name it.
enum OutcomeName: String, Encodable, Sendable {
    case encrypted, decrypted, recovered, inspected, listed, intact
    case rotated, reencrypted, repaired, edited, detached, attached
    /// Nothing had to be changed. For repair: the header copies and the end are intact, and the contents were not looked at.
    case unchanged
    /// Its keys are current already.
    case current
    /// It has no slot for a key of the keyring.
    case skipped
    /// It was left out because an earlier run seems to have encrypted it.
    case encryptedBefore
    /// It is not an input of the verb.
    case passedOver
    /// Items of a store whose class is not available.
    case locked
    /// Items of a store that were moved to `lost`.
    case moved
    /// Members of a folder's container.
    case extracted, lost
    case damaged, failed

    /// The word in text.
    ///
    /// - Parameter isDryRun: Whether the run changes nothing.
    func text(isDryRun: Bool) -> String {
        guard isDryRun else { return text }
        return switch self {
        case .rotated: "would rotate"
        case .detached: "would detach"
        case .attached: "would attach"
        default: text
        }
    }

    /// The word in text.
    var text: String {
        switch self {
        case .encryptedBefore: "encrypted before"
        case .unchanged: "unchanged"
        case .passedOver: "passed over"
        default: rawValue
        }
    }
}

extension Health {
    /// What is wrong, in words; nil for `intact`.
    var trouble: String? {
        switch self {
        case .intact: nil
        case .rotationUnfinished: "a change of its keys was interrupted (rotationUnfinished)"
        case .copiesConflict: "its two header copies contradict each other (copiesConflict)"
        case .frontDamaged: "the header copy at its front is damaged (frontDamaged)"
        case .tailDamaged: "the header copy at its end is damaged (tailDamaged)"
        }
    }
}
