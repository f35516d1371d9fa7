internal import ArgumentParser
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key unlock`.
    struct Unlock: Verb {
        static let name = VerbName.keyUnlock
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Unlock the keyring for a time: further commands do not ask.",
            discussion: """
                Asks for the keyring's passphrase once. Until the time is over, `vaultfile key lock` is run, or the \
                machine restarts, the commands of this user use the keyring without asking: in every terminal and \
                session, and in cron jobs. LOG-OUT DOES NOT LOCK IT.

                key backup, key destroy, key export, key passphrase and key restore always ask. --unlock takes precedence in \
                each command. Whenever what unlocks the keyring changes, the next command asks again.

                What opens the keyring is kept in the memory of the Linux kernel (keyrings(7)), never a passphrase. \
                Other programs of this user can read it there, and so can root; other users cannot. If the kernel is \
                not Linux or forbids this, as in many containers, the status is 69, and the commands ask as before. \
                Where they ask on a terminal, they say so, once.
                """)

        static var help: String {
            """
            Usage: vaultfile key unlock [--for TIME] [options]

              vaultfile key unlock
              vaultfile key unlock --for 8h
              vaultfile key unlock --for 30m --unlock file:safe.txt

            Asks for the keyring's passphrase once. Until the time is over, key lock is run
            or the machine restarts, the commands of this user do not ask, in any terminal,
            session or cron job. LOG-OUT DOES NOT LOCK IT. Programs of this user, and root,
            can read what opens the keyring from the kernel's memory; others cannot.

            key backup, destroy, export, passphrase and restore always ask. Only Linux has
            this, and many containers of programs forbid it (status 69).

            Options:
              --for TIME               how long, as in 90s, 15m, 1h30m; at most 24h; 15m by
                                       default
              --unlock K               what unlocks it
              K is file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or
              passphrase-fd:NUMBER.
            """
        }

        @OptionGroup var time: UnlockTimeOption

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let time = time.given
            let duration = try time.checked()
            let session = try KeyringSession(unlocking, console, alwaysAsks: true)
            try session.unlock(for: duration)
            let end = Timestamp(seconds: Timestamp.now.seconds + duration.components.seconds)
            let subject = try session.located().subject
            var report = Report(.ok, about: subject)
            report.unlockedUntil = end.utc
            let line = "\(subject.escaped): is unlocked for \(time.words)"
            return try console.give(report, lines: [line], about: subject, done: "is unlocked")
        }
    }

    /// `vaultfile key lock`.
    struct Lock: Verb {
        static let name = VerbName.keyLock
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Lock the keyring that key unlock has unlocked.",
            discussion: """
                The next command that needs the keyring asks again, in every terminal and session of this user. \
                Commands that run already go on. A keyring that is locked stays so; that is no error.
                """)

        static var help: String {
            """
            Usage: vaultfile key lock [options]

              vaultfile key lock
              vaultfile key lock --quiet
              vaultfile key lock --json                  says whether it was unlocked

            Ends what key unlock began. The next command that needs the keyring asks again,
            in every terminal and session of this user. Commands that run already go on.
            """
        }

        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            guard let place = KeyringPlace.find() else { throw Failure.keyringHasNoPlace }
            let wasUnlocked = try place.lock()
            let subject = place.subject
            var report = Report(.ok, about: subject)
            report.wasUnlocked = wasUnlocked
            let line = "\(subject.escaped): \(wasUnlocked ? "is locked" : "was not unlocked")"
            return try console.give(report, lines: [line], about: subject, done: "is locked")
        }
    }
}
