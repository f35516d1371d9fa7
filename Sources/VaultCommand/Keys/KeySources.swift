internal import Synchronization
internal import SystemPackage
internal import VaultCrypto
internal import VaultFile

/// A symmetric key and where it came from.
struct LoadedKey: Sendable {
    let key: SymmetricKey
    /// What a message about it names.
    let source: Failure.Subject
    /// When it was made, as its key file says.
    let created: String?
}

/// The keys of a run, each source read once.
struct Keys: Sendable {
    var symmetric: [LoadedKey] = []
    var passphrases: [Passphrase] = []

    /// Whom an encryption is for: a slot for each.
    var recipients: [Recipient] {
        symmetric.map { .key($0.key) } + passphrases.map { .passphrase($0) }
    }
}

/// One of them.
enum Secret: Sendable {
    case key(LoadedKey)
    case passphrase(Passphrase)

    /// Whom an encryption is for.
    var recipient: Recipient {
        switch self {
        case .key(let key): .key(key.key)
        case .passphrase(let passphrase): .passphrase(passphrase)
        }
    }

    /// The key, if it is one.
    var key: SymmetricKey? { loadedKey?.key }

    /// The key and where it came from, if it is one.
    var loadedKey: LoadedKey? {
        if case .key(let key) = self { key } else { nil }
    }

    /// The passphrase, if it is one.
    var passphrase: Passphrase? {
        if case .passphrase(let passphrase) = self { passphrase } else { nil }
    }
}

/// Reads keys where the options, or the environment, say they are.
final class KeySources: Sendable {
    /// What the keys are for; a new passphrase is asked for twice.
    enum Purpose: Hashable, Sendable {
        case sealing, opening
    }

    /// The variable that names the key file of those who name no key.
    static let variable = "VAULTFILE_KEY_FILE"

    /// What a K is named for.
    struct Use: Hashable, Sendable {
        let purpose: Purpose
        /// The option, for a message about what it names.
        let option: String
        /// What a passphrase that is asked for is for, where that is one thing.
        var subject: String?

        /// A slot that is to be made.
        static let adding = Use(purpose: .sealing, option: "--add")
        /// A slot that is to go.
        static let removing = Use(purpose: .opening, option: "--remove", subject: "the slot to be removed")
        /// The keyring, which it unlocks.
        static let unlocking = Use(purpose: .opening, option: "--unlock", subject: keyring)
        /// The keyring, which it is to unlock from now on.
        static let setting = Use(purpose: .sealing, option: "--unlock", subject: keyring)

        /// One of KEYS.
        static let given = Use(purpose: .opening, option: "--key-command")

        static let keyring = "the keyring"
    }

    let console: Console
    private let access = Mutex<KeyringAccess?>(nil)
    private let known = Mutex<[Named: Secret]>([:])

    /// What has been read by the name that it has in `secret`.
    private struct Named: Hashable {
        let source: KeyArgument.Source
        /// A passphrase that is to be set is another than the one that opens, and what opens the keyring is not what
        /// opens a container.
        var purpose = Purpose.opening
        var subject: String?

        /// Nil for a descriptor, of which each reading takes the next line.
        init?(_ source: KeyArgument.Source, _ use: Use) {
            if case .passphraseDescriptor = source { return nil }
            self.source = source
            guard source == .passphrase else { return }
            (purpose, subject) = (use.purpose, use.subject)
        }
    }

    init(console: Console) {
        self.console = console
    }

    /// The keyring of the run.
    func keyring(_ options: UnlockOptions) -> KeyringAccess {
        access.withLock { access in
            let made = access ?? KeyringAccess(options, from: self)
            access = made
            return made
        }
    }

    /// The files that secrets come from, known before any is read: none of them may become an output or be removed.
    static func identities(_ options: KeyOptions) throws(Failure) -> Set<FileIdentity> {
        var paths = options.files.keyFiles + options.passphraseFiles + options.unlocking.unlock.compactMap(\.path)
        if options.isEmpty, let path = standardPath() { paths.append(path) }
        if options.usesKeyring, let place = KeyringPlace.find() {
            paths += [place.path, place.unlockKey] + KeyringUnlocking.files(options.unlocking)
        }
        return try FileIdentity.all(of: paths)
    }

    /// The key or passphrase that one word names: read once a run, but of a descriptor the next line each time.
    ///
    /// - Parameter options: How the keyring is unlocked, where the word names one of its keys.
    func secret(
        _ argument: KeyArgument, for use: Use, unlocking options: UnlockOptions = UnlockOptions()
    ) throws(Failure) -> Secret {
        guard let named = Named(argument.source, use) else { return try read(argument, for: use, unlocking: options) }
        if let known = known.withLock({ $0[named] }) { return known }
        let secret = try read(argument, for: use, unlocking: options)
        known.withLock { $0[named] = secret }
        return secret
    }

