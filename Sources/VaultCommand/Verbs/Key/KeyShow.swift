internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key show`.
    struct Show: Verb {
        static let configuration = CommandConfiguration.verb(
            "show",
            abstract: "Show the IDs of keys, never the keys.",
            discussion: """
                One line for each key: its ID, when it was made as far as its key file says so, and where it came \
                from. The ID is what `vaultfile inspect` shows of the containers that the key opens. Without a key, \
                the key file that VAULTFILE_KEY_FILE names is shown, else the keyring's current key.
                """)

        @OptionGroup(title: "Keys") var keys: KeyFileOptions

        @Option(
            name: [.customShort("k"), .customLong("key")], parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Show this key of the keyring.", valueName: "name-or-id"))
        var keyringKeys: [KeyArgument] = []

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            try StandardInput.refuseShared(keys.standardInputUses + unlocking.standardInputUses)
            let sources = KeySources(console: console)
            var loaded = try sources.read(keys)
            if !keyringKeys.isEmpty {
                let keyring = try sources.keyring(unlocking).open()
                for argument in keyringKeys {
                    loaded.append(try LoadedKey(try argument.entry { keyring.entry($0) }, of: keyring))
                }
            }
            if loaded.isEmpty {
                guard let key = try sources.standardKey(toSeal: unlocking) else {
                    throw Failure(
                        .noKey, .text("key show"), "no key was given",
                        hint: "give --key-file FILE, --key-command COMMAND or -k NAME, or set \(KeySources.variable)")
                }
                loaded = [key]
            }
            return .ofAll(
                try loaded.map { entry in
                    var report = Report(.ok, verb: "key show", about: entry.source)
                    report.keyID = "\(entry.key.id)"
                    report.created = entry.created
                    let line = "\(entry.key.id)  \(entry.created ?? "(time unknown)      ")  \(entry.source.escaped)"
                    return try console.give(report, lines: [line], about: entry.source, done: "was read")
                })
        }
    }
}
