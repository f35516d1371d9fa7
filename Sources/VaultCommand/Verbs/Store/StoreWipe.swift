internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store wipe`.
    struct Wipe: Verb {
        static let name = VerbName.storeWipe
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Destroy the keys of a store, then its items.",
            discussion: """
                THIS CANNOT BE UNDONE. Needs no key. The files with keys are overwritten with zeros and removed first, \
                then the items. If the run is interrupted, the same command, or any other command on this store, \
                finishes it. The folder stays, with the files gone and lock in it: while they are there, no store is \
                made there. What `vaultfile store unlock` has left in the kernel's memory for this user ends too; with \
                --device-key, also what is left from before a change of keys.vault. FOR ANOTHER USER it stays until its \
                time, or until a restart: that user runs `vaultfile store lock --seal` before.

                An SSD, or a file system that writes elsewhere, may keep the old bytes, and no BACKUP is reached. What \
                helps there is to destroy the device key, and what unlocks the store. The command asks on the \
                terminal, unless --yes is given; if the answer is not yes, nothing is destroyed and the status is 64.
                """)

        static var help: String {
            """
            Usage: vaultfile store wipe -S FOLDER [options]

              vaultfile store wipe -S vault
              vaultfile store wipe -S /srv/up/4711 --yes
              vaultfile store wipe -S vault --device-key file:dev.key

            THIS CANNOT BE UNDONE: destroys the keys of a store, then its items. Needs no
            key. Backups are not reached.

            Options:
              --yes                    do not ask
            \(HelpText.store)
            """
        }

        @Flag(help: "Do not ask.")
        var yes = false

        @OptionGroup(title: "Store") var store: KeyedFolderOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let device = try store.deviceIfNamed()
            let session = try StoreSession(store.place(), device: device, console)
            if !yes {
                try Terminal.confirm(
                    "Destroy the store \(session.subject.escaped), and all its items, for ever?", for: Self.name,
                    otherwise: "nothing was destroyed")
            }
            if device != nil { endKept(session) }
            do {
                try VaultStore.wipe(at: session.place.path) {
                    console.warnOfKeptKeys(session.subject, $0, isNoted: $1)
                }
            } catch {
                throw Failure(
                    error, about: session.subject, system: ExitStatus(ofSystem: error, missing: .noInput))
            }
            let line = "\(session.subject.escaped): is wiped"
            return try console.give(session.report(), lines: [line], about: session.subject, done: "is wiped")
        }

        /// Ends what the kernel keeps. A store that does not open is wiped all the same.
        private func endKept(_ session: StoreSession) {
            do {
                let key = try session.deviceKey()
                try VaultStore.open(at: session.place.path, device: key).lockKept(sealing: true)
            } catch {
                // Nothing can be kept where the kernel keeps nothing.
                guard (error as? VaultError)?.code != .keyStoreUnavailable else { return }
                let failure = Failure(error, about: session.subject)
                session.console.warn(
                    session.subject, "keys that store unlock has left may stay until their time: \(failure.reason)")
            }
        }
    }
}

extension Console {
    /// Warns that a wipe has not seen what `store unlock` may have left, because the kernel forbids this process to look.
    ///
    /// - Parameter isNoted: Whether the same wipe, outside of this container of programs, still finds them.
    func warnOfKeptKeys(_ subject: Failure.Subject, _ error: VaultError, isNoted: Bool) {
        warn(
            subject, "keys that store unlock has left may stay until their time: \(error.message)",
            hint: isNoted ? .wipeOutside : .restartEndsKeys)
    }
}