    private func read(
        _ argument: KeyArgument, for use: Use, unlocking options: UnlockOptions
    ) throws(Failure) -> Secret {
        switch argument.source {
        case .named(let name): return .key(try key(name, of: keyring(options), for: use.purpose))
        case .file(let path): return .key(try key(inFile: path))
        case .command(let command):
            return .key(try key(printedBy: command, about: .text(use.option)))
        case .passphrase: return .passphrase(try PassphraseDialogue.ask(for: use.purpose, name: use.subject))
        case .passphraseFile(let path): return .passphrase(try passphrase(inFile: path))
        case .passphraseDescriptor(let number):
            return .passphrase(try passphrase(from: number, about: argument.subject))
        case .others, .recipient, .unknown:
            throw Failure(noSecret: argument)
        }
    }

    /// A key of the keyring.
    func key(
        _ reference: String, of access: KeyringAccess, for purpose: Purpose
    ) throws(Failure) -> LoadedKey {
        let keyring = try access.open()
        let subject = Failure.Subject.text("key \(reference)")
        guard let entry = keyring.entry(reference) else {
            throw Failure(
                .noKey, subject, "is not in the keyring \(try access.located().subject.escaped)",
                hint: "vaultfile key list shows what is")
        }
        let key = try LoadedKey(entry, of: keyring)
        if purpose == .sealing { try Self.refuseRetired(key, access) }
        return key
    }

    /// The key that encrypts where none is named: of the key file in the environment, else the keyring's current one.
    /// Nil where there is neither.
    func standardKey(toSeal options: UnlockOptions) throws(Failure) -> LoadedKey? {
        if let key = try standardKey() { return key }
        let access = keyring(options)
        guard access.exists else { return nil }
        let keyring = try access.open()
        guard let entry = keyring.current else {
            throw Failure(
                .noKey, try access.located().subject, "no key of the keyring is current",
                hint: "vaultfile key use NAME makes one so, vaultfile key generate makes a new one")
        }
        return try key(entry.id.description, of: access, for: .sealing)
    }

    /// All keys that the options name: a file that is named elsewhere on the line too is read once.
    func read(_ options: KeyOptions, for purpose: Purpose) throws(Failure) -> Keys {
        var lines: [Passphrase] = []
        for number in options.passphraseDescriptors {
            // First, so that what unlocks the keyring has the line behind.
            lines.append(try passphrase(from: number, about: .text("--passphrase-fd \(number)")))
        }
        var keys = Keys(symmetric: try read(options.files))
        for argument in options.keyringKeys {
            keys.symmetric.append(try key(options.name(in: argument), of: keyring(options.unlocking), for: purpose))
        }
        for path in options.passphraseFiles {
            let use = Use(purpose: purpose, option: "--passphrase-file")
            let secret = try secret(KeyArgument(.passphraseFile(path)), for: use)
            if let passphrase = secret.passphrase { keys.passphrases.append(passphrase) }
        }
        keys.passphrases += lines
        for _ in 0..<options.passphrase {
            keys.passphrases.append(try PassphraseDialogue.ask(for: purpose))
        }
        if purpose == .sealing { try refuseRetired(keys.symmetric, unlocking: options.unlocking) }
        return keys
    }

    /// All keys of key files that the options name.
    func read(_ options: KeyFileOptions) throws(Failure) -> [LoadedKey] {
        var keys: [LoadedKey] = []
        let files = options.keyFiles.map { KeyArgument(.file($0)) }
        for argument in files + options.keyCommands.map({ KeyArgument(.command($0.bytes)) }) {
            if let key = try secret(argument, for: .given).loadedKey { keys.append(key) }
        }
        return keys
    }

    /// The key of those who name none; nil where the environment names none either.
    func standardKey() throws(Failure) -> LoadedKey? {
        guard let path = Self.standardPath() else { return nil }
        return try secret(KeyArgument(.file(path)), for: .given).loadedKey
    }

    /// Refuses new slots for keys that the keyring, if it is open by now, does not have as current (REENC-4).
    func refuseRetired(_ keys: [LoadedKey], unlocking options: UnlockOptions) throws(Failure) {
        for key in keys { try Self.refuseRetired(key, keyring(options)) }
    }

