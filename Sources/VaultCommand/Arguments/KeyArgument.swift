internal import ArgumentParser
internal import VaultFile

/// A key or passphrase named by one word, as `--unlock`, `--add` and `--remove` take it: K in the help.
///
/// Every word is taken here and what is none of these is refused where it is used: the parser would repeat it in its
/// message, and it may be a passphrase.
struct KeyArgument: ExpressibleByArgument, Hashable, Sendable {
    /// What it names.
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
        /// A public key, which a later version will know.
        case recipient
        /// None of these, and why, without a word of it.
        case unknown(String)
    }

    /// For a help text: what K may be.
    static let grammar = """
        K is a key's NAME or ID in the keyring, file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or \
        passphrase-fd:N.
        """

    /// For a help text: who takes which line of a descriptor.
    static let lines = """
        A descriptor that is named more than once gives a line each time: first to --passphrase-fd, then to --unlock, \
        --remove and --add, in whatever order they stand. \(KeyringUnlocking.variable) counts as --unlock where the \
        keyring may be opened: where nothing else says what opens, or K is one of its keys.
        """

    let source: Source

    init(_ source: Source) {
        self.source = source
    }

    init(argument: String) {
        self.init(bytes: ArgumentText.decode(argument))
    }

    init(bytes: [UInt8]) {
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
        case _ where KeyName.reserved.contains(text): return .unknown("is a word that wants a colon and more behind it")
        default:
            guard KeyID(hex: text) != nil || KeyName(bytes: bytes) != nil else {
                return .unknown("is neither a name that a key can have nor an ID")
            }
            return .named(text)
        }
    }

    private static func scheme(_ name: String, _ value: [UInt8]) -> Source {
        guard !value.isEmpty else { return .unknown("has nothing behind its colon") }
        switch name {
        case "file": return .file(PathArgument(bytes: value))
        case "command": return .command(value)
        case "passphrase-file": return .passphraseFile(PathArgument(bytes: value))
        case "passphrase-fd":
            guard let number = Int32(String(decoding: value, as: UTF8.self)), number >= 0 else {
                return .unknown("has no number of a descriptor behind its colon")
            }
            return .passphraseDescriptor(number)
        case "recipient": return .recipient
        case "passphrase":
            return .unknown("takes no passphrase, which others could see in an argument: passphrase alone asks for it")
        default: return .unknown("begins with a word and a colon that mean nothing here")
        }
    }

    /// Whether it names a passphrase.
    var isPassphrase: Bool {
        switch source {
        case .passphrase, .passphraseFile, .passphraseDescriptor: true
        default: false
        }
    }

    /// The use of standard input that it is; nil where it says something else.
    ///
    /// - Parameter option: What it stands behind.
    func standardInputUse(_ option: String) -> StandardInput.Use? {
        switch source {
        case .file(let path) where path.isStandardInput:
            .init(text: "\(option) file:\(path.escaped)", secret: source)
        case .passphraseFile(let path) where path.isStandardInput:
            .init(text: "\(option) passphrase-file:\(path.escaped)", secret: source)
        case .passphraseDescriptor(let number) where StandardInput.isShared(number):
            .init(text: "\(option) passphrase-fd:\(number)", secret: source)
        default: nil
        }
    }

    /// Whether it can name a key or a passphrase.
    var isSecret: Bool {
        switch source {
        case .others, .recipient, .unknown: false
        default: true
        }
    }

    /// The ID, if it is one: of a key, or of a slot.
    var id: KeyID? {
        if case .named(let name) = source { KeyID(hex: name) } else { nil }
    }

    /// The descriptor that it reads, if it reads one.
    var descriptor: Int32? {
        if case .passphraseDescriptor(let number) = source { number } else { nil }
    }

    /// The file that it reads, if it reads one.
    var path: PathArgument? {
        switch source {
        case .file(let path), .passphraseFile(let path): path
        default: nil
        }
    }

    /// What a message about it names: the word as it was typed where nothing in it can be a secret.
    var subject: Failure.Subject {
        switch source {
        case .named(let name): .text("key \(name)")
        case .file(let path), .passphraseFile(let path): path.subject
        case .command: .text("command:")
        case .passphrase: .text("passphrase")
        case .passphraseDescriptor(let number): .text("passphrase-fd:\(number)")
        case .others: .text("others")
        case .recipient: .text("recipient:")
        case .unknown: .text("K")
        }
    }
}

extension Failure {
    /// Why a word names no key and no passphrase.
    init(noSecret argument: KeyArgument) {
        switch argument.source {
        case .recipient:
            self.init(.unsupported, argument.subject, "this version has no public keys")
        case .unknown(let reason):
            self.init(.usage, argument.subject, reason, hint: KeyArgument.grammar)
        default:
            self.init(.usage, argument.subject, "are slots, and no key or passphrase")
        }
    }
}
