internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// `vaultfile rotate`.
struct Rotate: Verb {
    static let name = VerbName.rotate
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Change who can open containers, in their headers only.",
        discussion: """
            Protects a container only against people who get it, or a removed key, from now on. It does NOT protect \
            against someone who has opened the container before, or who has a removed key and an old copy of the \
            header, for example in a backup or a snapshot: the contents stay encrypted as they are. If a key that \
            matters has leaked, use reencrypt.

            Costs two small writes, whatever the size of the container. Only a container with a header of less than \
            4096 bytes, or with no room left in its header, is written to a new file. The container opens at every \
            moment with the old keys or with the new ones, even after a power failure. After an interruption, run it \
            again to finish.

            Without --add and --remove, slots of older keys of the keyring are replaced by one for its current key. A \
            container is skipped if its header shows no slot for a key of the keyring. This is not authenticated: \
            anyone who can write the file can make it look so. A warning names each skipped container, and the status \
            is 0.

            Slots that are not removed stay. On a terminal and with -v they are listed: someone who can write the file \
            may have put back an old header, with slots that were removed since. --expect refuses that.

            Writes one line for each INPUT: rotated, current, skipped or failed, a tab, the name. `current` is \
            also written if only a header copy was repaired. With --dry-run nothing is changed, and the first \
            word is "would rotate", current or skipped; a third column says if a new file would be needed. To remove a slot that a container \
            does not have is no error, so a run can be repeated. A warning names an ID that no container had.

            The slots of a detached container are in its header file. To change them, name that file as INPUT: it is \
            replaced as a whole, and the container is neither read nor needed. The container itself is passed over if its \
            header file is another INPUT of the command line whose name ends with .hdr, or with --recursive such a file in \
            the same folder; a header file that only --files-from names does not count. A container with a slot of its own, as \
            after a detach or an attach that was interrupted, is never passed over: run the same again to finish it. \
            Other header files of the container, and older copies of this one, open it as before with their own keys.

            --remove age1… removes the slot of this public key, and needs no identity of it; but a hidden slot is found \
            only with its identity, as in --remove identity-file:FILE, or by its ID. A public key that is added to a \
            container opens all of it, also what was there before. A post-quantum key that is added to a container \
            which a classical one opened does not help against those who kept the old header: reencrypt does.

            Without --add and --remove, the keyring's keys are used even if VAULTFILE_KEY_FILE is set.

            `vaultfile rotate --add passphrase --remove passphrase FILE.vault` changes the passphrase of one container.

            \(KeyArgument.grammarOfSlots) \(KeyArgument.lines)
            """)

    static var help: String {
        """
        Usage: vaultfile rotate [options] FILE ...

          vaultfile rotate --recursive /backups      to the keyring's current key
          vaultfile rotate --add age1qzw08... --remove old backup.vault
          vaultfile rotate --add passphrase --remove passphrase backup.vault

        Changes who can open containers, by two small writes. Those who had a removed
        key and an old copy still can: if a key has leaked, use reencrypt.

        Change (if none is named: from older keys of the keyring to its current key):
          --add K, --remove K      make a slot for K, remove the slots of K
          --remove others          remove all slots that are not added here
        \(HelpText.hiding)
          --dry-run                change nothing, only say what would be done
          --give-up-access, --break-links
                                   even if nothing given here opens it afterwards,
                                   if other names keep the old container
        \(HelpText.k)
        \(HelpText.openingKeys)
        \(HelpText.expect)
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup(title: "Change") var change: KeyChangeOptions
    @OptionGroup var inPlace: InPlaceOptions
    @OptionGroup var consent: ChangeConsent

    @Flag(help: "Change nothing; only say what would be done.")
    var dryRun = false

    var common: CommonOptions { inPlace.common }

    func execute(on console: Console) throws -> ExitStatus {
        try change.check()
        let operands = try inPlace.operands(others: change.standardInputUses)
        let session = try KeyringSession(inPlace.keys.unlocking, console)
        if change.isEmpty, !session.exists {
            throw Failure.usage("rotate", "there is nothing to change", hint: .rotateNeeds)
        }
        let opening = try RunKeys(inPlace.keys, session, isOfKeyring: change.isEmpty)
        let slots = try SlotChange(change, opening: opening, session)
        if change.anonymous { try slots.added.checkHidden() }
        let keyring = try change.isEmpty ? KeyringRotation(session.open()) : nil
        var options = RotationOptions()
        options.isDryRun = dryRun
        options.mayLoseAccess = consent.giveUpAccess
        options.mayBreakLinks = inPlace.breakLinks
        options.mayMixRecipients = change.allowClassical
        let work = try InPlace(inPlace, opening: opening, changing: slots, isDryRun: dryRun, on: console)
        if dryRun {
            console.announce(.text("rotate"), "dry run: nothing is changed")
        }
        opening.prepare(operands, inPlace.many, changing: slots, work.credentials)
        let removals = NamedRemovals(try slots.removing(), slots.removedSecrets, slots.removedWords)
        let headerFiles = HeaderFilesOfRun(on: console)
        let fleet = try Fleet(
            Self.name, operands, inPlace.many, takes: .containersAndHeaderFiles,
            Fleet.Manner(saysFailures: true, countsBytes: false, isDryRun: dryRun, resumption: .continues), on: console)
        let status = try fleet.run(postponed: { headerFiles.outcomes }) { [options] item in
            var options = options
            options.onWaiting = console.waitNote(about: item.subject)
            let seen = try work.shown(item, options.onWaiting)
            if let seen, work.header.file == nil, headerFiles.postpones(item, seen) { return .postponed }
            let toCurrent = keyring?.change(for: seen)
            guard keyring == nil || toCurrent != nil else {
                // The header is not authenticated: anyone who can write the file can make it look so.
                if console.verbosity != .quiet {
                    console.warn(
                        item.subject,
                        "skipped: its header, which is not authenticated, has no slot for a key of the keyring")
                }
                return try work.report(.skipped, item)
            }
            return try work.run(item, options) { keys, options in
                let change = try toCurrent ?? slots.change()
                let isHeaderFile = seen?.isHeaderFile ?? item.operand.hasEndingOfHeaderFile
                let done = try work.rotate(item, isHeaderFile: isHeaderFile, change, keys, options)
                work.list(done, item)
                if done.isRepaired, !done.isNewHeader {
                    console.note(
                        item.subject,
                        "its keys are current; its header copies \(work.isDryRun ? "are to be" : "were") repaired")
                }
                removals.note(done)
                try work.warn(ofHidden: removals.mayStillOpen(done), item)
                work.warnIfStillClassical(done, item)
                let outgrows = done.isNewFile && work.isDryRun
                return try work.report(
                    done.isNewHeader ? .rotated : .current, item, health: done.found, RotationReport(done),
                    column: outgrows ? "needs a new file: its header is full or too small" : nil)
            }
        }
        if status == .done { removals.warn(on: console) }
        if !dryRun, !self.change.remove.isEmpty { removals.tellWhatRemains(on: console) }
        return status
    }
}

extension InPlace {
    /// What an input shows: whether it is a container or a header file, and which slots it has.
    fileprivate func shown(_ item: InputItem, _ onWaiting: @escaping @Sendable () -> Void) throws -> Inspection? {
        do {
            return try item.shown(onWaiting: onWaiting)
        } catch let error as VaultError {
            throw Failure(error, about: item.subject, system: error.code == .inputFailed ? .noInput : .inputOutput)
        }
    }

    /// Rotates a container, or a header file that is the input itself.
    fileprivate func rotate(
        _ item: InputItem, isHeaderFile: Bool, _ change: KeyChange, _ keys: any KeyProvider, _ options: RotationOptions
    ) throws -> Rotation {
        guard isHeaderFile else {
            return try withHeaderFile(of: item) {
                try Vault.rotate(at: $0, change, with: credentials(keys, $1), options: options)
            }
        }
        return try item.withPlace { place in
            var credentials = credentials(keys)
            // The user names one input, so the state that they remember is that of this one.
            credentials.expectingHeaderFile = header.expectingFile ?? header.expecting
            return try Vault.rotateHeaderFile(at: place, change, with: credentials, options: options)
        }
    }
}

/// A rotation to the keyring's current key.
private struct KeyringRotation: Sendable {
    private let ids: Set<KeyID>
    private let change: KeyChange

    init(_ keyring: Keyring) throws(Failure) {
        guard keyring.current != nil else {
            throw .noCurrentKey(.text("keyring"))
        }
        change = try Failure.Subject.text("keyring").attempt { try keyring.keyChangeToCurrent() }
        ids = Set(keyring.entries.compactMap(\.id))
    }

    /// The change for one container; nil if none of its slots is for a key of the keyring. A damaged container is not
    /// skipped: the rotation reports its damage. Nor is a detached one: its slots are elsewhere.
    func change(for seen: Inspection?) -> KeyChange? {
        if let seen, seen.problem == nil || seen.isHeaderFile, !seen.headers.contains(where: \.isDetached) {
            guard seen.slots.contains(where: { $0.kind.idNamesSecret && ids.contains($0.keyID) }) else { return nil }
        }
        return change
    }
}
