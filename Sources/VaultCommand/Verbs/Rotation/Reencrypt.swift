internal import ArgumentParser
internal import Synchronization
internal import VaultFile
internal import VaultSystem

/// `vaultfile reencrypt`.
struct Reencrypt: Verb {
    static let name = VerbName.reencrypt
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Encrypt containers again: every byte, under a new file key.",
        discussion: """
            Protects the container from now on against everyone who had one of its old keys: use it if a key has \
            leaked. It does NOT protect copies of the old container: anyone who could open them still can. To change \
            keys quickly when none has leaked, use rotate.

            Reads and writes everything once. No plaintext is written to a disk, and the old container stays until the \
            new one is complete. Name, time, mode and digest stay. The new container has slots only for the given keys \
            and identities that open the old one, and for --add, -r and -R. If none is given, it has one for the key file that \
            VAULTFILE_KEY_FILE names, else for the keyring's current key. If other slots would be lost, they are \
            listed and the status is 77, unless --remove names them or others. What --remove names gets no slot, even \
            if it is given to open the container. With --add, others also drops the keys that are given to open.

            A detached container gets a new header file, in the folder of the old one, which is removed: its name is that \
            of the container, the first 16 digits of the new commitment, and .hdr. Copies of the old header file open \
            the new container no more.

            Writes one line for each INPUT: reencrypted or failed, a tab, the name; for a detached container also a tab \
            and the new header file.

            \(KeyArgument.grammarOfSlots) \(KeyArgument.lines)
            """)

    static var help: String {
        """
        Usage: vaultfile reencrypt [options] FILE ...

          vaultfile reencrypt --remove leaked backup.vault
          vaultfile reencrypt --recursive --remove leaked /backups
          vaultfile reencrypt --key-file old.txt --add file:new.txt backup.vault

        Encrypts every byte again: use it if a key has leaked. Not for old copies.

        Change (if no key is named at all: a slot for the keyring's current key):
          --add K, --remove K      make a slot for K, give up the slots of K
          --remove others          give up all slots that are not added here
          --give-up-access, --break-links
                                   even if nothing given here opens it afterwards,
                                   if other names keep the old container
          --same-recipients        slots again for those of your keyring who have one
        \(HelpText.recipients)
        \(HelpText.k)
        \(HelpText.openingKeys)
        \(HelpText.expect)
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup(title: "Change") var change: KeyChangeOptions
    @OptionGroup(title: "Change") var newRecipients: RecipientOptions

    @Flag(
        help: """
            Make a slot for each recipient and identity of the keyring that has a slot now, but for the former ones, and \
            name them. Other slots are listed, as without this option.
            """)
    var sameRecipients = false

    @OptionGroup var inPlace: InPlaceOptions
    @OptionGroup var consent: ChangeConsent

    var common: CommonOptions { inPlace.common }

    func execute(on console: Console) throws -> ExitStatus {
        try change.check()
        try newRecipients.check(inPlace.operandLists)
        let operands = try inPlace.operands(others: change.standardInputUses + newRecipients.standardInputUses)
        let keyring = try KeyringSession(inPlace.keys.unlocking, console)
        let opening = try RunKeys(inPlace.keys, keyring)
        let slots = try SlotChange(change, adding: newRecipients.arguments, opening: opening, keyring)
        var recipients: [Recipient] = []
        // Whose slots --same-recipients makes is known only with the containers.
        if change.anonymous, !sameRecipients {
            try (slots.added + opening.namedIdentities.map(Secret.identity)).checkHidden()
        }
        let known = sameRecipients ? try keyring.open() : nil
        if inPlace.keys.isEmpty, slots.added.isEmpty, !sameRecipients {
            let missing = Failure.noKey(to: " for the new container", Self.name)
            recipients = [.key(try keyring.encryptionKey(orElse: missing).key)]
        }
        var options = ReencryptionOptions()
        options.mayBreakLinks = inPlace.breakLinks
        options.mayMixRecipients = change.allowClassical
        let work = try InPlace(inPlace, opening: opening, changing: slots, on: console)
        opening.prepare(operands, inPlace.many, changing: slots, work.credentials)
        return try Fleet(
            Self.name, operands, inPlace.many, takes: .containers, Fleet.Manner(saysFailures: true), on: console
        ).run {
            [options, recipients, inPlace, consent] item in
            try work.run(item) { keys in
                var options = options
                options.onWaiting = console.waitNote(about: item.subject)
                let asked = slots.question?.number
                let headers = Mutex<[HeaderSummary]>([])
                options.dropping = try slots.removing()
                // `others` means every slot that this call does not add. With --add, that includes the keys that open.
                let dropsGiven = options.dropping.others && !slots.added.isEmpty
                options.recipientsThatOpen = try dropsGiven ? [] : opening.recipients(isHidden: slots.isHidden)
                let keepsIdentities = !dropsGiven && !slots.isHidden && opening.keepsSlotsOfIdentities
                options.keepsSlot = { keepsIdentities && $0.kind.isOfPublicKey }
                options.recipientsOf = { copies in
                    headers.withLock { $0 = copies }
                    guard let known else { return [] }
                    do {
                        let entries = known.presentRecipients(of: copies)
                        for entry in entries {
                            console.announce(item.subject, "a slot for \(entry.subject.escaped)")
                        }
                        return try keyring.secrets(of: entries).recipients(isHidden: slots.isHidden)
                    }
                }
                options.onLoss = { lost in
                    try slots.check(loss: lost, after: asked)
                    let copies = headers.withLock { $0 }
                    let list = lost.map { slot in
                        let name = copies.lazy.compactMap { opening.name(of: slot, in: $0) }.first
                        let noun = slot.kind.isOfPublicKey ? "\(slot.kind.noun) " : ""
                        return "\(noun)\(slot.keyID)" + (name.map { " (\($0))" } ?? "")
                    }.joined(separator: ", ")
                    throw Failure(
                        code: .consentNeeded, item.subject, "slots would be lost: \(list)", hint: .addKeepsSlot)
                }
                if !consent.giveUpAccess {
                    options.onAccessLoss = {
                        throw Failure(
                            code: .consentNeeded, item.subject,
                            "nothing that was given here would open the new container", hint: .giveUpAccess)
                    }
                }
                let added = try slots.recipients()
                let done = try work.withProgress(item) { report in
                    options.onProgress = report
                    return try work.withHeaderFile(of: item) {
                        options.headerFile = $1
                        return try Vault.reencrypt(
                            at: $0, for: recipients + added, with: work.credentials(keys), options: options,
                            jobs: inPlace.many.threads(for: operands).each)
                    }
                }
                let header = done.headerFilePath.map { item.found == nil ? $0.bytes : item.operand.besideIt($0) }
                return try work.report(
                    .reencrypted, item, health: done.old.health, RotationReport(done), headerFile: header,
                    headerPin: done.headerFile?.pin, column: header.map { Escaping.line($0) })
            }
        }
    }
}
