internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// `vaultfile inspect`.
struct Inspect: Verb {
    static let name = VerbName.inspect
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Show what anyone can see of containers, and with a key also the manifest.",
        discussion: """
            Needs no key. What is shown without one is NOT AUTHENTICATED: anyone who can write the file can change it. With a key, the manifest is shown too, and which slots the given keys open. Only keys that are \
            named on the command line are tried, and no passphrase is asked for without -p. Contents are not read: \
            verify does that. Standard input must be a regular file.

            --pin writes one line, the pin of the header, if a key opens the container: save it where no one who can \
            write the container can write, and other verbs refuse an older header with --expect. For --pin and \
            --expect, keys are found as for verify if none is named.

            With --recursive and --files-from, an inventory follows: which keys the containers have slots for, and for \
            each key the number of containers and bytes. --summary shows only that.

            A slot of a public key shows its kind, x25519 or x-wing, and an ID that only those who have the public key \
            can tell from others; a hidden slot not even that. With -i, the identity is shown that a slot belongs to.

            Keys and recipients are shown with their names in the keyring if --unlock is given, if VAULTFILE_UNLOCK names a key file or \
            unprotected, or if key unlock has unlocked it.
            """)

    static var help: String {
        """
        Usage: vaultfile inspect [options] FILE ...

          vaultfile inspect backup.vault             slots, sizes; needs no key
          vaultfile inspect --recursive --summary /backups
          vaultfile inspect --pin backup.vault > backup.pin

        Shows what anyone can see of a container, which is NOT AUTHENTICATED, and with a
        key also its manifest and which slots that key opens.

        Keys:
        \(HelpText.keyOptions)
          --context TEXT           the context that the container was made with
        \(HelpText.expect)
        What:
          --summary                only which keys are in use, and how often
          --pin                    only the pin of the header, for --expect
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption
    @OptionGroup(title: "Many inputs") var many: ManyInputs

    @Flag(help: "Show only which keys are in use, and by how many containers and bytes.")
    var summary = false

    @Flag(help: "Write only the pin of the header, for --expect. It needs a key.")
    var pin = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let operands = try many.operands(operandLists)
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses)
        if pin, summary || many.isFleet || operands.count != 1 {
            throw Failure.usage("--pin", "is for a single INPUT, and does not go with --summary")
        }
        let known = try expect.known(for: operands, many)
        let context = try context.context()
        let keyring = try KeyringSession(keys.unlocking, console)
        let opening =
            keys.isEmpty && !pin && known.expecting == nil && known.expectingFile == nil
            ? nil
            : Opening(
                keys: try RunKeys(keys, keyring), context: context, threads: 1, console: console, header: known)
        if let opening { opening.keys.prepare(operands, many, opening.credentials) }
        try keyring.openForNames()
        let inventory = KeyInventory()
        let status = try Fleet(
            Self.name, operands, many, takes: .containersAndHeaderFiles, Fleet.Manner(countsBytes: false), on: console
        ).run { item in
            try item.withInput { input in
                return try inspect(input, opening, known, keyring, inventory, console)
            }
        }
        guard summary || many.isFleet else { return status }
        return .ofAll([status, try inventory.give(on: console) { keyring.entryIfOpen($0)?.name.description }])
    }

    private func inspect(
        _ input: Input, _ opening: Opening?, _ known: KnownHeader, _ keyring: KeyringSession, _ inventory: KeyInventory,
        _ console: Console
    ) throws -> Outcome {
        let source = input.source(console)
        let seen = try input.inspected(source)
        if seen.isHeaderFile { return try inspect(headerFile: input, opening, keyring, console) }
        let headerFile = try known.shown()
        var report = Report(.ok, about: input.subject)
        var lines = ["\(input.subject.escaped):"]
        var failure = seen.problem.map { input.failure(ofRest: $0) ?? Failure($0, about: input.subject) }
        var opened: Set<SlotDescription>?
        if let opening, failure == nil {
            do {
                // Done first, so that the slots are shown as tried even if none opens. Keys that are not named are
                // tried only to open.
                if !keys.isEmpty {
                    opened =
                        try headerFile.map { try opening.opened($0, input.subject) }
                        ?? opening.opened(seen, input.subject)
                }
                let reader = try opening.seekable(input, source)
                report.manifest = ManifestReport(reader.opened.manifest)
                report.health = reader.opened.health.rawValue
                report.length = reader.opened.manifest.plaintextLength
                report.pin = reader.opened.header.pin.text
                report.headerPin = reader.opened.headerFile?.pin.text
                if pin, let trouble = reader.opened.trouble {
                    console.warn(input.subject, trouble, hint: Hint.of(reader.opened.health))
                }
            } catch {
                failure = Failure(error, about: input.subject)
            }
        }
        let owners = opening.map { SlotOwners(of: seen, among: $0.keys.namedIdentities, context: $0.context) }
        let slot = {
            SlotReport($0, opened: opened, name: keyring.name(of: $0, in: seen.headers), identity: owners?[$0])
        }
        let container = ContainerReport(seen, slot: slot)
        report.container = container
        report.slots = (headerFile?.summary.slots ?? seen.slots).map(slot)
        report.header = headerFile.map { CopyReport($0, slot) }
        lines += container.lines
        if let header = report.header { lines += ["    header file"] + header.lines }
        lines += report.manifest?.lines(health: report.health ?? "") ?? []
        if pin { lines = report.pin.map { [$0] } ?? [] }
        let status = try give(&report, lines, about: input.subject, failure, console)
        return Outcome(status: status, name: .inspected, bytes: seen.containerLength) {
            inventory.add(seen)
        }
    }
}

// MARK: Header files

extension Inspect {
    /// Shows a header file by itself, whether its body is there or not (DET-7).
    private func inspect(
        headerFile input: Input, _ opening: Opening?, _ keyring: KeyringSession, _ console: Console
    ) throws -> Outcome {
        let file = try input.subject.attempt { try HeaderFile(input.source(console)) }
        var report = Report(.ok, about: input.subject)
        var failure: Failure?
        var opened: Set<SlotDescription>?
        if let opening {
            do {
                if !keys.isEmpty { opened = try opening.opened(file, input.subject) }
                report.pin = try opening.summary(of: file, input).pin.text
            } catch {
                failure = Failure(error, about: input.subject)
            }
        }
        let owners = opening.map {
            SlotOwners(of: file, among: $0.keys.namedIdentities, context: $0.context)
        }
        let header = CopyReport(file) {
            SlotReport($0, opened: opened, name: keyring.name(of: $0, in: [file.summary]), identity: owners?[$0])
        }
        report.header = header
        report.slots = header.slots
        var lines = ["\(input.subject.escaped):", "  a header file, visible to everyone, not authenticated:"]
        lines += header.lines
        if pin { lines = report.pin.map { [$0] } ?? [] }
        let status = try give(&report, lines, about: input.subject, failure, console)
        return Outcome(status: status, name: .inspected, bytes: UInt64(file.summary.capacity.bytes))
    }

    /// Writes a report, and says what failed.
    private func give(
        _ report: inout Report, _ lines: [String], about subject: Failure.Subject, _ failure: Failure?,
        _ console: Console
    ) throws -> ExitStatus {
        if let failure { report.fail(failure) }
        var given = ExitStatus.done
        if !summary || failure != nil {
            given = try console.give(
                report, lines: summary ? [] : lines, about: subject, done: failure == nil ? "was inspected" : nil)
        }
        if let failure { console.say(failure) }
        return failure?.status ?? given
    }
}

extension KnownHeader {
    /// The header file of an input, to show it: the one that the user has named.
    fileprivate func shown() throws -> HeaderFile? {
        guard let file else { return nil }
        return try Failure.Subject.path([UInt8](file.string.utf8)).attempt { try HeaderFile(FileSource(at: file)) }
    }
}
