internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store check`.
    struct Check: Verb {
        static let name = VerbName.storeCheck
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Read and check every item of a store.",
            discussion: """
                Reads and authenticates every item whose class is not locked, and checks that it is under its own \
                name. Those of locked classes are counted, and not checked. Without --repair, nothing is written.

                --repair moves items that are not under their own name to the folder lost, under the name of their \
                file, and removes the unfinished files that killed runs have left. In an unlocked store it encrypts \
                items again that have lost their label, and those of the class unless-open that were written without \
                unlocking: from then on the key of the class opens them. An item with keys that others have added \
                is left as it is. An item that is damaged stays where it is: restore it from a backup, or remove it \
                and put it again.
                """)

        static var help: String {
            """
            Usage: vaultfile store check -S FOLDER --device-key K [options]

              vaultfile store check -S vault --device-key file:dev.key
              vaultfile store check --device-key file:dev.key --unlock passphrase
              vaultfile store check -S vault --device-key file:dev.key --repair

            Reads and checks every item whose class is not locked.

            Options:
              --repair                 move items with a wrong name to the folder lost, and
                                       remove what killed runs have left
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Flag(help: "Move items with a wrong name to the folder lost, and remove what killed runs have left.")
        var repair = false

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let session = try StoreSession(store, unlocking: unlocking.arguments(), console)
            let opened = try session.openForItems()
            let found = try session.attempt { repair ? try opened.repair() : try opened.check() }
            var status = ExitStatus.done
            for (file, place) in found.moved {
                let subject = session.subject(ofFile: place, in: "lost")
                console.warn(subject, "is an item that was not under its own name; its file in items was \(file)")
            }
            let moved = Set(found.moved.map(\.file))
            let damaged = found.damaged.filter { !moved.contains($0.file) }
            for (file, error) in damaged {
                var failure = Failure(error, about: session.subject(ofFile: file))
                // Recovery by hand needs a key of the class, which no command gives.
                if failure.hint == nil, failure.error != nil { failure.hint = .restoreItem }
                status = status.followed(by: console.report(failure, about: failure.subject))
            }
            for (file, error) in found.failed {
                let failure = Failure(error, about: session.subject(ofFile: file))
                status = status.followed(by: console.report(failure, about: failure.subject))
            }
            for (file, health) in found.unhealthy {
                let subject = session.subject(ofFile: file)
                if found.mended.contains(file) {
                    console.note(subject, "its header copies were not both intact, and are equal again")
                } else {
                    console.warn(
                        subject, "its header copies are not both intact (\(health.rawValue)); the contents are right",
                        hint: .checkRepairs)
                }
            }
            if !found.settled.isEmpty {
                console.note(session.subject, "\(found.settled.count.counted("item")) of the class unless-open settled")
            }
            for file in found.removed {
                console.note(session.subject(ofFile: file, in: nil), "was unfinished, and is removed")
            }
            for name in found.foreign where repair {
                let subject = try session.subject(of: name, in: opened)
                console.warn(
                    subject, "has keys that others have added, and is not encrypted again: they would lose access")
            }
            // The result says the same, if there is one.
            if console.json || status != .done {
                try console.sum(
                    up: session, found.intact, .intact, locked: found.lockedCount, damaged: damaged.count,
                    moved: moved.count)
            }
            guard status == .done else { return status }
            let others = [(found.lockedCount, "locked"), (moved.count, "moved")].filter { $0.0 > 0 }
                .map { ", \($0.0) \($0.1)" }.joined()
            let line = "\(session.subject.escaped): \(found.intact.counted("item")) intact\(others)"
            let given = try console.give(session.report(), lines: [line], about: session.subject, done: "was checked")
            return status.followed(by: given)
        }
    }
}
