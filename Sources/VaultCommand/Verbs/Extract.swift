internal import ArgumentParser
internal import Synchronization
internal import SystemPackage
internal import VaultArchive
internal import VaultFile

/// `vaultfile extract`.
struct Extract: Verb {
    static let name = VerbName.extract
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Take files out of the container of a folder.",
        discussion: """
            FILE is a container that encrypt has made of a folder, or of a tar stream. Its members are extracted into \
            the folder that -C names, else into the working folder: all of them, or those with a PATH and what is below \
            it. With an index, a PATH costs only the parts that it needs. ls shows the paths.

            The maker of the container may be a stranger. So nothing is written outside of the folder: a member whose \
            path is absolute or has a component .. is refused, no link is followed on the way to a member, and a \
            symbolic link that leads out of the folder is refused unless --all-links is given. Devices are made only \
            with --devices. A file that is there stays unless -f is given. A folder that is there keeps its mode and its \
            time, unless -f and --preserve are given. Modes lose what the process's mask takes away, and the bits for \
            set-user-ID, set-group-ID and sticky. Of the extended attributes only those of users are restored. \
            --preserve restores the whole modes, access control lists, all extended attributes, and as root the \
            owners; what cannot be restored then gives 73.

            Each file gets its name when it is whole and authenticated. A killed run leaves a folder \
            .vaultfile-extract-…, which the next one removes. After damage the members that are lost are named, as \
            far as the index has their names, the others are extracted, and the status is 65. A member that is refused \
            or exists gives 73.

            Without PATH, or with --scan, every header is read from the first one on. Otherwise the index says where \
            members are: a maker who lies in it can hide members, or pass off a part of one member as another.
            """)

    static var help: String {
        """
        Usage: vaultfile extract [options] FILE.tar.vault [PATH ...]

          vaultfile extract photos.tar.vault
          vaultfile extract -C restored photos.tar.vault photos/2024/beach.jpg
          vaultfile extract --preserve --scan -C / system.tar.vault

        Takes the files of a folder's container out of it: all, or those at each PATH
        and below it. Nothing is written outside of the folder.

        \(HelpText.openingKeys)
        \(HelpText.expect)
        Output:
          -C, --directory DIR      extract into this folder, which exists
          -f, --force              replace files that exist
          --preserve               whole modes, ACLs, attributes; as root also owners
          --all-links              also links that lead out of the folder
          --devices                also devices
          --no-sync                do not wait until the files are durable
          --scan                   go by the tar stream, not by its index
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption

    @Option(
        name: [.customShort("C"), .long], parsing: .unconditional,
        help: ArgumentHelp("Extract into this folder, which exists.", valueName: "dir"))
    var directory: PathArgument?

    @Flag(name: .shortAndLong, help: "Replace files that exist.")
    var force = false

    @Flag(help: "Restore whole modes, access control lists, all extended attributes, and as root owners.")
    var preserve = false

    @Flag(help: "Make symbolic links that lead out of the folder, too.")
    var allLinks = false

    @Flag(help: "Make devices, too.")
    var devices = false

    @Flag(help: "Do not wait until the files are durable.")
    var noSync = false

    @Flag(help: "Go by the tar stream from its beginning on, and not by the index.")
    var scan = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("The container, then the paths of members.", valueName: "input"))
    var operandLists: [OperandList] = []

    /// How many members were extracted, and how many were not.
    private struct Tally {
        var extracted: UInt64 = 0
        var failed: UInt64 = 0
        var lost: UInt64 = 0
        /// How many lack attributes that --preserve was to restore.
        var incomplete: UInt64 = 0
        var bytes: UInt64 = 0
        var status = ExitStatus.done

        var isEmpty: Bool { extracted == 0 && failed == 0 && lost == 0 }
    }

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let operands = operandLists.flatMap(\.paths)
        guard let operand = operands.first else { throw Failure.usage("INPUT", "is missing", hint: .nameFile) }
        let paths = try TarContainer.paths(operands.dropFirst(), in: operand.subject)
        try keys.refuseSharedStandardInput(inputs: [operand])
        console.work(on: operand.subject)
        _ = try operand.statAsInput()
        let input = try Input(operand)
        defer { input.close() }
        let target = directory ?? PathArgument(bytes: [UInt8(ascii: ".")])
        let folder = try target.subject.attempt(system: .cannotCreate) { try OpenFolder(at: target.path) }
        let opening = Opening(
            keys: try RunKeys(keys, KeyringSession(keys.unlocking, console)), context: try context.context(),
            threads: 1, console: console, header: try expect.known(for: [operand], ManyInputs(jobs: JobsOption())))
        let reader = try opening.seekableToWrite(input)
        _ = opening.result(reader.opened, input)
        let container = TarContainer(reader, of: input, goesByStream: scan, on: console)
        return try folder.withDescriptor { folder in
            try extract(paths, from: container, into: folder, target.subject, console)
        }
    }

    private func extract(
        _ paths: [TarPath], from container: TarContainer, into folder: FileDescriptor,
        _ target: Failure.Subject, _ console: Console
    ) throws -> ExitStatus {
        var options = Unpacker.Options()
        options.replaces = force
        options.preserves = preserve
        options.makesDevices = devices
        options.makesAllLinks = allLinks
        options.mask = Platform.creationMask
        options.isDurable = !noSync
        let unpacker = try target.attempt(system: .cannotCreate) {
            try Unpacker(into: folder, options) { [window = container.window] in try window.bytes(at: $0, count: $1) }
        }
        let workshops = unpacker.workshops
        Signals.undo.withLock { $0.workshops = workshops }
        defer { Signals.undo.withLock { $0.workshops = nil } }
        var tally = Tally()
        var progress = ProgressLine(
            container.subject, total: paths.isEmpty ? container.reader.length : nil, on: console)
        defer { progress.finish() }
        do {
            let visit = try container.visit(paths, passing: { unpacker.pass(gapAt: $0.start) }) { member in
                try extract(member, of: container, with: unpacker, &tally, console)
                progress.update(paths.isEmpty ? member.nextPlace * 512 : tally.bytes)
            }
            tally.lost += visit.lost
            tally.status = .ofAll([tally.status, container.status(of: visit)])
        } catch let full as FullDisk {
            // What is there is whole, and the user learns how much that is.
            fail(full.failure, &tally, console)
        } catch let error as NotTar where tally.isEmpty {
            throw container.failure(error)
        } catch {
            // How many members are behind it is not known.
            let failure = Failure(error, about: container.subject)
            console.say(failure)
            tally.status = tally.status.followed(by: failure.status)
        }
        unpacker.finish { path, trouble in
            warn(path.map { Failure.Subject.path($0.bytes) } ?? target, trouble, &tally, console)
        }
        if !noSync { try target.attempt { try unpacker.synchronize() } }
        return try give(tally, container, console)
    }

    private func extract(
        _ member: TarEntry, of container: TarContainer, with unpacker: Unpacker, _ tally: inout Tally,
        _ console: Console
    ) throws {
        let subject = Failure.Subject.path(TarContainer.name(of: member))
        do {
            let trouble = try unpacker.add(member) { try container.target(of: $0) }
            if let trouble { warn(subject, trouble, &tally, console) }
            tally.extracted += 1
            // The lengths come from the maker of the stream: those of a few sparse files can be more than 2⁶⁴ together.
            let (bytes, isTooLarge) = tally.bytes.addingReportingOverflow(member.kind == .file ? member.fileLength : 0)
            tally.bytes = isTooLarge ? .max : bytes
            console.note(subject, "extracted")
        } catch let refusal as Refusal {
            if case .system(let error) = refusal, Self.isFull(error) {
                throw FullDisk(failure: Failure(refusal, of: member, about: subject, in: container))
            }
            fail(Failure(refusal, of: member, about: subject, in: container), &tally, console)
        } catch let error as ArchiveError where error.isMalformed && container.isCut(member) {
            fail(TarContainer.isCutFailure(subject), &tally, console)
        } catch let error as ArchiveError {
            // What the headers or the map of the member say, or what the system refused.
            var failure = Failure(error, about: subject)
            if let system = error.systemError {
                failure.reason = system.words
                if Self.isFull(system) { throw FullDisk(failure: failure) }
            }
            fail(failure, &tally, console)
        } catch let error as VaultError where error.code == .tooLarge {
            fail(Failure(error, about: subject), &tally, console)
        } catch  where MemberWalk.isDamage(error) {
            if let path = member.path { container.report(lost: path, because: error) }
            tally.lost += 1
            tally.status = .damaged
        }
    }

    /// Tells what is missing of the attributes of a member.
    private func warn(_ subject: Failure.Subject, _ trouble: String, _ tally: inout Tally, _ console: Console) {
        console.warn(subject, Escaping.line(trouble))
        // Who restores a system must not take files without their owners and access control lists for those of the backup.
        guard preserve else { return }
        tally.incomplete += 1
        tally.status = tally.status.followed(by: .cannotCreate)
    }

    /// On a full disk no other member fits either.
    private struct FullDisk: Error {
        let failure: Failure
    }

    private static func isFull(_ error: Errno) -> Bool { [.noSpace, .diskQuotaExceeded].contains(error) }

    private func fail(_ failure: Failure, _ tally: inout Tally, _ console: Console) {
        console.say(failure)
        tally.failed += 1
        tally.status = tally.status.followed(by: failure.status)
    }

    private func give(_ tally: Tally, _ container: TarContainer, _ console: Console) throws -> ExitStatus {
        var report = Report(tally.status == .done ? .ok : .failed, about: container.subject)
        report.exit = tally.status.rawValue
        var outcomes = [OutcomeName.extracted.rawValue: tally.extracted]
        if tally.failed > 0 { outcomes[OutcomeName.failed.rawValue] = tally.failed }
        if tally.lost > 0 { outcomes[OutcomeName.lost.rawValue] = tally.lost }
        report.outcomes = outcomes
        report.bytes = tally.bytes
        if tally.status == .done {
            let place = directory.map { " -> \($0.escaped)" } ?? ""
            console.tell("\(container.subject.escaped): \(tally.extracted.counted("member")) extracted\(place)")
        } else if !tally.isEmpty {
            let incomplete = tally.incomplete > 0 ? "; of \(tally.incomplete) the attributes are not complete" : ""
            console.announce(
                container.subject,
                "\(tally.extracted) extracted, \(tally.failed) not extracted, \(tally.lost) known to be lost\(incomplete)"
            )
        }
        let given = try console.give(report, about: container.subject, done: "was extracted")
        return tally.status == .done ? given : tally.status
    }
}

extension Failure {
    /// The failure for a member that is not extracted.
    fileprivate init(
        _ refusal: Refusal, of member: TarEntry, about subject: Subject, in container: TarContainer
    ) {
        switch refusal {
        case .illegalPath:
            self.init(
                .cannotCreate, subject,
                "is no path that can be extracted: it is absolute, or has an empty component, . or ..",
                hint: .tarTakesOut(container.subject.escaped))
        case .reservedName:
            self.init(.cannotCreate, subject, "has a name that extract uses for its own work")
        case .linkTargetIllegal(let target):
            self.init(
                .cannotCreate, subject,
                "is a hard link to \(target.isEmpty ? "nothing" : Escaping.line(target)), which is no path of a member")
        case .exists: self.init(.cannotCreate, subject, "exists", hint: .forceReplaces)
        case .otherKind:
            let what =
                member.kind == .folder
                ? "is a folder in the container, and something else here"
                : "is a folder here, and something else in the container"
            self.init(.cannotCreate, subject, what, hint: .removeInTheWay)
        case .behindLink:
            self.init(
                .cannotCreate, subject, "a part of its path is here a link, or no folder", hint: .extractElsewhere)
        case .linkLeadsOut(let target):
            guard !target.isEmpty else {
                self.init(.cannotCreate, subject, "is a link to nothing")
                return
            }
            self.init(
                .cannotCreate, subject, "is a link to \(Escaping.line(target)), which may lead out of the folder",
                hint: .allLinksAreMade)
        case .linkWithoutTarget(let target):
            self.init(.cannotCreate, subject, "is a link to \(Escaping.line(target)), which was not extracted")
        case .device: self.init(.cannotCreate, subject, "is a device", hint: .devicesAreMade)
        case .unknownKind: self.init(.unsupported, subject, "is a member of an unknown kind")
        case .system(let error):
            self.init(ExitStatus.isOfName(error) ? .cannotCreate : .inputOutput, subject, error.words)
        }
    }
}
