internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store remove`.
    struct Remove: Verb {
        static let name = VerbName.storeRemove
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Remove items of a store.",
            discussion: """
                Needs no key of the item's class, so it is possible in a locked store too. THIS CANNOT BE UNDONE. The \
                item is unlinked, not overwritten: what has its bytes and the key of its class still opens it.
                """)

        static var help: String {
            """
            Usage: vaultfile store remove -S FOLDER --device-key K [options] NAME ...

              vaultfile store remove -S vault --device-key file:dev.key a.txt
              vaultfile store remove -S vault --device-key file:dev.key scans/1 scans/2
              vaultfile store remove -S vault --device-key file:dev.key --json a.txt

            Removes items. This is possible while the store is locked, too.

            Options:
              --if VERSION             only if the item has this version
            \(HelpText.accountStore)
            """
        }

        @OptionGroup var version: VersionOption
        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        @Argument(help: ArgumentHelp("An item's name.", valueName: "name"), completion: .default)
        var operandLists: [OperandList]

        func execute(on console: Console) throws -> ExitStatus {
            let names = try version.names(operandLists)
            let session = try StoreSession(store, console)
            let opened = try session.open()
            return try session.forEach(names, in: opened) { name, subject in
                try session.attempt(about: subject) { try opened.remove(name, if: version.condition) }
                let line = "\(Escaping.line(Array(name.utf8))): is removed"
                var report = session.report()
                report.itemName = name
                return try console.give(report, lines: [line], about: subject, done: "was removed")
            }
        }
    }
}
