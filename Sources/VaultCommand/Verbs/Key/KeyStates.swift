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

        @Argument(help: ArgumentHelp("The key's name or ID.", valueName: "name-or-id"))
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

        @Argument(help: ArgumentHelp("A key's name or ID.", valueName: "name-or-id"))
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
