internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// A word that names a key, a passphrase, public keys or identities: K in the help. `--unlock`, `--add` and `--remove`
/// take such a word. Options like `--key-file` name the same sources.
///
/// Parsing accepts every word, and a wrong one is refused where it is used: the parser's message would repeat the word,
/// which may be a passphrase.
struct KeyArgument: ExpressibleByArgument, Hashable, Sendable {
    /// Where it comes from.
    enum Source: Hashable, Sendable {
        /// A key of the keyring, by its name or ID; for `--remove` also a slot, by its ID.
        case named(String)
        /// A key file; `-` is standard input.
        case file(PathArgument)
        /// A command that prints a key file.
        case command([UInt8])
        /// A passphrase that is asked for.
        case passphrase
        case passphraseFile(PathArgument)
        case passphraseDescriptor(Int32)
        /// For `--remove`: all slots that this call does not add.
        case others
        /// For `--unlock`: nothing unlocks the keyring, and the user says so.
        case unprotected
        /// A public key: its text, or the name that the keyring has for one or several.
        case recipient([UInt8])
        /// A file of public keys; `-` is standard input.
        case recipientsFile(PathArgument)
        /// A file of identities; `-` is standard input.
        case identityFile(PathArgument)
        /// A command that prints a file of identities.
        case identityCommand([UInt8])
        /// An identity itself. It is a secret, which must not be in an argument, and no message repeats it.
        case identityText
        /// The name of a file without a word before it.
        case fileAlone
        /// None of these, with the reason. The reason does not repeat the word.
        case unknown(String)
    }

    /// What K may be where it unlocks the keyring, for help texts.
    static let grammar = """
        K is a key's NAME or ID in the keyring, file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or \
        passphrase-fd:N.
        """

    /// What K may be where it names slots, for help texts.
    static let grammarOfSlots = Hint.keyWord.text

    /// Which option reads which line of a descriptor, for help texts.
    static let lines = """
        If several options read the same descriptor, each reads one line: first --passphrase-fd, then --unlock, \
        --remove and --add, whatever their order on the command line. Without --unlock, \(Variable.unlock) takes its \
        place, but only in a run that may open the keyring: one in which no option names a key or passphrase to open \
        with, or in which K is a key of the keyring.
        """

    static var defaultCompletionKind: CompletionKind { KeyCompletion.ofWord }

    let source: Source
    /// The option or variable that names it, for messages.
    var option = ""
    /// Whether `option` itself names the kind of source, as `--key-file` does.
    private(set) var isOfOption = false

    /// The source that an option for one kind of source names.
    init(_ source: Source, of option: String) {
        self.source = source
        self.option = option
        isOfOption = true
    }

    init(argument: String) {
        self.init(bytes: ArgumentText.decode(argument))
    }

    init(bytes: [UInt8]) {
        // The comment of an ssh line may have a colon.
        if RecipientText.isKey(bytes) {
            source = .recipient(bytes)
            return
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            source = Self.word(bytes)
            return
        }
        let value = Array(bytes[(colon + 1)...])
        source = Self.scheme(String(decoding: bytes[..<colon], as: UTF8.self), value)
    }

    private static func word(_ bytes: [UInt8]) -> Source {
        let text = String(decoding: bytes, as: UTF8.self)
        switch text {
        case "passphrase": return .passphrase
        case "others": return .others
        case _ where KeyName.reserved.contains(text) || schemes.contains(text):
            return .unknown("needs a colon and a value after this word")
        case _ where RecipientText.isIdentity(bytes): return .identityText
        default:
            guard KeyID(hex: text) == nil, KeyName(bytes: bytes) == nil else { return .named(text) }
            return isFile(bytes) ? .fileAlone : .unknown("is neither a name for a key nor an ID")
        }
    }

    static func isFile(_ name: [UInt8]) -> Bool {
        !name.isEmpty && !name.contains(0) && (try? FilePath(bytes: name).stat())?.type == .regular
    }

    /// The words before a colon that are no names for keys (KEYRING-9).
    private static let schemes: Set<String> = [
        "identity", "identity-command", "identity-file", "recipient-file", "recipients-file",
    ]

    private static func scheme(_ name: String, _ value: [UInt8]) -> Source {
        guard !value.isEmpty else { return .unknown("has no value after its colon") }
        switch name {
        case "file": return .file(PathArgument(bytes: value))
        case "command": return .command(value)
        case "passphrase-file": return .passphraseFile(PathArgument(bytes: value))
        case "passphrase-fd":
            guard let number = Int32(String(decoding: value, as: UTF8.self)), number >= 0 else {
                return .unknown("has no descriptor's number after its colon")
            }
            return .passphraseDescriptor(number)
        case "recipient": return .recipient(value)
        case "recipients-file": return .recipientsFile(PathArgument(bytes: value))
        case "identity-file": return identityFile(PathArgument(bytes: value))
        case "identity-command": return .identityCommand(value)
        case "passphrase":
            return .unknown("takes no passphrase, because others can see arguments; passphrase alone asks for it")
        default: return .unknown("has an unknown word before the colon")
        }
    }

    /// A file of identities. An identity in place of the file's name is not repeated by any message.
    static func identityFile(_ path: PathArgument) -> Source {
        RecipientText.isIdentity(path.bytes) ? .identityText : .identityFile(path)
    }

    /// The same argument, named by `option` in messages.
    func given(to option: String) -> KeyArgument {
        var argument = self
        argument.option = option
        return argument
    }

