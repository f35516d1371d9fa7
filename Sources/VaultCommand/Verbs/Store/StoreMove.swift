internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store move`.
    struct Move: Verb {
        static let name = VerbName.storeMove
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Give an item another name.",
            discussion: """
                The item keeps its class, which must not be locked. Its content is encrypted again, so this takes as \
                long as storing it. If the machine fails meanwhile, the item can have both names; remove one of them.
                """)

        static var help: String {
            """
            Usage: vaultfile store move -S FOLDER --device-key K [options] NAME NEW

              vaultfile store move -S vault --device-key file:dev.key a.txt b.txt
              vaultfile store move -S v --device-key dev --unlock file:me.key a scans/a
              vaultfile store move -S vault --device-key file:dev.key --force a.txt b.txt

            Gives an item another name. It keeps its class.

            Options:
              -f, --force              replace an item that has the new name
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Flag(name: .shortAndLong, help: "Replace an item that has the new name.")
        var force = false

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        @Argument(help: ArgumentHelp("The item's name.", valueName: "name"))
        var item: BytesArgument

        @Argument(help: ArgumentHelp("Its new name.", valueName: "new"))
        var other: BytesArgument

        func execute(on console: Console) throws -> ExitStatus {
            let (name, new) = (try item.itemName("NAME"), try other.itemName("NEW"))
            guard name != new else { throw Failure.usage("NEW", "is the name that the item has") }
            let session = try StoreSession(store, unlocking: unlocking.arguments(), console)
            let opened = try session.openForItems()
            let subject = try session.subject(of: name, in: opened)
            let moved: StoreItem
            do throws(Failure) {
                moved = try session.attempt(about: subject) {
                    try opened.move(name, to: new, if: force ? .any : .absent)
                }
            } catch {
                var failure = error
                if failure.storeError == .itemExists { failure.hint = .forceMovesItem }
                throw failure
            }
            let line = "\(Escaping.line(Array(name.utf8))): is \(moved.escapedName)"
            return try console.give(session.report(moved), lines: [line], about: subject, done: "was moved")
        }
    }
}
