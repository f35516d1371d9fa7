internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// `vaultfile edit`.
struct Edit: Verb {
    static let name = VerbName.edit
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Edit the contents of a container.",
        discussion: """
            Decrypts INPUT into a temporary file, runs the editor that VISUAL or EDITOR names, else vi, and encrypts \
            the changed text again. If the text is unchanged, nothing is written. The new container has a new file \
            key, and the name, mode, context, chunk size and compression of the old one. It replaces the old one when \
            it is complete, and only if no other program has changed the old one meanwhile.

            Each slot that a given key or passphrase opens stays. If other slots would be lost, they are listed before \
            the editor starts, and the status is 77, unless --remove names them or others. A slot for a retired key of \
            the keyring cannot be made again: rotate first changes it to the current key. Signatures are those of the \
            old contents: if INPUT has some, the status is 77 unless --drop-signatures leaves them out.

            The temporary file has mode 0600 and is in a folder of its own, below $XDG_RUNTIME_DIR or else /dev/shm. \
            This folder must be in memory: a disk may keep deleted bytes. --allow-disk also takes one on a disk. (The \
            system may still write memory to its swap space.) EDITORS KEEP COPIES ELSEWHERE: backup and undo files, \
            histories, clipboards. For vim, EDITOR='vim -n -i NONE' keeps the fewest.

            The temporary file is removed in the end, also if a signal ends the program. It stays only if it holds \
            work that is not in the container: if the editor failed after it wrote the file, if the new container \
            cannot be written, or if a signal came. A message then says where it is, and so does the next edit. If it \
            cannot be removed, a message says that too, and the status is 74.

            An editor that opens a window and returns at once must be told to wait, as in EDITOR='code --wait'.

            Writes one line: edited or unchanged, a tab, the name.

            \(KeyArgument.grammarOfSlots) \(KeyArgument.lines)
            """)

    static var help: String {
        """
        Usage: vaultfile edit [options] FILE

          vaultfile edit notes.txt.vault
          EDITOR='vim -n -i NONE' vaultfile edit notes.txt.vault
          vaultfile edit -p -k work --remove others notes.txt.vault

        Runs $VISUAL or $EDITOR on the contents, and encrypts them again under a new
        file key. The slots that open with what is given stay. If the new contents
        cannot be written, a message says where your text is.

        Slots:
          --add K, --remove K      make a slot for K, give up the slots of K
          --remove others          give up all slots that nothing given here opens
        \(HelpText.hiding)
        \(HelpText.k)
        \(HelpText.openingKeys)
        \(HelpText.expect)
        Output:
          --allow-disk             the temporary file may be on a disk
          --break-links            even if other names keep the old container
          --drop-signatures        leave out the signatures of the old contents
        """
    }

    @OptionGroup(title: "Slots") var change: KeyChangeOptions
    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption

    @Flag(help: "Put the temporary file into $XDG_RUNTIME_DIR or $TMPDIR even if that is on a disk.")
    var allowDisk = false

    @Flag(help: "Continue if INPUT has other names (hard links). Those names keep the old container.")
    var breakLinks = false

    @Flag(help: "Continue if INPUT has signatures, which the new container then lacks.")
    var dropSignatures = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container.", valueName: "input"))
    var operandLists: [OperandList]

    func execute(on console: Console) throws -> ExitStatus {
        try change.check()
        try keys.check()
        let operands = operandLists.flatMap(\.paths)
        guard operands.count == 1, let operand = operands.first else {
            throw Failure.usage("edit", "takes one input, not \(operands.count)")
        }
        guard !operand.isDash else {
            throw Failure(.usage, .standardInput, "cannot be changed in place", hint: .nameFile)
        }
        try keys.refuseSharedStandardInput(inputs: operands, others: change.standardInputUses)
        console.work(on: operand.subject)
        let keyring = try KeyringSession(keys.unlocking, console)
        let opening = try RunKeys(keys, keyring)
        let slots = try SlotChange(change, opening: opening, keyring)
        if change.anonymous { try slots.added.checkHidden() }
        let work = Opening(
            keys: opening, change: slots, context: try context.context(),
            threads: Vault.processorCount, console: console, header: try expect.known(for: operands))
        do {
            return try edit(
                operand,
                try Rewriting(
                    operand, work, mayBreakLinks: breakLinks, mayLoseSignatures: dropSignatures,
                    mayMix: change.allowClassical))
        } catch {
            return console.report(error, about: operand.subject, lines: ["failed\t\(operand.escaped)"])
        }
    }

    private func edit(_ operand: PathArgument, _ rewriting: Rewriting) throws -> ExitStatus {
        let (opening, console) = (rewriting.opening, rewriting.opening.console)
        _ = try operand.statAsInput()
        let input = try Input(operand)
        defer { input.close() }
        let reader = try opening.seekable(input)
        if let trouble = reader.opened.trouble {
            throw Failure(.damaged, operand.subject, trouble, hint: .of(reader.opened.health))
        }
        // Whatever could refuse the new contents is checked before the user begins to type.
        try operand.subject.attempt(system: .cannotCreate) { try OutputPlace(operand).checkWritable() }
        let pin = reader.opened.header.pin
        try rewriting.check()
        guard dropSignatures || !reader.opened.manifest.metadata.hasSignatures else {
            throw Failure(
                code: .consentNeeded, operand.subject, "new contents would cost it its signatures",
                hint: .dropSignatures)
        }

        let parent = try folder()
        for text in EditedText.leftBehind(in: parent.path) {
            console.announce(.path(text.bytes), "an earlier edit left its text here")
        }
        var (text, descriptor) = try parent.subject.attempt(system: .cannotCreate) {
            try EditedText.make(in: parent.path, named: Self.name(for: operand))
        }
        do {
            defer { try? descriptor.close() }
            try opening.write(nil, of: reader, from: input, to: descriptor)
        } catch {
            let isOfText = (error as? VaultError)?.code == .outputFailed
            var failure = Failure(error, about: isOfText ? .path(Array(text.file.bytes)) : operand.subject)
            if let left = text.remove() {
                failure.reason += "; plaintext could not be removed from \(Escaping.line(left.bytes))"
            }
            throw failure
        }
        let done: Reencryption?
        do {
            let start = ContinuousClock.now
            let failure = try text.edit(with: Editor.command)
            if let failure { throw Failure(.inputOutput, .text("edit"), failure, hint: .setEditor) }
            let edited = try Input(PathArgument(bytes: Array(text.file.bytes)))
            defer { edited.close() }
            guard edited.stat.type == .regular else {
                throw Failure(.usage, edited.subject, "is not a regular file")
            }
            guard edited.size != 0 || reader.length == 0 else { throw Failure(.usage, edited.subject, "is empty") }
            if try edited.holds(plaintextOf: reader) {
                if start.duration(to: .now) < .milliseconds(500), Platform.isTerminal(.standardInput) {
                    console.warn(.text("edit"), "the editor ended at once", hint: .editorWaits)
                }
                done = nil
            } else {
                done = try rewriting.rewrite(from: edited.descriptor, pin, modified: edited.stat.modified)
            }
        } catch {
            let system = error as? Errno
            var failure = Failure(error, about: system == nil ? operand.subject : .text("edit"))
            if let left = text.removeUnlessNew() {
                failure.reason += "; the container is unchanged, and the edited text is in \(Escaping.line(left.bytes))"
            }
            throw failure
        }
        let outcome = done == nil ? OutcomeName.unchanged : .edited
        if let left = text.remove() {
            throw Failure(
                .inputOutput, .path(Array(left.bytes)),
                "this plaintext could not be removed; the container is \(outcome.text)")
        }
        return try report(outcome, operand, console, done)
    }

    private func report(
        _ outcome: OutcomeName, _ operand: PathArgument, _ console: Console, _ done: Reencryption? = nil
    ) throws -> ExitStatus {
        var report = Report(.ok, about: operand.subject)
        report.outcome = outcome
        report.rotation = done.map(RotationReport.init)
        report.headerPin = done?.headerFile?.pin.text
        let header = done?.headerFilePath?.bytes
        if let header { report.name(headerFile: header) }
        let line = [outcome.text, operand.escaped, header.map { Escaping.line($0) }].compactMap(\.self)
        return try console.give(
            report, lines: [line.joined(separator: "\t")], about: operand.subject, done: "is \(outcome.text)")
    }

    /// The folder for the temporary file.
    private func folder() throws(Failure) -> PathArgument {
        let named = Platform.environment("XDG_RUNTIME_DIR").flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
        let folder = PathArgument(bytes: named ?? Array("/dev/shm".utf8))
        if EditedText.isInMemory(folder.path) { return folder }
        guard allowDisk else {
            throw Failure(
                .cannotCreate, folder.subject, "is not in memory: the plaintext would be written to a disk",
                hint: .allowDisk)
        }
        return PathArgument(bytes: named ?? Platform.environment("TMPDIR") ?? Array("/tmp".utf8))
    }

    /// The name that the editor sees: that of the container without `.vault`.
    private static func name(for operand: PathArgument) -> FilePath.Component {
        var name = operand.lastComponent
        let suffix = OutputRules.suffix
        if name.count > suffix.count, name.suffix(suffix.count) == suffix[...] { name.removeLast(suffix.count) }
        return FilePath(bytes: name).lastComponent ?? "text"
    }
}

