internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store status`.
    struct Status: Verb {
        static let name = VerbName.storeStatus
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Show the state of a store, and what is possible now.",
            discussion: """
                Shows how many items there are, the context of their containers, and for each class whether its items \
                can be read and written now without --unlock. The state is sealed if the store was not unlocked since \
                the machine started; unlocked while `vaultfile store unlock` lasts; and locked afterwards.

                Each item is an ordinary container: with its context and the key of its class, `vaultfile verify` and \
                `vaultfile decrypt` open it without the store.
                """)

        static var help: String {
            """
            Usage: vaultfile store status -S FOLDER --device-key K [options]

              vaultfile store status -S vault --device-key file:dev.key
              vaultfile store status --device-key 'command:pass show dev' -S vault
              vaultfile store status -S vault --device-key file:dev.key --json

            Shows the state of a store, what is possible with each class now, and the
            context that opens its items by hand. Writes nothing.

            Options:
            \(HelpText.accountStore)
            """
        }

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let session = try StoreSession(store, console)
            let opened = try session.open()
            _ = try session.unlockKept(opened)
            session.warnIfKeyIsBeside()
            session.warnIfKeybagIsLost()
            for protection in opened.unfinishedRotations.sorted() {
                console.warn(
                    session.subject, "a rotation of the class \(ClassName(protection).rawValue) was interrupted",
                    hint: .storeRotationIsInterrupted)
            }
            var report = session.report()
            let seen = try session.attempt { try StoreReport(opened) }
            report.store = seen
            // Nothing unlocks it, and nothing has to.
            let isWhole = seen.classes.allSatisfy { $0.class == ClassName.always.rawValue || !$0.write && !$0.read }
            let hasKeybag = KeyringPlace.exists(session.path(ofFile: "keys.vault"))
            let state = isWhole && !hasKeybag ? "has only the class always" : "is \(seen.state)"
            let lines =
                [
                    "\(session.subject.escaped): \(state), \(seen.items.counted("item"))",
                    "context  \(seen.context)",
                    "class                 read  write  remove",
                ]
                + seen.classes.map { one in
                    [(one.class, 22), (one.read ? "yes" : "no", 6), (one.write ? "yes" : "no", 7), ("yes", 0)]
                        .map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }.joined()
                }
            return try console.give(report, lines: lines, about: session.subject, done: "was read")
        }
    }
}

extension StoreReport {
    init(_ store: VaultStore) throws {
        id = store.id
        context = String(decoding: store.itemContext.bytes, as: UTF8.self)
        state = store.state.rawValue
        items = try store.count()
        classes = ItemProtection.allCases.map {
            Class(class: ClassName($0).rawValue, read: store.canRead($0), write: store.canWrite($0))
        }
    }
}
