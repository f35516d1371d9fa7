internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store create`.
    struct Create: Verb {
        static let name = VerbName.storeCreate
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Make a store.",
            discussion: """
                The folder is made; the folder around it must exist. Each --unlock names something that unlocks the \
                store by itself: a passphrase, which is asked for twice, or a key of a person. Without --unlock the \
                store has only the class always, and cannot be unlocked.

                KEEP THE DEVICE KEY APART from the folder. A person who has both reads the items of the class always, \
                and can put others in their place. If a run was interrupted, the same command finishes it. A store that was \
                made without --unlock gets the other classes by the same command with --unlock.

                With --account, the group makes a device key for the account and keeps it. An account that was erased \
                may come back: it gets a new key and an empty store.
                """)

        static var help: String {
            """
            Usage: vaultfile store create -S FOLDER --device-key K [options]

              vaultfile store create -S vault --device-key file:dev.key --unlock passphrase
              vaultfile store create -S /srv/up/4711 --device-key file:/etc/up.key
              vaultfile store create -S v --device-key device --unlock file:me.key

            Makes a store. The device key opens it: keep that key apart from the folder.
            Without --unlock it has only the class always.

            Options:
            \(HelpText.accountStore)
              --unlock K               let K unlock the store; give it once for each
            """
        }

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let unlockers = try unlocking.arguments()
            let (session, made) =
                if let account = try store.account?.accountName() {
                    try makeInGroup(account, unlockers, console)
                } else {
                    try make(unlockers, console)
                }
            var report = session.report()
            report.store = try session.attempt { try StoreReport(made) }
            let classes = unlockers.isEmpty ? ", with the class always alone" : ""
            let line = "\(session.subject.escaped): is a store\(classes)"
            let status = try console.give(report, lines: [line], about: session.subject, done: "was made")
            if store.account == nil {
                console.tell(
                    "vaultfile: store.vault, keys.vault and the two .key files in it hold its keys: back them up apart "
                        + "from the items, and the device key apart from both")
            }
            return status
        }

        private func make(
            _ unlockers: [KeyArgument], _ console: Console
        ) throws -> (StoreSession, VaultStore) {
            let session = try StoreSession(store, unlocking: unlockers, console)
            let device = try session.deviceKey()
            // Before a new passphrase is asked for in vain.
            try session.checkCreating(isUnlocked: !unlockers.isEmpty)
            let secrets = try session.keyring.secrets(unlockers, for: .settingStoreUnlocker)
            try secrets.refuseDeviceKey([device.id], "--unlock")
            let made = try session.attempt {
                do {
                    return try VaultStore.create(
                        at: session.place.path, device: device, unlockers: secrets.recipients(isHidden: false))
                } catch {
                    guard let known = error as? VaultError else { throw error }
                    throw Failure(
                        known, about: session.subject, system: ExitStatus(ofSystem: known, missing: .cannotCreate))
                }
            }
            return (session, made)
        }

        /// Makes the store of an account, with a key that its group makes for it.
        private func makeInGroup(
            _ account: String, _ unlockers: [KeyArgument], _ console: Console
        ) throws -> (StoreSession, VaultStore) {
            let group = try StoreGroupSession(
                store.keyed.place(), device: store.device(), others: unlockers.compactMap(\.standardInputUse), console)
            let opened = try group.open()
            let secrets = try group.keyring.secrets(unlockers, for: .settingStoreUnlocker)
            try secrets.refuseDeviceKey([group.key().id], "--unlock")
            let made = try group.attempt(account: account, missing: .cannotCreate) {
                do {
                    return try opened.createStore(of: account, unlockers: secrets.recipients(isHidden: false))
                } catch let error as VaultError where error.code == .wrongKey && (try? opened.find(account)) != nil {
                    // The shard opens. What an interrupted run has made of the store does not.
                    throw Failure(
                        code: .wrongKey, group.subject,
                        "what --unlock names does not open the unfinished store of this account",
                        hint: .nameFirstUnlocker)
                }
            }
            group.warnIfKeyIsBeside()
            return (try StoreSession(account, in: group), made)
        }
    }
}