    /// The same argument as what unlocks the keyring. `unprotected` is a word only there: elsewhere it may be the name
    /// of a key, which unlocks nothing.
    func unlocking(as option: String) -> KeyArgument {
        var argument = given(to: option)
        if argument.source == .named("unprotected") { argument = KeyArgument(.unprotected, of: option) }
        return argument
    }

    /// Whether it names a passphrase.
    var isPassphrase: Bool {
        switch source {
        case .passphrase, .passphraseFile, .passphraseDescriptor: true
        default: false
        }
    }

    /// How it uses standard input; nil if it does not.
    var standardInputUse: StandardInput.Use? {
        let (kind, value, isStandardInput) =
            switch source {
            case .file(let path): ("file:", path.escaped, path.isStandardInput)
            case .passphraseFile(let path): ("passphrase-file:", path.escaped, path.isStandardInput)
            case .passphraseDescriptor(let number): ("passphrase-fd:", "\(number)", StandardInput.isShared(number))
            case .recipientsFile(let path): ("recipients-file:", path.escaped, path.isStandardInput)
            case .identityFile(let path): ("identity-file:", path.escaped, path.isStandardInput)
            default: ("", "", false)
            }
        guard isStandardInput else { return nil }
        return StandardInput.Use(text: "\(option) \(isOfOption ? "" : kind)\(value)", secret: source)
    }

    /// Whether it names something that can get a slot.
    var canHaveSlot: Bool {
        switch source {
        case .others, .unprotected, .identityText, .fileAlone, .unknown: false
        default: true
        }
    }

    /// The name or ID of a key of the keyring, if it is one.
    var name: String? {
        if case .named(let name) = source { name } else { nil }
    }

    /// Whether it may need the keyring: for a key, for the public keys of a name, or to open a container of identities.
    var mayUseKeyring: Bool {
        switch source {
        case .named, .identityFile: true
        case .recipient(let text): !RecipientText.isKey(text)
        default: false
        }
    }

    /// Whether its option is only for keys of the keyring.
    var isOfKeys: Bool { option == "-k" }

    /// The ID of a key or a slot, if it is one.
    var id: KeyID? { name.flatMap { KeyID(hex: $0) } }

    /// The descriptor that it reads, if it reads one.
    var descriptor: Int32? {
        if case .passphraseDescriptor(let number) = source { number } else { nil }
    }

    /// The file that it reads, if it reads one.
    var path: PathArgument? {
        switch source {
        case .file(let path), .passphraseFile(let path), .recipientsFile(let path), .identityFile(let path): path
        default: nil
        }
    }

    /// What messages call it: the word as it was typed, if it cannot hold a secret.
    var subject: Failure.Subject {
        switch source {
        case .named(let name): .text("key '\(name)'")
        case .file(let path), .passphraseFile(let path), .recipientsFile(let path), .identityFile(let path):
            path.subject
        case .command, .identityCommand: .text(option)
        case .passphrase: .text("passphrase")
        case .passphraseDescriptor(let number): .text("passphrase-fd:\(number)")
        case .others: .text("others")
        case .unprotected: .text("unprotected")
        // Its text may be an identity that was put there by mistake.
        case .recipient, .identityText, .fileAlone, .unknown: .text(option.isEmpty ? "K" : option)
        }
    }

    /// Refuses what cannot unlock a keyring.
    func checkUnlocks() throws(Failure) {
        let reason: String
        switch source {
        case .file, .command, .passphrase, .passphraseFile, .passphraseDescriptor, .unprotected: return
        case .fileAlone, .identityText: throw refusal
        case .recipient, .recipientsFile, .identityFile, .identityCommand:
            reason = "names public keys or identities, which unlock no keyring"
        case .named: reason = "names a key of the keyring, which cannot unlock that keyring"
        case .others: reason = "others names slots, not a key or a passphrase"
        case .unknown(let why): reason = why
        }
        throw .usage(option, reason, hint: hintAtFile ?? .unlockWord)
    }

    /// The hint for the name of a file or folder in place of a public key.
    var hintAtFileOfRecipients: Hint? {
        guard case .recipient(let name) = source, !name.contains(0) else { return nil }
        return switch try? FilePath(bytes: name).stat().type {
        case .directory: .folderInput
        case .regular: .recipientsFile
        default: nil
        }
    }

    /// The failure for a text that is neither a public key nor a name, as far as that is clear without the keyring.
    var mistakeInRecipient: Failure? {
        guard case .recipient(let text) = source else { return nil }
        if RecipientText.isIdentity(text) { return KeyArgument(.identityText, of: option).refusal }
        if RecipientText.isTypeOfSSH(text) {
            return Failure(.usage, subject, "takes a whole line of an ssh key in one argument", hint: .wholeLine)
        }
        return nil
    }

    /// The failure if this names nothing that can get a slot.
    var refusal: Failure {
        switch source {
        case .recipient, .recipientsFile, .identityFile, .identityCommand:
            Failure(.usage, subject, "names public keys or identities, not a key or a passphrase")
        case .identityText:
            Failure(
                .usage, subject, "is an identity, which is a secret, and others can see arguments",
                hint: isOfOption ? .identityFile : .identityWord)
        case .fileAlone: Failure(.usage, subject, "names a file, and no kind of secret", hint: .keyFileAlone)
        case .unknown(let reason): Failure(.usage, subject, reason, hint: .keyWord)
        default: Failure(.usage, subject, "names slots, not a key or a passphrase")
        }
    }
}