    private static func refuseRetired(_ key: LoadedKey, _ access: KeyringAccess) throws(Failure) {
        guard let entry = access.entry(of: key.key.id) else { return }
        switch entry.state {
        case .current: return
        case .retired:
            throw Failure(
                .usage, key.source, "is retired: it opens, and encrypts nothing new",
                hint: "vaultfile key use \(entry.name) makes it current")
        case .destroyed:
            throw Failure(
                .usage, key.source, "is the key \(entry.name) of the keyring, which was destroyed there",
                hint: "vaultfile key generate makes a new one")
        }
    }

    private static func standardPath() -> PathArgument? {
        guard let path = RawArguments.environment(variable), !path.isEmpty else { return nil }
        // `./` keeps a file that is called `-` a file.
        return PathArgument(bytes: path == [UInt8(ascii: "-")] ? Array("./-".utf8) : path)
    }

    private func key(inFile path: PathArgument) throws(Failure) -> LoadedKey {
        do {
            return try withFile(path) { descriptor in
                let text = try SecretText(contentsOf: descriptor)
                try warnIfOthersRead(descriptor, path, "key")
                return try LoadedKey(text, from: path.subject)
            }
        } catch {
            throw Failure(error, about: path.subject, system: .noKey)
        }
    }

    private func key(printedBy command: [UInt8], about subject: Failure.Subject) throws(Failure) -> LoadedKey {
        do {
            return try LoadedKey(SecretText(printedBy: command), from: subject)
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
    }

    /// A warning and no more: service managers hand out secrets with modes that a strict check refuses.
    private func warnIfOthersRead(_ descriptor: FileDescriptor, _ path: PathArgument, _ what: String) throws {
        let stat = try descriptor.stat()
        guard stat.type == .regular, !stat.permissions.isDisjoint(with: [.groupRead, .otherRead]) else { return }
        console.warn(path.subject, "others can read this \(what)", hint: "chmod 600 keeps it to its owner")
    }

    private func withFile<R: ~Copyable>(_ path: PathArgument, _ body: (FileDescriptor) throws -> R) throws -> R {
        guard !path.isDash else { return try body(.standardInput) }
        let descriptor = try FileDescriptor.openForReading(path.path)
        defer { try? descriptor.close() }
        return try body(descriptor)
    }

    private func passphrase(inFile path: PathArgument) throws(Failure) -> Passphrase {
        try passphrase(about: path.subject) {
            try withFile(path) { descriptor in
                try warnIfOthersRead(descriptor, path, "passphrase")
                return try SecretText(contentsOf: descriptor)
            }
        }
    }

    private func passphrase(from number: Int32, about subject: Failure.Subject) throws(Failure) -> Passphrase {
        try passphrase(about: subject) { try SecretText(lineFrom: FileDescriptor(rawValue: number)) }
    }

    private func passphrase(
        about subject: Failure.Subject, _ read: () throws -> SecretText
    ) throws(Failure) -> Passphrase {
        do {
            return try read().passphrase()
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
    }
}

extension LoadedKey {
    /// A key of a keyring.
    init(_ entry: KeyringEntry, of keyring: Keyring) throws(Failure) {
        source = entry.subject
        do { key = try keyring.key(entry.id) } catch { throw Failure(error, about: source) }
        created = entry.created.utc
    }

    /// The key in the text of a key file.
    init(_ text: borrowing SecretText, from source: Failure.Subject) throws {
        self.source = source
        (key, created) = try text.withBytes { bytes in
            do {
                return (try SymmetricKey(keyFile: bytes), CreationComment.find(in: bytes))
            } catch let error as VaultError where error.code == .badKey {
                guard let trouble = KnownFormats.trouble(ofKeyFile: bytes) else { throw error }
                throw VaultError(.badKey, trouble)
            }
        }
    }
}

/// The comment of a key file that says when the key was made.
enum CreationComment {
    private static let lead = Array("# created: ".utf8)

    /// The time, if it is one and has the form that `key generate` gives it. Anything else stays unread: what stands
    /// beside a key is nothing to be printed.
    static func find(in text: Span<UInt8>) -> String? {
        var start = 0
        while start < text.count {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: "\n") { end += 1 }
            if let time = time(in: text.extracting(start..<end)) { return time }
            start = end + 1
        }
        return nil
    }

    private static func time(in line: Span<UInt8>) -> String? {
        guard line.begins(with: lead), line.count >= lead.count + Timestamp.utcCount else { return nil }
        return Timestamp(utc: (0..<Timestamp.utcCount).map { line[lead.count + $0] })?.utc
    }
}
