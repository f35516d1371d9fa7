internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store passphrase`.
    struct ChangePassphrase: Verb {
        static let name = VerbName.storePassphrase
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Change what unlocks a store.",
            discussion: """
                Asks for a new passphrase, which replaces the one that unlocks the store now. Other keys and \
                passphrases still unlock it. --add and --remove change what else unlocks it. The items stay the same. \
                The device key is not needed. The store is sealed afterwards, whatever `vaultfile store unlock` did.

                AN OLD COPY OF keys.vault.key still opens keys.vault, with what opened that copy. --renew ends that; \
                use it if a passphrase has leaked. After it, only the new passphrase, or only what --add names, \
                unlocks the store: name everything again, as in --renew --add passphrase --add file:safe.key. Without \
                --add it asks first, unless --yes is given, if a key or another passphrase would be dropped. Old copies of BOTH FILES still open with what opened them; `vaultfile store rotate` \
                makes them worthless for what comes after. A name or an ID is \
                accepted by --remove as the ID of a slot of keys.vault.key, as `vaultfile inspect` shows it.
                """)

        static var help: String {
            """
            Usage: vaultfile store passphrase -S FOLDER [options]

              vaultfile store passphrase -S vault        a new one replaces the old one
              vaultfile store passphrase -S vault --add file:me.key
              vaultfile store passphrase -S vault --renew

            Changes what unlocks a store. The items stay the same. An old copy of
            keys.vault.key still opens keys.vault, until --renew.

            Options:
              --add K                  let K unlock the store too
              --remove K               let K no longer unlock it; K may be a slot's ID, as
                                       inspect shows it, or others
              --renew                  make old copies of one of the two files useless; only
                                       what --add names unlocks it then
              --yes                    do not ask before --renew drops what else unlocks it
              -S, --store FOLDER       the store; else VAULTFILE_STORE names it
            \(HelpText.storeUnlock)
            """
        }

        @Option(
            name: .customLong("add"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Let this unlock the store too.", valueName: "k"))
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
            help: """
                Make a new key for keys.vault.key, so that an old copy of one of the two files is useless. Only what --add \
                names, or else a new passphrase, unlocks the store then.
                """)
        var renew = false

        @Flag(help: "Do not ask before --renew drops other keys and passphrases.")
        var yes = false

        @OptionGroup(title: "Store") var folder: StoreFolderOption
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        /// Whether a new passphrase replaces the old one.
        private var isReplacing: Bool { add.isEmpty && remove.isEmpty }

        func execute(on console: Console) throws -> ExitStatus {
            let added =
                try isReplacing
                ? [KeyArgument(.passphrase, of: "--add")] : add.map { try $0.ofStore("--add") }
            let removed = remove.map { $0.given(to: "--remove") }
            for argument in removed where argument.id == nil && argument.source != .others {
                _ = try argument.ofStore("--remove")
            }
            let session = try StoreSession(
                folder.place(), device: nil, unlocking: unlocking.arguments(),
                others: (added + removed).compactMap(\.standardInputUse), console)
            if renew, !remove.isEmpty { throw Failure.usage("--renew", "removes everything, and takes no --remove") }
            let lines = try renew ? renew(session, added) : change(session, added, removed)
            return try console.give(
                session.report(), lines: lines.map { "\(session.subject.escaped): \($0)" }, about: session.subject,
                done: "was changed")
        }

        private func change(
            _ session: StoreSession, _ added: [KeyArgument], _ removed: [KeyArgument]
        ) throws -> [String] {
            let (path, unlocker) = (session.place.path, session.unlocker)
            try unlocker.takeLines(before: removed + added)
            var (removing, opening) = try SlotSelection.ofRemoved(removed) { argument throws(Failure) in
                try session.keyring.secret(argument, for: .unlockingStore)
            }
            unlocker.alsoTry(opening)
            // Before a new passphrase is asked for in vain.
            try session.unlock { try VaultStore.checkUnlocking(at: path, with: unlocker) }
            if isReplacing {
                try removing.replacePassphrase(of: unlocker, about: session.subject) {
                    try session.attempt { try VaultStore.inspectUnlocking(at: path)?.slots ?? [] }
                }
            }
            let secrets = try newUnlockers(session, added)
            let changed = try session.unlock {
                try VaultStore.changeUnlockers(
                    at: path, KeyChange(adding: secrets.recipients(isHidden: false), removing: removing),
                    unlocking: unlocker)
            }
            session.console.warn(of: changed.traces, session, isCard: false)
            return changed.result.unlockerLines
        }

        private func renew(_ session: StoreSession, _ added: [KeyArgument]) throws -> [String] {
            let (path, unlocker) = (session.place.path, session.unlocker)
            try unlocker.takeLines(before: added)
            try session.unlock { try VaultStore.checkUnlocking(at: path, with: unlocker) }
            let before = try session.attempt { try VaultStore.inspectUnlocking(at: path)?.slots ?? [] }
            if isReplacing, !yes { try confirmLoss(of: before, session) }
            let secrets = try newUnlockers(session, added)
            let traces = try session.unlock {
                try VaultStore.renew(at: path, unlocking: unlocker, with: secrets.recipients(isHidden: false))
            }
            session.console.warn(of: traces, session, isCard: false)
            // The change is done. An error of this inspection must not make the command fail.
            let after = (try? VaultStore.inspectUnlocking(at: path))??.slots
            let dropped = before.filter { after?.contains($0) == false }
            return ["has a new key in keys.vault.key"] + dropped.map(\.isGoneLine)
        }

        /// Asks before a new passphrase takes the place of more than the passphrase that it replaces.
        private func confirmLoss(of slots: [SlotDescription], _ session: StoreSession) throws {
            let passphrases = slots.filter { $0.kind == .passphrase }
            let lost = passphrases.count == 1 ? slots.filter { $0.kind != .passphrase } : slots
            guard !lost.isEmpty else { return }
            let names = lost.map(\.text).joined(separator: ", ")
            try Terminal.confirm(
                "Then only the new passphrase unlocks \(session.subject.escaped), and this no longer: \(names). Go on?",
                for: Self.name, otherwise: "nothing was changed; --add names what else must still unlock it")
        }

        /// Reads what will unlock the store.
        private func newUnlockers(_ session: StoreSession, _ added: [KeyArgument]) throws -> [Secret] {
            let secrets = try session.keyring.secrets(added, for: .settingStoreUnlocker)
            let card = session.place.path.appending("store.vault")
            // The header of the .key file tells which key opens the card, to everyone.
            let openers = (try? Keyring.inspectUnlockKey(at: card))??.slots.map(\.keyID) ?? []
            try secrets.refuseDeviceKey(Set(openers), "--add")
            return secrets
        }
    }
}
