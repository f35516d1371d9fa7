internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// `vaultfile recover`.
struct Recover: Verb {
    static let name = VerbName.recover
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Recover the intact parts of a damaged container.",
        discussion: """
            For a container that decrypt refuses. It needs one intact header copy and a key that opens it; of a detached \
            container, its header file, which --header names. The copy is looked for at the beginning of INPUT, in its place before the end, and at every multiple of its own \
            size or of 4096 bytes. Records are looked for only in their places: if bytes were inserted or removed, \
            nothing after that point is found. OUTPUT gets every intact record in its place, and zeros in place of the \
            others; each lost range is named. OUTPUT IS KEPT, AND THE STATUS IS 65; it is 0 only if \
            nothing was lost. If the end of the container is gone, the length of the plaintext is unknown: a message \
            says so, and the status is 65 too. A pipe or a device gets its output before the status is known: IT IS \
            COMPLETE ONLY IF THE STATUS IS 0.

            Every byte except the zeros was put there by a holder of the key. If INPUT holds headers of several \
            containers, --header-at chooses one. INPUT is a regular file or a disk, and is not changed. If a disk is \
            failing, save an image of it first. A SHA-256 in the container is not compared.

            Without a key, the key file that VAULTFILE_KEY_FILE names is tried, else the keys of the keyring, and then \
            a passphrase is asked for.
            """)

    static var help: String {
        """
        Usage: vaultfile recover [options] -o OUTPUT FILE

          vaultfile recover -o what-is-left broken.vault
          vaultfile recover --key-file key.txt -o disk.img /dev/sdb
          vaultfile recover --header-at 4096 -o second two-containers.bin

        Saves the intact parts of a container that decrypt refuses, with zeros in place
        of lost bytes. OUTPUT IS KEPT, AND THE STATUS IS 65; 0 only if nothing is lost.

        \(HelpText.openingKeys)
        Output:
        \(HelpText.output)
          --sparse                 make holes of zeros, those of lost bytes too
          --header-at OFFSET       use the header copy at this byte of FILE
        \(HelpText.expect)
        \(HelpText.jobs)
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup(title: "Output") var output: DestinationOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption

    @Option(
        name: .customLong("header-at"), parsing: .unconditional,
        help: ArgumentHelp("Use the header copy at this byte of the input, and no other.", valueName: "offset"))
    var headerAt: ByteCount?

    @Flag(help: DestinationOptions.sparseHelp)
    var sparse = false

    @OptionGroup var jobs: JobsOption
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("The damaged container.", valueName: "input"))
    var operand: PathArgument

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        guard output.output != nil else {
            throw Failure.usage("recover", "needs to know where the output goes", hint: .nameOutput)
        }
        try jobs.check()
        try keys.refuseSharedStandardInput(inputs: [operand])
        let context = try context.context()
        let known = try expect.known(for: [operand])
        console.work(on: operand.subject)
        do {
            return try recover(operand, context, known, console)
        } catch {
            return console.report(error, about: operand.subject)
        }
    }

    private func recover(
        _ operand: PathArgument, _ context: Context, _ known: KnownHeader, _ console: Console
    ) throws -> ExitStatus {
        let stat = try operand.statAsInput()
        try refuseUnseekable(operand, stat)
        let rules = OutputRules(
            naming: .removing, output: output.output, replaces: output.force,
            inputs: try FileIdentity.all(of: [operand]), secrets: try keys.secretFiles(),
            keyHolders: output.force ? try .ofUser() : KeyHolders())
        let destination = try rules.destination(for: InputItem(operand: operand), stat)
        console.standardOutputHoldsData = destination == .standardOutput
        let input = try Input(operand)
        defer { input.close() }
        let opening = Opening(
            keys: try RunKeys(keys, KeyringSession(keys.unlocking, console)), context: context,
            threads: jobs.threads, console: console, header: known)
        let recovery = try find(input, opening)
        let conversion = Conversion(
            outcome: .recovered, options: output, outputs: Outputs(keeping: rules.inputs.union(rules.secrets)),
            console: console)
        return try conversion.make(destination, from: input) { input, descriptor in
            try recover(recovery, input, to: descriptor, console)
        }.status
    }

    private func refuseUnseekable(_ input: PathArgument, _ stat: Stat) throws(Failure) {
        guard !stat.isStorage else { return }
        throw Failure(.usage, input.subject, "is neither a regular file nor a disk", hint: .saveDisk)
    }

    /// Looks for a header copy that a key opens. No output is made before one is found.
    private func find(_ input: Input, _ opening: Opening) throws -> Recovery {
        guard input.canSeek || input.stat.type == .blockSpecial else {
            throw Failure(.usage, input.subject, "is not at its beginning", hint: .nameInput)
        }
        var options = RecoveryOptions()
        options.headerOffset = headerAt?.value
        var progress = ProgressLine(input.subject, total: input.size, on: opening.console)
        defer { progress.finish() }
        let recovery: Recovery
        do {
            recovery = try opening.withKeys(for: input) { keys in
                try opening.withCredentials(keys, for: input) {
                    try Recovery(input.source(opening.console), with: $0, options: options) { progress.update($0) }
                }
            }
        } catch let error as VaultError where error.code == .headerDamaged {
            guard let offset = headerAt?.value else { throw error }
            var failure = Failure(error, about: input.subject)
            failure.reason = "there is no header copy that this version can read at byte \(offset) (\(error.code.name))"
            failure.hint = .headerMultiples
            throw failure
        }
        if recovery.isSearchCut {
            opening.console.warn(
                input.subject, "it holds so many header copies that not all of them were examined",
                hint: .headerNames)
        }
        guard recovery.headers.count > 1 else { return recovery }
        let offsets = recovery.headers.compactMap(\.offset)
        var failure = Failure(
            code: .copiesDisagree, input.subject,
            "holds headers of \(offsets.count) containers that a key opens, at the bytes "
                + offsets.map { String($0) }.joined(separator: ", "),
            hint: .headerChooses)
        failure.headerOffsets = offsets
        throw failure
    }

    private func recover(
        _ recovery: Recovery, _ input: Input, to output: FileDescriptor, _ console: Console
    ) throws -> Conversion.Result {
        var progress = ProgressLine(input.subject, total: recovery.fileLength, on: console)
        defer { progress.finish() }
        var first: Failure?
        let recovered = try recovery.decrypt(jobs: jobs.threads, to: output, sparse: sparse) { damage in
            let failure = Failure(damage, about: input.subject)
            // Reported at once: there may be more damage than memory can hold, and an interruption must not lose the
            // report.
            console.say(failure)
            if first == nil { first = failure }
        } onProgress: {
            progress.update($0)
        }
        let used = recovered.header.offset.map { "the header copy at byte \($0)" } ?? "the header file"
        console.note(input.subject, "\(used) was used")
        let metadata = recovered.manifest?.metadata
        return Conversion.Result(
            permissions: metadata?.permissions.map { FilePermissions(rawValue: CInterop.Mode($0)) }
                ?? .privateToOwner,
            modified: metadata?.modified, length: recovered.length,
            shortfall: Self.shortfall(recovered, first, input.operand), recovery: RecoveryReport(recovered))
    }

    /// Reports in one message at the end what the output lacks.
    private static func shortfall(
        _ recovered: Recovered, _ first: Failure?, _ input: PathArgument
    ) -> Failure? {
        let subject = input.subject
        let (length, lost) = (recovered.length, recovered.lostLength)
        let isTar = recovered.manifest?.hasTarIndexMember ?? input.isNamedAsFolder
        var failure: Failure
        if recovered.manifest == nil {
            failure = Failure(
                .damaged, subject,
                "its end is lost: after the \(length) bytes that were recovered there may have been more; the length "
                    + "is not authenticated",
                hint: lost > 0 ? .alsoLost(lost) : isTar ? .tarOfOutput : nil)
            failure.error = first?.error ?? .truncated
        } else if let first {
            failure = Failure(
                .damaged, subject, "\(lost) of \(length) bytes are lost, and are zeros in the output",
                hint: isTar ? .tarOfOutput : nil)
            failure.error = first.error
            failure.offset = first.offset
        } else {
            return nil
        }
        return failure
    }
}

extension RecoveryReport {
    init(_ recovered: Recovered) {
        self.init(
            headerOffset: recovered.header.offset, headerFile: recovered.header.offset == nil ? true : nil,
            lengthAuthenticated: recovered.manifest != nil,
            lostLength: recovered.lostLength)
    }
}
