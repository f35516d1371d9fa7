internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key passphrase`.
    struct ChangePassphrase: Verb {
        static let name = VerbName.keyPassphrase
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Change what unlocks the keyring.",
            discussion: """
                Asks for a new passphrase, which replaces the one that unlocks the keyring now. Other keys and \
                passphrases still unlock it. If --unlock or VAULTFILE_UNLOCK names no passphrase, the new one replaces \
                the only one that the keyring has. If it has several, name one with --remove, together with --add \
                passphrase. A keyring without protection becomes protected; it needs --unlock unprotected. --add and \
                --remove change what else unlocks it: a key file, the output of a command, further passphrases.

                The keys and the containers stay the same. AN OLD COPY OF THE .key FILE still unlocks the keyring, \
                together with what opened that copy. --renew ends that: an old copy of one of the two files is then \
                useless. An old copy of BOTH FILES still opens with what opened it: destroy such copies yourself. \
                After --renew only the new passphrase, or only what --add names, unlocks the keyring: name everything \
                that must, as in --renew --add passphrase --add file:safe.txt.

                \(KeyArgument.grammar) A name or an ID is accepted only by --remove, and means a slot of the .key \
                file, as `vaultfile inspect` shows it. \(KeyArgument.lines)
                """)

        static var help: String {
            """
            Usage: vaultfile key passphrase [options]

              vaultfile key passphrase                   a new one replaces the old one
              vaultfile key passphrase --add file:safe.txt
              vaultfile key passphrase --renew --add passphrase --add file:safe.txt

            Changes what unlocks the keyring. The keys and the containers stay the same. An
            old copy of the .key file still unlocks the keyring, until --renew.

            Options:
              --add K                  let K unlock the keyring too
              --remove K               let K no longer unlock it; K may be a slot's ID, as
                                       inspect shows it, or others
              --renew                  make old copies of one of the two files useless; only
                                       what --add names unlocks it then
              --unlock K               what unlocks it now
              K is file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or
              passphrase-fd:NUMBER.
            """
        }

        @Option(
            name: .customLong("add"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Let this unlock the keyring too.", valueName: "k"))
        var add: [KeyArgument] = []

        @Option(
            name: .customLong("remove"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp(
                """
                Let this no longer unlock it. K may also be a slot's ID, or the word others: everything that --add \
                does not name.
                """, valueName: "k"))
        var remove: [KeyArgument] = []

        @Flag(
            help:
                """
                Make a new key for the .key file, so that an old copy of one of the two files is useless. Only what \
                --add names, or else a new passphrase, unlocks the keyring then.
                """)
        var renew = false

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        /// What is added: a passphrase if neither --add nor --remove is given.
        private var added: [KeyArgument] {
            isReplacing ? [KeyArgument(.passphrase, of: "--add")] : add.map { $0.given(to: "--add") }
        }

        private var removed: [KeyArgument] { remove.map { $0.given(to: "--remove") } }

        /// Whether a new passphrase replaces the old one.
        private var isReplacing: Bool { add.isEmpty && remove.isEmpty }

        func execute(on console: Console) throws -> ExitStatus {
            try StandardInput.refuseShared((added + removed + unlocking.arguments).compactMap(\.standardInputUse))
            guard remove.allSatisfy({ $0.name == nil || $0.id != nil }) else {
                throw Failure.usage("--remove", "takes a slot's ID, a key file, a command, a passphrase or others")
            }
            if renew, !remove.isEmpty { throw Failure.usage("--renew", "removes everything, and takes no --remove") }
            let keyring = try KeyringSession(unlocking, console, alwaysAsks: true)
            try keyring.unlocker.takeLines(before: remove + add)
            let place = try keyring.located()
            guard place.unlockKeyExists else { throw Failure.noKeyring(place) }
            let done = try place.isProtected && !renew ? change(keyring, place) : protect(keyring, place)
            return try console.give(
                Report(.ok, about: place.subject),
                lines: done.map { "\(place.subject.escaped): \($0)" }, about: place.subject, done: "was changed")
        }

        /// Makes a new unlock key.
        private func protect(_ keyring: KeyringSession, _ place: KeyringPlace) throws -> [String] {
            guard remove.isEmpty else {
                throw Failure.usage("--remove", "nothing protects the keyring, so there is nothing to remove")
            }
            let unlockers = try readAdded(keyring)
            let before = (try? Keyring.inspectUnlockKey(at: place.path.path)) ?? nil
            try keyring.protect(renewing: renew, with: unlockers)
            // The change is done. An error of this inspection must not make the command fail.
            let after = (try? Keyring.inspectUnlockKey(at: place.path.path))??.slots
            let dropped = (before?.slots ?? []).filter { after?.contains($0) == false }
            guard before == nil else { return ["has a new key in its .key file"] + dropped.map(\.isGoneLine) }
            return ["is protected now"] + (after ?? []).map(\.unlocksLine)
        }

        /// Changes the slots of the unlock key. If the passphrase that is removed also unlocks the keyring, and was
        /// mistyped, it is asked for again. Not if a descriptor is read: it gives its line once.
        private func change(_ keyring: KeyringSession, _ place: KeyringPlace) throws -> [String] {
            let mayTryAgain =
                removed.contains { $0.source == .passphrase } && (removed + add).allSatisfy { $0.descriptor == nil }
            while true {
                do {
                    return try rotate(keyring, place)
                } catch let failure as Failure where mayTryAgain && failure.error == .wrongKey {
                    guard keyring.reader.asksAgain(for: .unlocking) else { throw failure }
                }
            }
        }

        /// Changes the slots of the unlock key, once.
        private func rotate(_ keyring: KeyringSession, _ place: KeyringPlace) throws -> [String] {
            var (removing, opening) = try SlotSelection.ofRemoved(removed) { argument throws(Failure) in
                try keyring.reader.secret(argument, for: .unlocking)
            }
            keyring.unlocker.alsoTry(opening)
            if isReplacing {
                try removing.replacePassphrase(of: keyring.unlocker, about: place.unlockKey.subject) {
                    try Keyring.inspectUnlockKey(at: place.path.path)?.slots ?? []
                }
            }
            let change = KeyChange(adding: try readAdded(keyring).recipients(isHidden: false), removing: removing)
            let rotation = try keyring.changeUnlockers(change)
            // The slot to replace was chosen before the user typed the new passphrase. Another process may have changed
            // it since.
            if isReplacing, !removing.ids.isSubset(of: rotation.removed.map(\.keyID)) {
                throw Failure(
                    .inUse, place.unlockKey.subject,
                    "another process changed it meanwhile: what was given unlocks it, and so may the old passphrase",
                    hint: .inspectUnlockKey)
            }
            return rotation.unlockerLines
        }

        /// Reads what is added. The user is asked only after it is certain that the keyring can be unlocked.
        private func readAdded(_ keyring: KeyringSession) throws -> [Secret] {
            if added.contains(where: { $0.source == .passphrase }) { try keyring.checkUnlocker() }
            return try added.map { try keyring.reader.secret($0, for: .settingUnlocker) }
        }
    }
}
