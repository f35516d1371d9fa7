internal import ArgumentParser
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key list`.
    struct List: Verb {
        static let name = VerbName.keyList
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "List the keys, recipients, identities and groups of the keyring.",
            discussion: """
                Writes one line for each, in the order in which they were added: its ID, when it was made or added, \
                its state and its name; for a group also its members. The ID of a recipient or an identity is of its \
                public key, and no container shows it. This unlocks the keyring: a locked keyring does not show what it \
                holds.
                """)

        static var help: String {
            """
            Usage: vaultfile key list [options]

              vaultfile key list
              vaultfile key list --unlock file:safe.txt
              vaultfile key list --json | jq -r .keyName

            Lists what is in the keyring: ID, when it was made, state, name. States of keys
            are current, retired, destroyed; of recipients recipient, former; and identity,
            group.

            Options:
            \(HelpText.unlock)
            """
        }

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let keyring = try KeyringSession(unlocking, console).open()
            let former = Set(keyring.entries.filter { $0.state == .former }.map(\.name))
            return try console.give(keyring.entries, done: "was read") { entry, _ in [entry.line(former: former)] }
        }
    }

    /// `vaultfile key use`.
    struct Use: Verb {
        static let name = VerbName.keyUse
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Make a key of the keyring the current one, or bring a former recipient back.",
            discussion: """
                From now on the key encrypts if no key is named; the key that was current is retired. Existing \
                containers are not changed: `vaultfile rotate` changes them to the current key. A recipient that \
                `vaultfile key retire` has made former is one to encrypt to again.
                """)

        static var help: String {
            """
            Usage: vaultfile key use [options] NAME

              vaultfile key use work
              vaultfile key use --unlock file:safe.txt work
              vaultfile key use alice                    a former recipient

            Makes a key of the keyring the current one: it encrypts if no key is named. The
            key that was current is retired. rotate changes existing containers. A former
            recipient is one to encrypt to again.

            Options:
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("The key's name or ID.", valueName: "name"), completion: KeyCompletion.ofName)
        var key: KeyArgument

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            try unlocking.change([key], on: console) { change, entry in try change.use(entry.name) }
        }
    }

    /// `vaultfile key retire`.
    struct Retire: Verb {
        static let name = VerbName.keyRetire
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Retire keys and recipients of the keyring: nothing new is encrypted with them.",
            discussion: """
                A retired key still opens containers. A recipient who has left becomes former: groups leave them out, \
                and -r does not take their name. They can still open what was encrypted to them; `vaultfile rotate` \
                and `vaultfile reencrypt` remove their slots.

                If the current key is retired, no key is current, and encrypt needs a key to be named until \
                `vaultfile key use` or `vaultfile key generate` makes one current.
                """)

        static var help: String {
            """
            Usage: vaultfile key retire [options] NAME ...

              vaultfile key retire old
              vaultfile key retire old older
              vaultfile key retire alice                 a recipient who has left

            Retires keys of the keyring: they open containers and encrypt nothing new. A
            recipient becomes former: groups leave them out. use brings both back.

            Options:
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("A key's name or ID.", valueName: "name"), completion: KeyCompletion.ofName)
        var operandLists: [OperandList]

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            try unlocking.change(operandLists.flatMap(\.keys), on: console) { change, entry in
                try change.retire(entry.name)
            }
        }
    }
}

extension UnlockOptions {
    /// Makes a change to all of these keys or, if one fails, to none.
    fileprivate func change(
        _ arguments: [KeyArgument], on console: Console,
        _ body: (inout KeyringChange, KeyringEntry) throws -> Void
    ) throws -> ExitStatus {
        let entries = try KeyringSession(self, console).change { change in
            try arguments.map { argument in
                let entry = try argument.entry { change.entry($0) }
                try entry.subject.attempt { try body(&change, entry) }
                return try argument.entry { change.entry($0) }
            }
        }
        return try console.give(entries, done: "was changed") { entry, _ in
            ["\(entry.name): is \(entry.state == .recipient ? "a recipient" : entry.state.name)"]
        }
    }
}
