internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// `vaultfile rotate`.
struct Rotate: Verb {
    static let name = VerbName.rotate
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Change who can open containers: the header only.",
        discussion: """
            Protects a container against whoever gets hold of it, or of a removed key, only from now on. It does NOT \
            protect against someone who has opened the container before, or who has a removed key and an old copy of \
            the header, as in a backup or a snapshot: the contents stay encrypted as they are. If a key that matters \
            has leaked, use reencrypt.

            Costs two small writes, whatever the size of the container; only one with a header of less than 4096 \
            bytes, or whose header has no room left, is written anew as a file. It opens at every moment, whatever is \
            pulled out when: with the old keys or with the new ones. Run it again after an interruption; it does what \
            is left.

            Without --add and --remove every slot of an older key of the keyring gets its current key. A container is \
            skipped if it has no slot for any key of the keyring, by a header that nobody vouches for: whoever can \
            write the file can make it look so. Each that is skipped is named by a warning, and the status is 0.

            For each INPUT there is one line: rotated, current, skipped or failed, a tab, the name; current also where \
            only a damaged header copy was made whole. With --dry-run nothing is written, and the same words say \
            what would be done, after a note that says so; a third column says where the header would outgrow its \
            capacity, so that a new file would have to be made.

            \(KeyArgument.grammar) \(KeyArgument.lines)
            """)

    @OptionGroup(title: "Change") var change: KeyChangeOptions
    @OptionGroup var inPlace: InPlaceOptions
    @OptionGroup var consent: ChangeConsent

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    var common: CommonOptions { inPlace.common }

    func execute(on console: Console) throws -> ExitStatus {
        try change.check()
        let operands = try inPlace.operands(others: change.standardInputUses)
        let session = KeyringSession(inPlace.keys.unlocking, console)
        if change.isEmpty, !session.exists {
            throw Failure(
                .usage, .text("rotate"), "there is nothing to change",
                hint: Hint.rotateNeeds)
        }
        let opening = try RunKeys(inPlace.keys, session, isOfKeyring: change.isEmpty)
        let slots = try SlotChange(change, opening: opening, session)
        let keyring = try change.isEmpty ? KeyringRotation(session.open()) : nil
        var options = RotationOptions()
        options.isDryRun = dryRun
        options.mayLoseAccess = consent.giveUpAccess
        options.mayBreakLinks = inPlace.breakLinks
        let work = try InPlace(
            inPlace, opening: opening, changing: slots, isDryRun: dryRun, on: console)
        let fixed = KeyChange(adding: slots.added.map(\.recipient), removing: slots.removing)
        if dryRun {
            console.announce(.text("rotate"), "a dry run: nothing is written, and the words say what would be done")
        }
        return try Fleet(Self.name, operands, inPlace.many, takes: .containers, saysFailures: true, on: console).run {
            [options] item in
            guard let change = try keyring.map({ try $0.change(for: item) }) ?? fixed else {
                // Of a header that nobody vouches for: who could write the file can have made it look so.
                if console.verbosity != .quiet {
                    console.warn(
                        item.subject,
                        "skipped: nothing in its header, which nobody vouches for, is for a key of the keyring")
                }
                return try work.report(.skipped, item)
            }
            return try work.run(item, options) { keys, options in
                let done = try item.withPlace {
                    try Vault.rotate(at: $0, change, with: Credentials(keys, context: work.context), options: options)
                }
                if done.isRepaired, !done.isNewHeader {
                    console.note(
                        item.subject,
                        "its keys are current; its header copies \(work.isDryRun ? "are to be" : "were") made whole "
                            + "and equal")
                }
                let outgrows = done.isNewFile && work.isDryRun
                return try work.report(
                    done.isNewHeader ? .rotated : .current, item, health: done.found, RotationReport(done),
                    column: outgrows ? "outgrows its header, or has a small one: a new file" : nil)
            }
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
        do {
            change = try keyring.keyChangeToCurrent()
        } catch {
            throw Failure(error, about: .text("keyring"))
        }
        ids = Set(keyring.entries.map(\.id))
    }

    /// Nil where no slot is for a key of the keyring. What is damaged is none of that, and is left to be found so.
    func change(for item: InputItem) throws -> KeyChange? {
        let seen = try? item.withPlace { try Inspection(FileSource(at: $0)) }
        if let seen, seen.problem == nil {
            guard seen.slots.contains(where: { $0.kind.idNamesSecret && ids.contains($0.keyID) }) else { return nil }
        }
        return change
    }
}
