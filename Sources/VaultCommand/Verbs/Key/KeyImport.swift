internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key import`.
    struct Import: Verb {
        static let name = VerbName.keyImport
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Import keys into the keyring.",
            discussion: """
                Imported keys are retired: they only open containers. --use makes a single imported key the current \
                one. The key files are not removed. A key that is in the keyring already is not imported again, and a \
                key that was destroyed there stays destroyed; --key-file still opens with it.
                """)

        static var help: String {
            """
            Usage: vaultfile key import [options] KEY-FILE ...

              vaultfile key import old.txt               it opens containers
              vaultfile key import --use --name work key.txt
              vaultfile key import --key-command 'pass show vaultfile'

            Imports keys into the keyring. They are retired: they open containers and
            encrypt nothing new. The key files stay.

            Options:
              --key-file PATH          another key file; - is standard input
              --key-command COMMAND    the key file that a command prints
              --name NAME              name the key
              --use                    make it the current key
            \(HelpText.newKeyring)
            """
        }

        @Argument(help: ArgumentHelp("A key file; - is standard input.", valueName: "key-file"))
        var operandLists: [OperandList] = []

        @OptionGroup(title: "Keys") var keys: KeyFileOptions

        @OptionGroup var naming: KeyNameOption

        @Flag(help: "Make it the current key.")
        var use = false

        @OptionGroup(title: "Keyring") var making: NewKeyringOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            var options = keys
            options.keyFiles = operandLists.flatMap(\.paths) + keys.keyFiles
            try options.refuseSharedStandardInput(making.unlocking)
            let count = options.arguments.count
            guard count > 0 else { throw Failure.usage("key import", "no key was given") }
            let name = try naming.name()
            if count > 1, use || name != nil {
                throw Failure.usage(use ? "--use" : "--name", "is for one key, not for \(count)")
            }
            let keyring = try KeyringSession(making.unlocking, console)
            let loaded = try keyring.secrets(options.arguments, for: .opening).keys
            let now = Timestamp.now
            let (entries, made) = try keyring.add(unprotected: making.unprotected) { change in
                try loaded.map { key in
                    let created = key.created ?? now
                    let name = try name ?? change.freeName(for: created)
                    return try key.source.attempt {
                        try change.add(key.key, named: name, created: created, asCurrent: use)
                    }
                }
            }
            let status = try console.give(entries, done: "was imported") { entry, _ in
                ["\(entry.name): key \(entry.id)"]
            }
            if let made { console.tell(ofNew: made) }
            return status
        }
    }

    /// `vaultfile key export`.
    struct Export: Verb {
        static let name = VerbName.keyExport
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Write a key of the keyring as a key file.",
            discussion: """
                EVERYONE WHO CAN READ THE FILE HAS THE KEY: only its mode 0600 protects it. An existing file is never \
                replaced. Without -o the key goes to standard output, which may be trusted only after status 0; it \
                goes to a terminal only with -o -.
                """)

        static var help: String {
            """
            Usage: vaultfile key export [options] NAME

              vaultfile key export -o work.txt work
              vaultfile key export -o - work | ssh host 'vaultfile key import -'
              vaultfile key export --unlock file:safe.txt -o work.txt work

            Writes a key of the keyring as a key file. EVERYONE WHO CAN READ IT HAS THE KEY.

            Options:
              -o, --output OUTPUT      write to this new file; - is standard output
              --no-sync                do not wait until the key file is durable
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("The key's name or ID.", valueName: "name-or-id"), completion: KeyCompletion.ofName)
        var key: KeyArgument

        @OptionGroup var file: KeyOutputOptions
        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let keyring = try KeyringSession(unlocking, console, alwaysAsks: true).open()
            let entry = try key.entry { keyring.entry($0) }
            let destination = try file.write(
                on: console, created: entry.created, keeping: try unlocking.secretFiles()
            ) {
                try keyring.loaded(entry).key
            }.destination
            return try console.give([entry], done: "was exported") { entry, report in
                report.name(output: destination.bytes)
                return ["\(destination.subject.escaped): key \(entry.id)"]
            }
        }
    }
}
