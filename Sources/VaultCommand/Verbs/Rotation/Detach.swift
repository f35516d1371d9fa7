internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The options of detach and attach.
struct DetachingOptions: ParsableArguments {
    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption

    @Flag(
        help: """
            Continue if a new file has to replace one that has other names (hard links). Those names keep the old \
            container with its slots.
            """)
    var breakLinks = false

    @Flag(help: "Change nothing; only say what would be done.")
    var dryRun = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container, changed where it is.", valueName: "file"))
    var operand: PathArgument

    /// What the verb works with, and the options of the library.
    func work(on console: Console) throws -> (work: InPlace, options: RotationOptions) {
        try keys.check()
        guard !operand.isDash else {
            throw Failure(.usage, .standardInput, "cannot be changed in place", hint: .nameFile)
        }
        try keys.refuseSharedStandardInput(inputs: [operand])
        var known = try expect.knownHeaderPlace(for: operand)
        known.file = nil
        let work = InPlace(
            opening: try RunKeys(keys, KeyringSession(keys.unlocking, console)), change: .none,
            context: try context.context(), header: known, isDryRun: dryRun, console: console)
        var options = RotationOptions()
        options.mayBreakLinks = breakLinks
        options.isDryRun = dryRun
        options.onWaiting = console.waitNote(about: operand.subject)
        console.work(on: operand.subject)
        return (work, options)
    }
}

/// `vaultfile detach`.
struct Detach: Verb {
    static let name = VerbName.detach
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Move the slots of a container to a header file.",
        discussion: """
            Afterwards nothing opens the container without the header file, and its keys are changed there: by a write \
            of a few KiB, also where the container itself is in a storage that cannot be changed in place. A copy of the \
            header file, with a rotation of its own, opens the same container for other people.

            A LOST HEADER FILE IS A LOST CONTAINER: keep copies of it. To destroy all of them, with their older \
            versions, erases the contents for everyone who has not opened the container before. An OLD header file opens \
            the container with the keys of its time, and a person who can write the file can put an old one back: \
            --expect-header refuses it. A FOREIGN one, of another container, is refused (copiesDisagree), and one that \
            was made without the file key too (headerForged).

            Without --header, the file gets the name FILE.COMMITMENT.hdr beside FILE, where every verb finds it. \
            COMMITMENT is the first 16 digits of the container's, which inspect shows. A header file of this container \
            that is there is replaced; any other file there is refused.

            The header file is durable before FILE loses its slots. After an interruption, run it again to finish. If \
            the two header copies of FILE contradict each other, choose one first with repair --keep. \
            Writes one line: detached or unchanged, a tab, the name, a tab, the header file.
            """)

    static var help: String {
        """
        Usage: vaultfile detach [options] FILE

          vaultfile detach backup.vault              to backup.vault.COMMITMENT.hdr
          vaultfile detach --header /media/key/backup.hdr backup.vault
          vaultfile detach --dry-run backup.vault    says where it would go

        Moves what opens a container to a header file. A LOST HEADER FILE IS A LOST
        CONTAINER: keep copies. An old one opens with the keys of its time, unless
        --expect-header refuses it. That of another container is refused.

          --header FILE            where the header file goes
          --header-capacity SIZE   its size, a power of two from 512 to 1M
          --force                  replace a header file that has more slots
          --break-links            even if other names keep the container with its slots
          --dry-run                change nothing, only say what would be done
        \(HelpText.openingKeys)
        \(HelpText.expect)
        """
    }

    @Option(
        name: .customLong("header-capacity"), parsing: .unconditional,
        help: ArgumentHelp(
            "Make the header file this long, a power of two from 512 to 1M. By default it has room for one more slot.",
            valueName: "size"))
    var capacity: ByteCount?

    @Flag(
        name: .shortAndLong,
        help: "Replace a header file of this container even if it has slots that the container does not have.")
    var force = false

    @OptionGroup var options: DetachingOptions

    var common: CommonOptions { options.common }

    func execute(on console: Console) throws -> ExitStatus {
        var size: HeaderCapacity?
        if let capacity {
            size = HeaderCapacity(bytes: Int(capacity.value))
            guard size != nil else {
                throw Failure.usage("--header-capacity", "must be a power of two from 512 to 1M")
            }
        }
        let (work, rotation) = try options.work(on: console)
        let operand = options.operand
        let header = options.expect.header?.path
        do {
            return try work.run(InputItem(operand: operand), rotation) { keys, rotation in
                let done = try Vault.detach(
                    at: operand.path, to: header, with: work.credentials(keys), capacity: size, mayLoseSlots: force,
                    options: rotation)
                let isNew = done.rotation.isNewHeader
                return try work.report(
                    isNew ? .detached : .unchanged, InputItem(operand: operand), health: done.rotation.found,
                    RotationReport(done.rotation), headerFile: done.headerFile.bytes, headerPin: done.header?.pin,
                    column: Escaping.line(done.headerFile.bytes))
            }.status
        } catch {
            return console.report(error, about: operand.subject, lines: ["failed\t\(operand.escaped)"])
        }
    }
}

