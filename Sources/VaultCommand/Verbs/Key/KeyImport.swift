internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key import`.
    struct Import: Verb {
        static let name = VerbName.keyImport
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Import keys, identities and recipients into the keyring.",
            discussion: """
                A file has a key of vaultfile, or identities: lines with AGE-SECRET-KEY-1…, as age-keygen writes them, \
                or an OpenSSH private key of type ed25519 without a passphrase. Imported keys are retired: they only \
                open containers. --use makes a single imported key the current one. The files are not removed. \
                Something that is in the keyring already is not imported again: among several it is passed over with a \
                warning. And what was destroyed there stays \
                destroyed; --key-file still opens with such a key. An identity whose recipient is in the keyring takes \
                the place of it, under its name.

                -r and -R add recipients, to encrypt to them by their names: age1…, age1pq… or a line with ssh-ed25519. \
                MAKE SURE that a recipient belongs to the person: compare its ID, or the text, with them over another \
                channel.
                """)

        static var help: String {
            """
            Usage: vaultfile key import [options] KEY-FILE ...

              vaultfile key import --use --name work key.txt
              vaultfile key import --name me ~/.ssh/id_ed25519
              vaultfile key import --name alice -r age1…

            Imports keys, identities and recipients. Keys are retired: they open containers
            and encrypt nothing new. The files stay. COMPARE a recipient with its owner.

            Options:
              -r, --recipient TEXT     age1…, age1pq… or a line with ssh-ed25519
              -R, --recipients-file PATH
                                       all recipients in this file
              --key-file PATH          another key file; - is standard input
              --key-command COMMAND    the key file that a command prints
              --name NAME              name it
              --use                    make it the current key
            \(HelpText.newKeyring)
            """
        }

        @Argument(
            help: ArgumentHelp(
                "A key file, or a file of identities; - is standard input.", valueName: "key-file"))
        var operandLists: [OperandList] = []

        @OptionGroup(title: "Keys") var keys: KeyFileOptions

        @Option(
            name: .shortAndLong, parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Add this recipient: age1…, age1pq… or a line with ssh-ed25519.", valueName: "text"))
        var recipient: [BytesArgument] = []

        @Option(
            name: [.customShort("R"), .customLong("recipients-file")], parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Add all recipients in this file, one in each line.", valueName: "path"))
        var recipientsFiles: [PathArgument] = []

        @OptionGroup var naming: KeyNameOption

        @Flag(help: "Make it the current key.")
        var use = false

        @OptionGroup(title: "Keyring") var making: NewKeyringOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            var options = keys
            options.keyFiles = operandLists.flatMap(\.paths) + keys.keyFiles
            try options.refuseSharedStandardInput(making.unlocking)
            let name = try naming.name()
            let session = try KeyringSession(making.unlocking, console)
            let found = try recipients(session) + options.arguments.flatMap { try session.imported($0) }
            guard !found.isEmpty else { throw Failure.usage("key import", "no key was given") }
            if found.count > 1, use || name != nil {
                throw Failure.usage(use ? "--use" : "--name", "is for one, not for \(found.count)")
            }
            if use, !found.allSatisfy(\.isKey) { throw Failure.usage("--use", "is for keys that encrypt by default") }
            let now = Timestamp.now
            let ((entries, known), made) = try session.add(unprotected: making.unprotected) { change in
                var known: [Failure] = []
                let entries = try found.compactMap { one -> KeyringEntry? in
                    do {
                        return try one.add(to: &change, name, use: use, now)
                    } catch {
                        guard let failure = error as? Failure, failure.error == .keyExists else { throw error }
                        known.append(failure)
                        return nil
                    }
                }
                // If all are known, nothing would be done.
                if entries.isEmpty, let first = known.first { throw first }
                return (entries, known)
            }
            for failure in known { console.warn(failure.subject, "one is passed over: \(failure.reason)") }
            let status = try console.give(entries, done: "was imported") { entry, _ in
                ["\(entry.name): \(entry.nounAndID)"]
            }
            if let made { console.tell(ofNew: made) }
            return status
        }

        private func recipients(_ session: KeyringSession) throws -> [Imported] {
            var found: [Imported] = []
            for text in recipient {
                let subject = Failure.Subject.text("--recipient")
                found.append(.recipient(try subject.attempt { try text.recipient() }, subject))
            }
            for path in recipientsFiles {
                found += try session.recipients(in: path).map { .recipient($0, path.subject) }
            }
            return found
        }
    }
}

/// Something to import.
private enum Imported {
    case key(LoadedKey)
    case identity(IdentityFile.Entry, Timestamp?, Failure.Subject)
    case recipient(RecipientFile.Entry, Failure.Subject)

    var isKey: Bool {
        if case .key = self { true } else { false }
    }

    func add(
        to change: inout KeyringChange, _ name: KeyName?, use: Bool, _ now: Timestamp
    ) throws -> KeyringEntry {
        switch self {
        case .key(let key):
            let created = key.created ?? now
            let name = try name ?? change.freeName(for: created)
            return try key.source.attempt {
                try change.add(key.key, named: name, created: created, asCurrent: use)
            }
        case .identity(let identity, let created, let source):
            let created = created ?? now
            let name = try name ?? change.freeName(for: created, "identity")
            return try source.attempt {
                switch identity {
                case .identity(let identity): try change.add(identity, named: name, created: created)
                case .plugin(let identity): try change.add(identity, named: name, created: created)
                }
            }
        case .recipient(let key, let source):
            let name = try name ?? change.freeName(for: now, "recipient")
            return try source.attempt { try change.add(key, named: name, created: now) }
        }
    }
}

extension KeyringSession {
    /// Reads a key, or identities, from a file or a command.
    fileprivate func imported(_ argument: KeyArgument) throws(Failure) -> [Imported] {
        try reader.attempt(about: argument.subject) { subject in
            let text: SecretText
            switch argument.source {
            case .file(let path): text = try reader.contents(of: path, holding: "key", tooLong: .badKey)
            case .command(let command): text = try reader.printed(by: command, subject)
            default: throw argument.refusal
            }
            guard try text.withBytes({ KnownFormats.beginsAsIdentities($0) }) else {
                return [.key(try LoadedKey(text, from: subject))]
            }
            return try text.withBytes { text in
                let created = SymmetricKey.creationTime(inKeyFile: text)
                return try IdentityFile(text).entries.map { .identity($0, created, subject) }
            }
        }
    }
}

extension BytesArgument {
    fileprivate func recipient() throws -> RecipientFile.Entry {
        try RecipientFile.Entry(String(decoding: bytes, as: UTF8.self))
    }
}
