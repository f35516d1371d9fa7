internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key show`.
    struct Show: Verb {
        static let name = VerbName.keyShow
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Show the IDs of keys, never the keys; and the texts of recipients.",
            discussion: """
                Writes one line for each key: its ID, when it was made, if its key file says so, and its source. \
                `vaultfile inspect` shows the same ID in the containers that the key opens. Without a key, this shows \
                the key file that VAULTFILE_KEY_FILE names, else the keyring's current key.

                Of a recipient, this writes its text, age1…, in a line; of an identity that of its recipient, which \
                others need to encrypt to you; of a group those of its members without the former. So the output is a \
                file of recipients.
                """)

        static var help: String {
            """
            Usage: vaultfile key show [options] [NAME ...]

              vaultfile key show                         the key that encrypts now
              vaultfile key show --key-file key.txt
              vaultfile key show me                      the recipient of an identity

            Shows the IDs of keys, never the keys; inspect shows the same IDs of keys. Of
            recipients, identities and groups it shows the recipients, for -r and -R.

            Options:
              -k, --key NAME           this key of the keyring, by its name or ID
              --key-file PATH          the key in this file; - is standard input
              --key-command COMMAND    the key file that a command prints
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("What to show of the keyring.", valueName: "name-or-id"),
            completion: KeyCompletion.ofName)
        var operandLists: [OperandList] = []

        @OptionGroup(title: "Keys") var keys: KeyFileOptions

        @Option(
            name: [.customShort("k"), .customLong("key")], parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Show this key of the keyring.", valueName: "name-or-id"),
            completion: KeyCompletion.ofName)
        var keyringKeys: [KeyArgument] = []

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            try keys.refuseSharedStandardInput(unlocking)
            let session = try KeyringSession(unlocking, console)
            let named = (keyringKeys + operandLists.flatMap(\.keys)).map { $0.given(to: "-k") }
            var loaded = try session.secrets(keys.arguments, for: .opening).keys
            if named.isEmpty, loaded.isEmpty { loaded = [try session.encryptionKey(orElse: .noKeyToShow)] }
            var results = loaded.map(Self.result)
            results += try named.map { argument in
                guard let entry = try session.entry(argument) else {
                    var failure = Failure.noSuchKey(argument.subject)
                    failure.hint = argument.hintAtFile ?? failure.hint
                    throw failure
                }
                let keyring = try session.open()
                guard entry.isKey || entry.state == .destroyed else { return try Self.result(entry, keyring) }
                return Self.result(try keyring.loaded(entry))
            }
            return .ofAll(
                try results.map { try console.give($0.report, lines: $0.lines, about: $0.subject, done: "was read") })
        }

        private typealias Result = (report: Report, lines: [String], subject: Failure.Subject)

        private static func result(_ key: LoadedKey) -> Result {
            var report = Report(.ok, about: key.source)
            report.keyID = "\(key.id)"
            report.created = key.created?.utc
            let line = "\(key.id)  \(key.created?.utc ?? "(time unknown)      ")  \(key.source.escaped)"
            return (report, [line], key.source)
        }

        /// What to encrypt to.
        private static func result(_ entry: KeyringEntry, _ keyring: Keyring) throws(Failure) -> Result {
            let recipients = try entry.subject.attempt {
                entry.state == .former ? [entry] : try keyring.recipients(named: entry.name)
            }
            let texts = try recipients.map { one throws(Failure) in
                guard let text = one.recipientText else {
                    throw Failure(.unsupported, one.subject, "its recipient is not known")
                }
                return text
            }
            guard !texts.isEmpty else { throw .usage(entry.subject.escaped, "all of its members are former") }
            return (Report(entry), texts, entry.subject)
        }
    }
}
