internal import SystemPackage
internal import VaultFile

/// A key or a passphrase. This file has what the command does differently for each kind of secret: reading it, the slot
/// that is made for it, and the slots that it removes. `ContainerKeys` and `KeyringUnlocker` give it to the library.
enum Secret: Sendable {
    case key(LoadedKey)
    case passphrase(Passphrase)

    /// The key and its source; nil for a passphrase.
    var key: LoadedKey? {
        if case .key(let key) = self { key } else { nil }
    }

    /// The passphrase; nil for a key.
    var passphrase: Passphrase? {
        if case .passphrase(let passphrase) = self { passphrase } else { nil }
    }

    /// The recipient that gets a slot for this secret.
    var recipient: Recipient {
        switch self {
        case .key(let key): .key(key.key)
        case .passphrase(let passphrase): .passphrase(passphrase)
        }
    }
}

/// A symmetric key and where it came from.
struct LoadedKey: Sendable {
    let key: SymmetricKey
    /// What messages call it.
    let source: Failure.Subject
    /// When it was made, if known.
    let created: Timestamp?

    var id: KeyID { key.id }
}

extension SlotSelection {
    /// Adds the slots of a secret.
    mutating func insert(_ secret: Secret) {
        switch secret {
        case .key(let key): ids.insert(key.id)
        case .passphrase(let passphrase): passphrases.append(passphrase)
        }
    }
}

extension [Secret] {
    var keys: [LoadedKey] { compactMap(\.key) }
    var passphrases: [Passphrase] { compactMap(\.passphrase) }

    /// How many different secrets there are.
    var countOfDifferent: Int {
        let different = passphrases.reduce(into: [Passphrase]()) { if !$0.contains($1) { $0.append($1) } }
        return Set(keys.map(\.id)).count + different.count
    }

    /// The recipients that get a slot each, keys first.
    var recipients: [Recipient] {
        filter { $0.key != nil }.map(\.recipient) + filter { $0.key == nil }.map(\.recipient)
    }
}

extension SecretReader {
    /// Reads what `argument` names.
    func read(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> Secret {
        try attempt(about: argument.subject) { subject in
            switch argument.source {
            case .file(let path):
                return .key(try LoadedKey(contents(of: path, holding: "key", tooLong: .badKey), from: subject))
            case .command(let command): return .key(try LoadedKey(printed(by: command, subject), from: subject))
            case .passphrase: return .passphrase(try ask(for: purpose))
            case .passphraseFile(let path):
                return .passphrase(try contents(of: path, holding: "passphrase").passphrase())
            case .passphraseDescriptor(let number):
                return .passphrase(try SecretText(lineFrom: FileDescriptor(rawValue: number)).passphrase())
            case .named:
                throw Failure.usage(
                    argument.option, "names a key of the keyring, which cannot unlock that keyring",
                    hint: argument.hintAtFile ?? .unlockWord)
            case .others, .unprotected, .recipient, .fileAlone, .unknown: throw argument.refusal
            }
        }
    }
}

extension LoadedKey {
    /// Reads the key in the text of a key file.
    fileprivate init(_ text: borrowing SecretText, from source: Failure.Subject) throws {
        self.source = source
        (key, created) = try text.withBytes { bytes in
            do {
                return (try SymmetricKey(keyFile: bytes), SymmetricKey.creationTime(inKeyFile: bytes))
            } catch let error as VaultError where error.code == .badKey {
                guard let trouble = KnownFormats.trouble(ofKeyFile: bytes) else { throw error }
                throw Failure(code: .badKey, source, trouble)
            }
        }
    }
}

/// What a secret is read for, which decides how a passphrase is asked for.
struct SecretPurpose: Hashable, Sendable {
    /// Whether it gets a slot. Then a passphrase is asked for twice, and a retired key is refused.
    let makesSlot: Bool
    /// What the question for a passphrase names, if there is one such thing.
    var subject: String?
    /// The hint if there is no terminal to ask on.
    var withoutTerminal = Hint.passphraseWithoutTerminal

    static let opening = SecretPurpose(makesSlot: false)
    static let sealing = SecretPurpose(makesSlot: true)
    static let removing = SecretPurpose(makesSlot: false, subject: "the slot to be removed")
    static let unlocking = SecretPurpose(
        makesSlot: false, subject: "the keyring", withoutTerminal: .unlockingWithoutTerminal)
    static let settingUnlocker = SecretPurpose(
        makesSlot: true, subject: "the keyring", withoutTerminal: .newUnlockerWithoutTerminal)

    /// To open one container.
    ///
    /// - Parameter hasKeys: Whether keys open it too.
    static func opening(_ subject: Failure.Subject, hasKeys: Bool) -> SecretPurpose {
        SecretPurpose(
            makesSlot: false, subject: subject.escaped,
            withoutTerminal: hasKeys ? .giveKeyOrPassphrase : .passphraseWithoutTerminal)
    }
}
