internal import ArgumentParser
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key list`.
    struct List: Verb {
        static let name = VerbName.keyList
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "List the keys of the keyring.",
            discussion: """
                Writes one line for each key, in the order in which they were added: its ID, when it was made, its \
                state and its name. This unlocks the keyring: a locked keyring does not show which keys it holds.
                """)

        static var help: String {
            """
            Usage: vaultfile key list [options]

              vaultfile key list
              vaultfile key list --unlock file:safe.txt
              vaultfile key list --json | jq -r .keyName

            Lists the keys of the keyring: ID, when it was made, state, name.

            Options:
            \(HelpText.unlock)
            """
        }

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let keyring = try KeyringSession(unlocking, console).open()
            return try console.give(keyring.entries, done: "was read") { entry, _ in [entry.line] }
        }
    }

    /// `vaultfile key use`.
    struct Use: Verb {
        static let name = VerbName.keyUse
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Make a key of the keyring the current one.",
            discussion: """
                From now on it encrypts if no key is named; the key that was current is retired. Existing containers \
                are not changed: `vaultfile rotate` changes them to the current key.
                """)

        static var help: String {
            """
            Usage: vaultfile key use [options] NAME

              vaultfile key use work
              vaultfile key use --unlock file:safe.txt work
              vaultfile key use 193737b953b6ab8dc835a31fb5e87c75

            Makes a key of the keyring the current one: it encrypts if no key is named. The
            key that was current is retired. rotate changes existing containers.

            Options:
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("The key's name or ID.", valueName: "name-or-id"), completion: KeyCompletion.ofName)
        var key: KeyArgument

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            try unlocking.change([key], done: "is current", on: console) { change, entry in
                try change.use(entry.id)
            }
        }
    }

    /// `vaultfile key retire`.
    struct Retire: Verb {
        static let name = VerbName.keyRetire
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Retire keys of the keyring: they open containers and encrypt nothing new.",
            discussion: """
                If the current key is retired, no key is current, and encrypt needs a key to be named until \
                `vaultfile key use` or `vaultfile key generate` makes one current.
                """)

        static var help: String {
            """
            Usage: vaultfile key retire [options] NAME ...

              vaultfile key retire old
              vaultfile key retire old older
              vaultfile key retire --unlock file:safe.txt old

            Retires keys of the keyring: they open containers and encrypt nothing new.

            Options:
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("A key's name or ID.", valueName: "name-or-id"), completion: KeyCompletion.ofName)
        var operandLists: [OperandList]

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            try unlocking.change(
                operandLists.flatMap(\.keys), done: "is retired", on: console
            ) { change, entry in
                try change.retire(entry.id)
            }
        }
    }
}

extension UnlockOptions {
    /// Makes a change to all of these keys or, if one fails, to none.
    fileprivate func change(
        _ arguments: [KeyArgument], done: String, on console: Console,
        _ body: (inout KeyringChange, KeyringEntry) throws -> Void
    ) throws -> ExitStatus {
        let entries = try KeyringSession(self, console).change { change in
            try arguments.map { argument in
                let entry = try argument.entry { change.entry($0) }
                try entry.subject.attempt { try body(&change, entry) }
                return try argument.entry { change.entry($0) }
            }
        }
        return try console.give(entries, done: done) { entry, _ in ["\(entry.name): \(done)"] }
    }
}
