internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store list`.
    struct List: Verb {
        static let name = VerbName.storeList
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "List the items of a store.",
            discussion: """
                Writes the name of each item, in the order of the bytes of their names; with PREFIX, only of those \
                whose names begin with it. The names of items whose class is locked cannot be read: a line on \
                standard error says how many there are. With -l, also the class, the length and the version of each. \
                Only `vaultfile store get` and `vaultfile store check` authenticate the length.
                """)

        static var help: String {
            """
            Usage: vaultfile store list -S FOLDER --device-key K [options] [PREFIX]

              vaultfile store list -S vault --device-key file:dev.key
              vaultfile store list -S vault --device-key file:dev.key -l scans/
              vaultfile store list --device-key file:dev.key --unlock passphrase --json

            Lists the names of items. Those of locked classes are only counted.

            Options:
              -l, --long               class, length and version, too
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Flag(name: .shortAndLong, help: "Show the class, the length and the version of each item.")
        var long = false

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        @Argument(help: ArgumentHelp("What the names begin with.", valueName: "prefix"))
        var prefix: BytesArgument?

        func execute(on console: Console) throws -> ExitStatus {
            let prefix = try prefix?.itemName("PREFIX") ?? ""
            let session = try StoreSession(store, unlocking: unlocking.arguments(), console)
            let opened = try session.openForItems()
            let listing = try session.attempt { try opened.list(prefix: prefix) }
            var status = ExitStatus.done
            for item in listing.items {
                status = status.followed(
                    by: try console.give(
                        session.report(item), lines: [line(item)], about: session.subject, done: "was listed"))
            }
            for (file, error) in listing.damaged {
                status = status.followed(by: console.report(error, about: session.subject(ofFile: file)))
            }
            try console.sum(
                up: session, listing.items.count, .listed, locked: listing.lockedCount,
                damaged: listing.damaged.count)
            return status
        }

        private func line(_ item: StoreItem) -> String {
            guard long else { return item.escapedName }
            let name = ClassName(item.protection).rawValue
            let length = "\(item.length)"
            return name + String(repeating: " ", count: max(0, 18 - name.count) + max(0, 14 - length.count))
                + "\(length)  \(item.version)  \(item.escapedName)"
        }
    }
}

extension Console {
    /// Sums up a run over the items of a store. In text only if there is more than the results say.
    func sum(
        up session: StoreSession, _ count: Int, _ outcome: OutcomeName, locked: Int, damaged: Int, moved: Int = 0
    ) throws {
        let parts = [(outcome, count), (.locked, locked), (.moved, moved), (.damaged, damaged)].filter { $1 > 0 }
        guard json || parts.contains(where: { $0.0 != outcome }) else { return }
        var report = Report(.summary, damaged == 0 ? .ok : .failed)
        report.name(session.subject)
        report.outcomes = Dictionary(uniqueKeysWithValues: parts.map { ($0.0.rawValue, UInt64($0.1)) })
        let words = parts.map { "\($0.1) \($0.0.text)" }.joined(separator: ", ")
        try sum(up: report, line: "\(session.subject.escaped): \(words)")
    }
}
