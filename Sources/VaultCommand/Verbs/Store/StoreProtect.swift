internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store protect`.
    struct Protect: Verb {
        static let name = VerbName.storeProtect
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Give items another class.",
            discussion: """
                Neither the class that an item has nor the new one may be locked. The content is encrypted again with \
                a new file key, so this takes as long as storing it. OLD COPIES of the item's file still open with the \
                key of the old class. An item that has the class already is not changed.
                """)

        static var help: String {
            """
            Usage: vaultfile store protect -S FOLDER --device-key K --class CLASS NAME ...

              vaultfile store protect --device-key dev --unlock me --class complete token
              vaultfile store protect --device-key dev --unlock me --class always a b
              vaultfile store protect --device-key dev --class complete --json a.txt

            Gives items another class, stronger or weaker. Their contents are encrypted
            again. Old copies of their files still open with the key of the old class.

            Options:
              --class CLASS            always, after-first-unlock, unless-open or complete
              --if VERSION             only if the item has this version
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Option(
            name: .customLong("class"), parsing: .unconditional,
            help: ArgumentHelp(
                "The new class: always, after-first-unlock, unless-open or complete.", valueName: "class"))
        var itemClass: ClassName

        @OptionGroup var version: VersionOption
        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        @Argument(help: ArgumentHelp("An item's name.", valueName: "name"), completion: .default)
        var operandLists: [OperandList]

        func execute(on console: Console) throws -> ExitStatus {
            let names = try version.names(operandLists)
            let session = try StoreSession(store, unlocking: unlocking.arguments(), console)
            let opened = try session.openForItems()
            return try session.forEach(names, in: opened) { name, subject in
                let item = try session.attempt(about: subject) {
                    try opened.setProtection(itemClass.protection, of: name, if: version.condition)
                }
                let line = "\(item.escapedName): \(ClassName(item.protection).rawValue)"
                return try console.give(session.report(item), lines: [line], about: subject, done: "was protected")
            }
        }
    }
}
