internal import ArgumentParser
internal import VaultFile
internal import VaultStore

/// `vaultfile store group`.
struct GroupVerbs: Explained {
    static let configuration = CommandConfiguration(
        commandName: "group", abstract: "Keep the stores of many accounts, and erase single ones.",
        discussion: """
            A group is a folder with the stores of many accounts, and with the device key of each. The key that \
            --device-key names opens the group: KEEP IT APART from the folder. With --account NAME, the commands of \
            `vaultfile store` work with the store of one account; -S and --device-key are then those of the group. The \
            folder does not show the names of accounts.

            The folder shards holds the device keys, in 256 keyrings, and the folder stores holds the stores. BACK THEM \
            UP APART: an account that is erased opens again with a backup of its shard from before, its .key file, and \
            the key of the group. If no backup of the shards is kept longer than N days, the erasure reaches all backups \
            of the stores after N days.
            """,
        subcommands: commands.map { $0 })

    static let commands: [any Explained.Type] = [Create.self, Erase.self, Renew.self]

    static var help: String {
        """
        Usage: vaultfile store group COMMAND -S FOLDER --device-key K [options]

          vaultfile store group create -S /srv/up --device-key file:/etc/up.key
          vaultfile store create -S /srv/up --device-key file:/etc/up.key --account 4711
          vaultfile store group erase -S /srv/up --device-key file:k --account 4711

        A group is a folder with the stores of many accounts and their device keys. To
        erase an account is to destroy one key, which reaches its items of the class
        always in backups too. The other commands of vaultfile store take --account.

        Commands:
          create      make a group
          erase       destroy the key of an account, and its store
          renew       make old copies of keys useless; exchange the key of the group
        """
    }
}

extension GroupVerbs {
    /// `vaultfile store group create`.
    struct Create: Verb {
        static let name = VerbName.storeGroupCreate
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Make a group of stores.",
            discussion: """
                The folder is made; the folder around it must exist. The group gets 256 keyrings, the shards, so this \
                takes some seconds on a slow disk. If a run was interrupted, the same command finishes it.

                KEEP THE KEY APART from the folder. A person who has both opens the items of the class always of all \
                accounts.
                """)

        static var help: String {
            """
            Usage: vaultfile store group create -S FOLDER --device-key K [options]

              vaultfile store group create -S /srv/up --device-key file:/etc/up.key
              vaultfile store group create -S up --device-key 'command:pass show up'
              vaultfile store group create -S up --device-key device

            Makes a group of stores. The key opens it: keep that key apart from the folder.

            Options:
            \(HelpText.group)
            """
        }

