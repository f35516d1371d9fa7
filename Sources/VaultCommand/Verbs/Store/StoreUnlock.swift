internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store unlock`.
    struct Unlock: Verb {
        static let name = VerbName.storeUnlock
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Unlock a store for a time: further commands need no --unlock.",
            discussion: """
                Asks for the passphrase of the store, unless --unlock names what unlocks it. Until the time is over, \
                `vaultfile store lock` is run, or the machine restarts, the commands of this user read and write its \
                items: in every terminal and session, and in cron jobs. Using it does not extend the time. Items of \
                the class after-first-unlock can be read afterwards too, until `vaultfile store lock --seal` or a \
                restart. LOG-OUT DOES NOT LOCK IT. Each command still needs the device key. Whenever what unlocks the \
                store changes, it is sealed.

                The keys of the classes are kept in the memory of the Linux kernel (keyrings(7)), never a passphrase. \
                Other programs of this user can read them there, and so can root; other users cannot. If the kernel \
                is not Linux or forbids this, as in many containers, the status is 69, and nothing is kept anywhere \
                else.
                """)

        static var help: String {
            """
            Usage: vaultfile store unlock -S FOLDER --device-key K [--for TIME] [options]

              vaultfile store unlock -S vault --device-key file:dev.key
              vaultfile store unlock -S vault --device-key file:dev.key --for 8h
              vaultfile store unlock --device-key file:dev.key --unlock file:me.key

            Unlocks a store for the commands of this user, in any terminal, session or cron
            job. LOG-OUT DOES NOT LOCK IT. Programs of this user, and root, can read its
            keys from the kernel's memory; others cannot. Only Linux has this, and many
            containers of programs forbid it (status 69).

            Options:
              --for TIME               how long, as in 90s, 15m, 1h30m; at most 24h; 15m by
                                       default
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @OptionGroup var time: UnlockTimeOption

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let time = time.given
            let duration = try time.checked()
            let session = try StoreSession(store, unlocking: unlocking.arguments(), console)
            let opened = try session.open()
            try session.unlock { try opened.unlock(with: session.unlocker, keepingFor: duration) }
            let end = Timestamp(seconds: Timestamp.now.seconds + duration.components.seconds)
            var report = session.report()
            report.unlockedUntil = end.utc
            let line = "\(session.subject.escaped): is unlocked for \(time.words)"
            return try console.give(report, lines: [line], about: session.subject, done: "is unlocked")
        }
    }

    /// `vaultfile store lock`.
    struct Lock: Verb {
        static let name = VerbName.storeLock
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Lock a store that store unlock has unlocked.",
            discussion: """
                Items of the classes complete and unless-open can no longer be read, in any terminal and session of this user; with \
                --seal, those of after-first-unlock neither. Commands that run already go on, and so do programs that \
                have unlocked the store themselves. A store that is locked stays so; that is no error.
                """)

        static var help: String {
            """
            Usage: vaultfile store lock -S FOLDER --device-key K [--seal] [options]

              vaultfile store lock -S vault --device-key file:dev.key
              vaultfile store lock -S vault --device-key file:dev.key --seal
              vaultfile store lock -S vault --device-key file:dev.key --json

            Ends what store unlock began, in every terminal and session of this user.
            Commands and programs that run already go on.

            Options:
              --seal                   lock the class after-first-unlock, too
            \(HelpText.accountStore)
            """
        }

        @Flag(help: "Lock the class after-first-unlock, too.")
        var seal = false

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let session = try StoreSession(store, console)
            let opened = try session.open()
            let wasUnlocked = try session.unlock { try opened.lockKept(sealing: seal) }
            var report = session.report()
            report.wasUnlocked = wasUnlocked
            let words =
                wasUnlocked
                ? "is \(seal ? "sealed" : "locked")"
                : "was locked already" + (seal ? "" : "; --seal also locks after-first-unlock")
            let line = "\(session.subject.escaped): \(words)"
            return try console.give(report, lines: [line], about: session.subject, done: "is locked")
        }
    }
}