/// The new container.
private struct Rewriting {
    let opening: Opening
    private let operand: PathArgument
    private var slots: SlotChange { opening.change }
    private let recipients: [Recipient]
    private var options = ReencryptionOptions()

    init(
        _ operand: PathArgument, _ opening: Opening, mayBreakLinks: Bool, mayLoseSignatures: Bool, mayMix: Bool
    ) throws {
        self.operand = operand
        recipients = try opening.change.recipients()
        self.opening = opening
        let keyring = opening.keys.keyring
        options.mayBreakLinks = mayBreakLinks
        options.mayLoseSignatures = mayLoseSignatures
        options.mayMixRecipients = mayMix
        // A slot is never made for a retired key (REENC-4).
        options.keepsSlot = { [nil, .current].contains(keyring.entryIfOpen($0.keyID)?.state) }
        options.onLoss = { slots in
            let list = slots.map { slot in
                let entry = keyring.entryIfOpen(slot.keyID)
                let name = entry.map { " (\($0.name)\($0.state == .current ? "" : ", \($0.state.name)"))" } ?? ""
                return slot.text + name
            }
            throw Failure(
                code: .consentNeeded, operand.subject, "slots would be lost: \(list.joined(separator: ", "))",
                hint: .editKeepsSlot)
        }
    }

