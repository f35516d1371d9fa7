internal import Synchronization
internal import SystemPackage
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

/// Reads keys where the options, or the environment, say they are.
struct KeySources {
    /// What the keys are for; a new passphrase is asked for twice.
    enum Purpose: Sendable {
        case sealing, opening
    }

    /// The variable that names the key file of those who name no key.
    static let variable = "VAULTFILE_KEY_FILE"

    let console: Console

    /// The files that secrets come from, known before any is read: none of them may become an output or be removed.
    static func identities(_ options: KeyOptions) -> Set<FileIdentity> {
        var paths = options.files.keyFiles + options.passphraseFiles
        if options.isEmpty, let path = standardPath() { paths.append(path) }
        return FileIdentity.all(of: paths)
    }

    /// All keys that the options name.
    func read(_ options: KeyOptions, for purpose: Purpose) throws(Failure) -> Keys {
        var keys = Keys(symmetric: try read(options.files))
        for path in options.passphraseFiles {
            keys.passphrases.append(
                try passphrase(about: path.subject) {
                    try withFile(path) { descriptor in
                        try warnIfOthersRead(descriptor, path, "passphrase")
                        return try SecretText(contentsOf: descriptor)
                    }
                })
        }
        for number in options.passphraseDescriptors {
            let subject = Failure.Subject.text("--passphrase-fd \(number)")
            keys.passphrases.append(
                try passphrase(about: subject) { try SecretText(lineFrom: FileDescriptor(rawValue: number)) })
        }
        for _ in 0..<options.passphrase {
            keys.passphrases.append(try PassphraseDialogue.ask(for: purpose))
        }
        return keys
    }

    /// All keys of key files that the options name.
    func read(_ options: KeyFileOptions) throws(Failure) -> [LoadedKey] {
        var keys: [LoadedKey] = []
        for path in options.keyFiles { keys.append(try key(inFile: path)) }
        for command in options.keyCommands { keys.append(try KeyCommand.key(from: command.bytes)) }
        return keys
    }

    /// The key of those who name none; nil where the environment names none either.
    func standardKey() throws(Failure) -> LoadedKey? {
        try Self.standardPath().map { path throws(Failure) in try key(inFile: path) }
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

    /// A warning and no more: service managers hand out secrets with modes that a strict check refuses.
    private func warnIfOthersRead(_ descriptor: FileDescriptor, _ path: PathArgument, _ what: String) throws {
        let stat = try descriptor.stat()
        guard stat.type == .regular, !stat.permissions.isDisjoint(with: [.groupRead, .otherRead]) else { return }
        console.warn(path.subject, "others can read this \(what)", hint: "chmod 600 keeps it to its owner")
    }

    private func withFile<R: ~Copyable>(_ path: PathArgument, _ body: (FileDescriptor) throws -> R) throws -> R {
        guard !path.isDash else { return try body(.standardInput) }
        let descriptor = try SystemCalls.openForReading(path.path)
        defer { try? descriptor.close() }
        return try body(descriptor)
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
    /// The key in the text of a key file.
    init(_ text: borrowing SecretText, from source: Failure.Subject) throws {
        self.source = source
        (key, created) = try text.withBytes { bytes in
            do {
                return (try SymmetricKey(keyFile: bytes), CreationComment.find(in: bytes))
            } catch let error as VaultError where error.code == .badKey {
                guard let trouble = KnownFormats.trouble(ofKeyFile: bytes) else { throw error }
                throw SecretText.Malformed(reason: trouble)
            }
        }
    }
}

/// The comment of a key file that says when the key was made.
enum CreationComment {
    private static let lead = Array("# created: ".utf8)
    private static let shape = Array("0000-00-00T00:00:00Z".utf8)

    /// The time, if it has the form that `key generate` gives it. Anything else stays unread: what stands beside a key
    /// is nothing to be printed.
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
        guard line.count >= lead.count + shape.count, lead.indices.allSatisfy({ line[$0] == lead[$0] }) else {
            return nil
        }
        var time: [UInt8] = []
        for (index, expected) in shape.enumerated() {
            let byte = line[lead.count + index]
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            guard expected == UInt8(ascii: "0") ? isDigit : byte == expected else { return nil }
            time.append(byte)
        }
        return String(decoding: time, as: UTF8.self)
    }
}