/// `vaultfile attach`.
struct Attach: Verb {
    static let name = VerbName.attach
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Move the slots of a header file back to its container.",
        discussion: """
            FILE gets the slots of the header file, whatever slots it has, and opens by itself again. Then the header \
            file is removed. Other header files of the container, and copies of this one, are refused from then on: \
            the container has its own slots.

            Without --header, the file FILE.COMMITMENT.hdr beside FILE is used. That of another container is refused \
            (copiesDisagree). If FILE has its own slots already, after an interruption, the file is removed only if all \
            of its slots are in FILE; else it stays (notDetached).

            The header file is removed only when FILE is durable. After an interruption, run it again to finish. If \
            the two header copies of FILE contradict each other, choose one first with repair --keep. \
            Writes one line: attached or unchanged, a tab, the name.
            """)

    static var help: String {
        """
        Usage: vaultfile attach [options] FILE

          vaultfile attach backup.vault              from backup.vault.COMMITMENT.hdr
          vaultfile attach --header /media/key/backup.hdr backup.vault
          vaultfile attach --dry-run backup.vault

        Moves the slots of a header file back to its container, and removes the file.

          --header FILE            the header file
          --break-links            even if other names keep the detached container
          --dry-run                change nothing, only say what would be done
        \(HelpText.openingKeys)
        \(HelpText.expect)
        """
    }

    @OptionGroup var options: DetachingOptions

    var common: CommonOptions { options.common }

    func execute(on console: Console) throws -> ExitStatus {
        let (work, rotation) = try options.work(on: console)
        let operand = options.operand
        do {
            _ = try operand.statAsInput()
            let header = try header(for: operand)
            return try work.run(InputItem(operand: operand), rotation) { keys, rotation in
                let done = try Vault.attach(
                    at: operand.path, from: header, with: work.credentials(keys), options: rotation)
                return try work.report(
                    done.isNewHeader ? .attached : .unchanged, InputItem(operand: operand), health: done.found,
                    RotationReport(done), headerFile: header.bytes)
            }.status
        } catch {
            return console.report(error, about: operand.subject, lines: ["failed\t\(operand.escaped)"])
        }
    }

    /// The header file that the user has named, or that the name of the container leads to.
    private func header(for operand: PathArgument) throws -> FilePath {
        if let header = options.expect.header {
            _ = try header.statAsInput()
            return header.path
        }
        let seen = try operand.subject.attempt(system: .noInput) { try Inspection(FileSource(at: operand.path)) }
        guard let commitment = seen.headers.first?.commitment else {
            throw Failure(code: .headerDamaged, operand.subject, "no header copy can be read", hint: .nameHeaderFile)
        }
        let path = try operand.subject.attempt {
            try Vault.headerFilePath(of: operand.path, commitment: commitment)
        }
        guard (try? path.stat()) != nil else {
            throw Failure(
                .noInput, operand.subject,
                "the header file \(Escaping.line([UInt8](path.string.utf8))) is not there", hint: .nameHeaderFile)
        }
        return path
    }
}