    /// Makes all checks of `rewrite`. The container must have been opened: then a passphrase whose slot is removed was
    /// typed right.
    func check() throws {
        var options = try optionsWithRemovals()
        options.isDryRun = true
        try run { keys in
            try withHeaderFile(options) {
                try Vault.reencrypt(
                    at: operand.path, for: recipients, with: opening.credentials(keys, nil), options: $0)
            }
        }
    }

    /// Encrypts new contents, if the container has the header that it had before.
    func rewrite(from contents: FileDescriptor, _ pin: HeaderPin, modified: Timestamp?) throws -> Reencryption {
        var options = try optionsWithRemovals()
        options.requiring = pin
        options.modified = modified
        return try run { keys in
            try withHeaderFile(options) {
                try Vault.rewrite(
                    at: operand.path, from: contents, for: recipients, with: opening.credentials(keys, nil),
                    options: $0, jobs: opening.threads)
            }
        }
    }

    /// Calls `body` with the options that name the header file, if the container has one.
    private func withHeaderFile<R>(
        _ options: ReencryptionOptions, _ body: (ReencryptionOptions) throws -> R
    ) throws -> R {
        try opening.header.withHeaderFile(of: .path(operand.path)) { file in
            var options = options
            options.headerFile = file
            return try body(options)
        }
    }

    private func optionsWithRemovals() throws(Failure) -> ReencryptionOptions {
        var options = options
        options.dropping = try slots.removing()
        return options
    }

    @discardableResult
    private func run(_ body: (any KeyProvider) throws -> Reencryption) throws -> Reencryption {
        let place = operand.path
        let keys = ContainerKeys(opening.keys, changing: slots, on: operand.subject) {
            try? Inspection(FileSource(at: place))
        }
        defer { keys.end() }
        do {
            return try body(keys)
        } catch let error as VaultError where error.code == .wrongKey {
            throw keys.explain(error)
        }
    }
}
