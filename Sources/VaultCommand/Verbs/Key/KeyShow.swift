internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key show`.
    struct Show: Verb {
        static let name = VerbName.keyShow
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Show the IDs of keys, never the keys.",
            discussion: """
                Writes one line for each key: its ID, when it was made, if its key file says so, and its source. \
                `vaultfile inspect` shows the same ID in the containers that the key opens. Without a key, this shows \
                the key file that VAULTFILE_KEY_FILE names, else the keyring's current key.
                """)

        static var help: String {
            """
            Usage: vaultfile key show [options]

              vaultfile key show                         the key that encrypts now
              vaultfile key show --key-file key.txt
              vaultfile key show -k work

            Shows the IDs of keys, never the keys. inspect shows the same IDs.

            Options:
              -k, --key NAME           this key of the keyring, by its name or ID
              --key-file PATH          the key in this file; - is standard input
              --key-command COMMAND    the key file that a command prints
            \(HelpText.unlock)
            """
        }

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
            var loaded = try session.secrets(keys.arguments, for: .opening).keys
            if !keyringKeys.isEmpty {
                let keyring = try session.open()
                loaded += try keyringKeys.map { argument in
                    try keyring.loaded(try argument.entry { keyring.entry($0) })
                }
            }
            if loaded.isEmpty { loaded = [try session.encryptionKey(orElse: .noKeyToShow)] }
            return .ofAll(
                try loaded.map { key in
                    var report = Report(.ok, about: key.source)
                    report.keyID = "\(key.id)"
                    report.created = key.created?.utc
                    let line = "\(key.id)  \(key.created?.utc ?? "(time unknown)      ")  \(key.source.escaped)"
                    return try console.give(report, lines: [line], about: key.source, done: "was read")
                })
        }
    }
}
