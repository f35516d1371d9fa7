internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key passphrase`.
    struct ChangePassphrase: Verb {
        static let configuration = CommandConfiguration.verb(
            "passphrase",
            abstract: "Change what unlocks the keyring.",
            discussion: """
                Asks for a new passphrase, which takes the place of the one that unlocks the keyring now; what else \
                unlocks it goes on doing so. Where --unlock or VAULTFILE_UNLOCK names no passphrase, it takes the \
                place of the only one that there is; of several, --remove has to name one, beside --add passphrase. A \
                keyring that nothing protected is protected from here on. --add and --remove change the rest of what \
                unlocks it: a key file, the output of a command, further passphrases.

                The keys stay the same, and so do the containers. WHO HAS AN OLD COPY OF THE .key FILE AND WHAT OPENED \
                IT can still unlock the keyring; --renew makes that worthless, and drops all that unlocked it but the \
                new passphrase and what --add names.

                \(KeyArgument.grammar) A name or an ID goes only with --remove, and means a slot of the .key file, as \
                `vaultfile inspect` shows it. \(KeyArgument.lines)
                """)

        @Option(
            name: .customLong("add"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Let this unlock the keyring too.", valueName: "k"))
        var add: [KeyArgument] = []

        @Option(
            name: .customLong("remove"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp(
                "Let this unlock it no more; a slot's ID and others, all that --add does not name, go too.",
                valueName: "k"))
        var remove: [KeyArgument] = []

        @Flag(help: "Draw a new key for the .key file, so that copies of the old one unlock nothing.")
        var renew = false

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let uses =
                add.compactMap { $0.standardInputUse("--add") } + remove.compactMap { $0.standardInputUse("--remove") }
            try StandardInput.refuseShared(uses + unlocking.standardInputUses)
            for case .named(let name) in remove.map(\.source) where KeyID(hex: name) == nil {
                throw Failure.usage("--remove", "takes a slot's ID where it takes no key file, command or passphrase")
            }
            if renew, !remove.isEmpty { throw Failure.usage("--renew", "drops everything, and takes no --remove") }
            let sources = KeySources(console: console)
            let access = sources.keyring(unlocking)
            try access.takeLines(before: remove + add)
            let place = try access.located()
            guard place.unlockKeyExists else {
                throw Failure(.noKey, place.subject, "there is no keyring", hint: "vaultfile key generate makes one")
            }
            guard place.isProtected, !renew else { return try protect(access, sources, place, console) }
            return try rotate(access, sources, place, console)
        }

        private func protect(
            _ access: KeyringAccess, _ sources: KeySources, _ place: KeyringPlace, _ console: Console
        ) throws -> ExitStatus {
            guard remove.isEmpty else {
                throw Failure.usage("--remove", "nothing protects the keyring, so there is nothing to remove")
            }
            if asks { try access.check() }
            let before = (try? Keyring.inspectUnlockKey(at: place.path.path)) ?? nil
            try access.protect(
                renewing: renew, with: try secrets(toAdd(), "--add", .sealing, sources).map(\.recipient))
            // It is done: whatever is there by now, nothing of that fails any more.
            let after = (try? Keyring.inspectUnlockKey(at: place.path.path))??.slots
            let dropped = (before?.slots ?? []).filter { after?.contains($0) == false }
            let done = before == nil ? "was protected" : "has a new key in its .key file"
            return try report(place, [done] + dropped.map(Self.isGone), console)
        }

        private func rotate(
            _ access: KeyringAccess, _ sources: KeySources, _ place: KeyringPlace, _ console: Console
        ) throws -> ExitStatus {
            let isReplacing = add.isEmpty && remove.isEmpty
            // First what opens, as people type it.
            let removed = try secrets(remove.filter { !$0.isSlots }, "--remove", .opening, sources)
            var removing = SlotSelection(
                ids: Set(remove.compactMap(\.id) + removed.compactMap(\.key?.id)),
                passphrases: removed.compactMap(\.passphrase), others: remove.contains { $0.source == .others })
            if isReplacing { try replace(&removing, access, place) }
            if asks { try access.check(removed) }
            let added = try secrets(toAdd(), "--add", .sealing, sources)
            let change = KeyChange(adding: added.map(\.recipient), removing: removing)
            let rotation = try access.changeUnlockers(change, named: removed)
            // What it was to take the place of is chosen before a person types it; somebody else may have been faster.
            if isReplacing, !removing.ids.isSubset(of: rotation.removed.map(\.keyID)) {
                throw Failure(
                    .inUse, place.unlockKey.subject,
                    "was changed by somebody else meanwhile: what was given unlocks it, and so may the old passphrase",
                    hint: "vaultfile inspect shows what unlocks it, and --remove takes an ID from it")
            }
            let lines =
                rotation.removed.map(Self.isGone)
                + rotation.added.map { "\($0.kind.noun) \($0.keyID) unlocks it" }
            return try report(place, lines.isEmpty ? ["is as it was"] : lines, console)
        }

        private static func isGone(_ slot: SlotDescription) -> String {
            "\(slot.kind.noun) \(slot.keyID) unlocks it no more"
        }

        /// Whether a person will be asked for what is to be added: not before it is certain that the rest can be done.
        private var asks: Bool { toAdd().contains { $0.source == .passphrase } }

        /// What is to be added: a passphrase, where nothing is said.
        private func toAdd() -> [KeyArgument] {
            add.isEmpty && remove.isEmpty ? [KeyArgument(.passphrase)] : add
        }

        /// Which slot a new passphrase takes the place of.
        private func replace(
            _ removing: inout SlotSelection, _ access: KeyringAccess, _ place: KeyringPlace
        ) throws {
            if let passphrases = try access.passphrases() {
                removing.passphrases = passphrases
                return
            }
            let seen = try Keyring.inspectUnlockKey(at: place.path.path)
            let ids = Set(seen?.passphraseSlots ?? [])
            guard ids.count <= 1 else {
                throw Failure(
                    .usage, place.unlockKey.subject, "more than one passphrase unlocks it",
                    hint: "--remove says which of them goes, --add passphrase asks for a new one")
            }
            removing.ids = ids
        }

        private func secrets(
            _ arguments: [KeyArgument], _ option: String, _ purpose: KeySources.Purpose, _ sources: KeySources
        ) throws(Failure) -> [Secret] {
            let use = KeySources.Use(purpose: purpose, option: option, subject: KeySources.Use.keyring)
            var secrets: [Secret] = []
            for argument in arguments {
                if case .named = argument.source {
                    throw .usage("--add", "names a key of the keyring, which cannot unlock itself")
                }
                secrets.append(try sources.secret(argument, for: use))
            }
            return secrets
        }

        private func report(_ place: KeyringPlace, _ lines: [String], _ console: Console) throws -> ExitStatus {
            try console.give(
                Report(.ok, verb: "key passphrase", about: place.subject),
                lines: lines.map { "\(place.subject.escaped): \($0)" }, about: place.subject, done: "was changed")
        }
    }
}

extension KeyArgument {
    /// Whether it names slots, and no secret.
    fileprivate var isSlots: Bool {
        if case .named = source { true } else { source == .others }
    }
}

extension Inspection {
    /// The slots in either copy, each once.
    fileprivate var slots: [SlotDescription] {
        [front, tail].flatMap { copy in
            if case .intact(let header) = copy { header.slots } else { [SlotDescription]() }
        }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The IDs of the passphrase slots in either copy.
    fileprivate var passphraseSlots: [KeyID] { slots.filter { $0.kind == .passphrase }.map(\.keyID) }
}
