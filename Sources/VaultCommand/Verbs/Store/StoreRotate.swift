internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store rotate`.
    struct Rotate: Verb {
        static let name = VerbName.storeRotate
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Give a class a new key, or the store a new device key.",
            discussion: """
                With --class, each item of the class gets a slot of a new key, and then the old key is destroyed. A \
                few hundred bytes of a large item change; a small one is copied. Contents are not encrypted again, so \
                WHO HAS OPENED AN ITEM BEFORE has its file key; `vaultfile store put` makes a new one. For always, the \
                device key is enough. For the other classes name what unlocks the store; what `vaultfile store unlock` \
                has left is not enough, and ends.

                An item that is damaged may still be recovered with the old key. As long as there is one, the old key \
                stays, and the status is 65: recover and remove it, and run the command again. This also finishes a \
                run that was interrupted. Programs that have the store open have to open it again.

                The class unless-open gets a new public key, too. Items that were written without unlocking are \
                encrypted for it then; `vaultfile store check --repair` encrypts them for the key of the class. A store \
                of an older program has no class unless-open: this adds it, with its first key. OLDER PROGRAMS DO NOT \
                OPEN THE STORE then.

                With --new-device-key, K is the device key from then on. Old copies of store.vault and store.vault.key \
                still open with the old one.
                """)

        static var help: String {
            """
            Usage: vaultfile store rotate -S FOLDER --device-key K --class CLASS [options]

              vaultfile store rotate -S vault --device-key file:dev.key --class always
              vaultfile store rotate --device-key dev --unlock passphrase --class complete
              vaultfile store rotate --device-key dev --new-device-key file:new.key

            Gives a class a new key, and destroys the old one. Contents are not encrypted
            again: who has opened an item before can still do so. A store that lacks the
            class unless-open gets it. All classes but always need what unlocks the store,
            also after store unlock.

            Options:
              --class CLASS            always, after-first-unlock, unless-open or complete
              --new-device-key K       let this open the store, in place of --device-key
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Option(
            name: .customLong("class"), parsing: .unconditional,
            help: ArgumentHelp("The class: always, after-first-unlock, unless-open or complete.", valueName: "class"))
        var itemClass: ClassName?

        @Option(
            name: .customLong("new-device-key"), parsing: .unconditional,
            help: ArgumentHelp(
                "The key that opens the store from then on; it is named as for --device-key.", valueName: "k"))
        var newDeviceKey: KeyArgument?

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let new = try newDeviceKey?.deviceKey("--new-device-key")
            let uses = [new?.standardInputUse].compactMap { $0 }
            let session = try StoreSession(store, unlocking: unlocking.arguments(), others: uses, console)
            if new != nil, store.account != nil {
                throw Failure.usage("--new-device-key", "does not go with --account", hint: .groupRenewsDevice)
            }
            switch (itemClass, new) {
            case (let itemClass?, nil): return try rotate(itemClass, session)
            case (nil, let new?): return try exchange(new, session)
            default: throw Failure.usage("--class", "or --new-device-key is needed, and not both")
            }
        }

        private func rotate(_ itemClass: ClassName, _ session: StoreSession) throws -> ExitStatus {
            let (console, protection) = (session.console, itemClass.protection)
            let opened = try session.open()
            let done: VaultStore.KeyRotation
            // The unlock file of the card has no passphrase.
            let device = try session.deviceKey()
            if protection == .always {
                done = try session.attempt { try opened.rotateKey(of: protection, device: device) }
            } else {
                try session.unlock { try opened.unlock(with: session.unlocker) }
                // A store of an older program.
                if protection == .unlessOpen, !opened.canRead(.unlessOpen) { return try add(itemClass, session) }
                done = try session.attempt {
                    try opened.rotateKey(of: protection, device: device, unlocking: session.unlocker)
                }
            }
            var status = ExitStatus.done
            for (file, error) in done.left {
                let folder = file.prefix { $0 != "/" }
                let subject = session.subject(ofFile: String(file.dropFirst(folder.count + 1)), in: String(folder))
                status = status.followed(by: console.report(error, about: subject))
            }
            if let traces = done.traces { console.warn(of: traces, session, isCard: protection == .always) }
            try console.sum(up: session, done.changed, .rotated, locked: 0, damaged: done.left.count)
            guard done.left.isEmpty else {
                console.warn(
                    session.subject, "the old key of the class \(itemClass.rawValue) stays, because items keep it",
                    hint: .storeRotationIsUnfinished)
                return status == .done ? .damaged : status
            }
            let line = "\(session.subject.escaped): the class \(itemClass.rawValue) has a new key"
            let given = try console.give(session.report(), lines: [line], about: session.subject, done: "was rotated")
            return status.followed(by: given)
        }

        /// Gives a store the class `unlessOpen`. It has no key that could be replaced.
        private func add(_ itemClass: ClassName, _ session: StoreSession) throws -> ExitStatus {
            let device = try session.deviceKey()
            _ = try session.attempt {
                try VaultStore.addUnlessOpen(at: session.place.path, device: device, unlocking: session.unlocker)
            }
            let line = "\(session.subject.escaped): has the class \(itemClass.rawValue) now, with its first key"
            return try session.console.give(
                session.report(), lines: [line], about: session.subject, done: "has the class")
        }

        private func exchange(_ new: KeyArgument, _ session: StoreSession) throws -> ExitStatus {
            // The old key is known to be right before the new one is read.
            _ = try session.open()
            let device = try session.deviceKey()
            let key = try session.keyring.deviceKey(new, "--new-device-key")
            // With it alone, someone would read every class.
            if try session.attempt({ try unlocks(key, session) }) {
                throw Failure.usage(
                    "--new-device-key", "this key unlocks the store: whoever has it would read every class",
                    hint: .otherDeviceKey)
            }
            let traces = try session.attempt {
                try VaultStore.renewCard(at: session.place.path, device: device, with: key)
            }
            session.console.warn(of: traces, session, isCard: true)
            let line = "\(session.subject.escaped): has another device key"
            return try session.console.give(
                session.report(), lines: [line], about: session.subject, done: "has another device key")
        }

        /// Whether a key unlocks the store by itself.
        private func unlocks(_ key: SymmetricKey, _ session: StoreSession) throws -> Bool {
            do {
                try VaultStore.checkUnlocking(at: session.place.path, with: KeySet(keys: [key]))
                return true
            } catch {
                let isAnswered =
                    (error as? VaultError)?.code == .wrongKey || (error as? StoreError)?.code == .noKeybag
                if !isAnswered {
                    // A keybag that is lost must not keep a leaked device key in use.
                    session.console.warn(
                        session.subject,
                        "it was not checked whether the new key unlocks the store: "
                            + Failure(error, about: session.subject).reason)
                }
                return false
            }
        }
    }
}

extension Console {
    /// Warns of old data that a change of the keys of a store could not destroy.
    func warn(of traces: Keyring.Traces, _ session: StoreSession, isCard: Bool) {
        let name = isCard ? "store.vault" : "keys.vault"
        warn(
            of: traces, session.subject(ofFile: name, in: nil), session.subject(ofFile: name + ".key", in: nil),
            what: isCard ? "the card" : "the keybag", renew: isCard ? .renewCard : .renewStore)
    }
}