        @OptionGroup(title: "Group") var group: KeyedFolderOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let session = try StoreGroupSession(group.place(), device: group.device(), console)
            let key = try session.key()
            _ = try session.attempt(missing: .cannotCreate) {
                try StoreGroup.create(at: session.place.path, unlocker: key)
            }
            session.warnIfKeyIsBeside()
            let line = "\(session.subject.escaped): is a group of stores"
            let status = try console.give(session.report(), lines: [line], about: session.subject, done: "was made")
            console.tell(
                "vaultfile: the folder shards in it holds the keys of all accounts: back it up apart from the folder "
                    + "stores, and the key of the group apart from both")
            return status
        }
    }

    /// `vaultfile store group erase`.
    struct Erase: Verb {
        static let name = VerbName.storeGroupErase
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Destroy the key of an account, and its store.",
            discussion: """
                THIS CANNOT BE UNDONE. Destroys the device key of the account, and then wipes its store, as `vaultfile \
                store wipe` does. No item of the class always opens afterwards, also from a backup of the store. Items \
                OF THE OTHER CLASSES still open from such a backup with what unlocked the store, such as its passphrase: \
                that has to be destroyed too. If the run is interrupted, the same \
                command finishes it. If the account was erased before, nothing is done and the status is 0; if there \
                never was one of this name, the status is 66.

                OLD COPIES of the account's shard still open with the key of the group, and then backups of the store \
                do. Programs that have the store open, and what a flash disk keeps of overwritten files, are not \
                reached. The command asks on the terminal, unless --yes is given; if the answer is not yes, nothing is \
                destroyed and the status is 64.
                """)

        static var help: String {
            """
            Usage: vaultfile store group erase -S FOLDER --device-key K --account NAME

              vaultfile store group erase -S up --device-key file:k --account 4711
              vaultfile store group erase -S up --device-key file:k --account 4711 --yes
              vaultfile store group erase -S up --device-key k --yes --json --account 4

            THIS CANNOT BE UNDONE: destroys the device key of an account, then its store.
            A backup of the store still opens with an older backup of the shards. What
            unlocked the store still opens its classes other than always.

            Options:
              --account NAME           the account
              --yes                    do not ask
            \(HelpText.group)
            """
        }

        @Option(
            name: .customLong("account"), parsing: .unconditional,
            help: ArgumentHelp("The account.", valueName: "name"))
        var account: BytesArgument

        @Flag(help: "Do not ask.")
        var yes = false

        @OptionGroup(title: "Group") var group: KeyedFolderOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let account = try account.accountName()
            let session = try StoreGroupSession(group.place(), device: group.device(), console)
            let opened = try session.open()
            let name = StoreGroupSession.escaped(account)
            if !yes {
                try Terminal.confirm(
                    "Destroy the account '\(name)' in \(session.subject.escaped) for ever?",
                    for: Self.name, otherwise: "nothing was destroyed")
            }
            let traces = try session.attempt(account: account) {
                try opened.erase(account) { console.warnOfKeptKeys(session.subject, $0, isNoted: $1) }
            }
            if let traces {
                let shards = session.subject(of: "shards")
                console.warn(of: traces, shards, shards, what: "the shard of this account", renew: .renewGroup)
            }
            let what = traces == nil ? "was erased before" : "is erased"
            let line = "\(session.subject.escaped): the account \(name) \(what)"
            return try console.give(session.report(), lines: [line], about: session.subject, done: "has erased it")
        }
    }

    /// `vaultfile store group renew`.
    struct Renew: Verb {
        static let name = VerbName.storeGroupRenew
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Make old copies of a group's keys useless, or exchange the key of the group.",
            discussion: """
                Gives each shard that has erased accounts a new unlock key. An old copy of the shard alone opens with \
                nothing then. An erasure does this itself, unless several keys unlock the group. Afterwards what \
                --device-key names unlocks these shards, and nothing else does.

                With --new-device-key, all shards get a new unlock key, and only the new key unlocks the group. If the \
                run is interrupted, some shards have the old key: the same command finishes it. OLD COPIES of a shard \
                together with its .key file still open with what opened them.
                """)

        static var help: String {
            """
            Usage: vaultfile store group renew -S FOLDER --device-key K [options]

              vaultfile store group renew -S up --device-key file:up.key
              vaultfile store group renew -S up --device-key file:a --new-device-key file:b
              vaultfile store group renew -S up --device-key file:up.key --json

            Gives shards new unlock keys, so that an old copy of NN.vault without its .key
            file is useless: those that have erased accounts, or all of them with
            --new-device-key.

            Options:
              --new-device-key K       let this open the group, in place of --device-key
            \(HelpText.group)
            """
        }

        @Option(
            name: .customLong("new-device-key"), parsing: .unconditional,
            help: ArgumentHelp(
                "The key that opens the group from then on; it is named as for --device-key.", valueName: "k"))
        var newDeviceKey: KeyArgument?

        @OptionGroup(title: "Group") var group: KeyedFolderOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let argument = try newDeviceKey?.deviceKey("--new-device-key")
            let session = try StoreGroupSession(
                group.place(), device: group.device(), others: [argument?.standardInputUse].compactMap { $0 }, console)
            let new = try argument.map { argument throws(Failure) in
                try session.keyring.deviceKey(argument, "--new-device-key")
            }
            let opened = try session.open(or: new)
            let key = try new ?? session.key()
            var status = ExitStatus.done
            for missing in session.missingFiles.map(session.subject(of:)) {
                let failure = Failure(.noInput, missing, "is missing", hint: .restoreShard)
                status = status.followed(by: console.report(failure, about: missing))
            }
            let count = try session.attempt { try opened.renew(with: [key], all: new != nil) }
            let shards = "\(count.counted("shard")) \(count == 1 ? "has a new unlock key" : "have new unlock keys")"
            let line = "\(session.subject.escaped): \(new == nil ? "" : "has another key; ")\(shards)"
            let given = try console.give(session.report(), lines: [line], about: session.subject, done: "was renewed")
            return status.followed(by: given)
        }
    }
}
