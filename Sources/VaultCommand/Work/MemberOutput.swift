internal import SystemPackage
internal import VaultArchive
internal import VaultFile

/// Writes members of a folder's container to standard output, for cat.
struct MemberOutput {
    let opening: Opening
    /// The part of each member.
    let part: RangeOptions
    /// Whether a terminal shows it, so that it must be text.
    let isShown: Bool
    let console: Console

    /// Writes the members at these paths.
    ///
    /// If the container has no index, or does not open, the operands are taken for containers only if one of them is an
    /// input of its own. Otherwise the contents of the whole container would come out where a member was meant.
    ///
    /// - Returns: Nil if the operands are containers.
    func write(
        _ operands: ArraySlice<PathArgument>, of first: PathArgument, _ rules: OutputRules
    ) throws -> ExitStatus? {
        _ = try rules.destination(for: InputItem(operand: first), try first.statAsInput())
        let input = try Input(first)
        defer { input.close() }
        let areMembers = !operands.contains { $0.isInput(takingFolders: false) }
        let reader: SeekableVaultReader
        do {
            reader = try opening.seekableToWrite(input)
        } catch {
            // To look for files would hide the error.
            guard !areMembers else { throw error }
            return nil
        }
        guard areMembers || reader.opened.manifest.hasTarIndexMember else { return nil }
        console.work(on: first.subject)
        console.standardOutputHoldsData = true
        _ = opening.result(reader.opened, input)
        let container = TarContainer(reader, of: input, on: console)
        var status = ExitStatus.done
        for path in try TarContainer.paths(operands, in: first.subject) {
            let subject = Failure.Subject.path(path.bytes)
            do {
                let length = try write(try file(at: path, in: container), of: container, input)
                var report = Report(.ok, about: subject)
                report.length = length
                report.name(output: PathArgument.dash.bytes)
                status = status.followed(by: try console.give(report, about: subject, done: "was written"))
            } catch let error as NotTar {
                throw container.failure(error, lookingFor: path)
            } catch {
                status = status.followed(by: console.report(error, about: subject))
            }
        }
        return container.hasGaps ? status.followed(by: .damaged) : status
    }

    /// The member with the content: that which a hard link leads to.
    private func file(at path: TarPath, in container: TarContainer) throws -> TarEntry {
        let found = try container.find(path)
        let entry = try container.target(of: found) ?? found
        guard entry.kind != .file else { return entry }
        let what = entry.kind == .folder ? "is a folder" : entry.kind.isLink ? "is a link" : "is not a regular file"
        let target = entry.kind.isLink ? " to \(Escaping.line(entry.linkTarget))" : ""
        throw Failure(.usage, .path(path.bytes), what + target, hint: entry.kind.isLink ? .catLink : .listMembers)
    }

    private func write(_ entry: TarEntry, of container: TarContainer, _ input: Input) throws -> UInt64 {
        let reader = container.reader
        let subject = Failure.Subject.path(entry.path?.bytes ?? entry.name)
        let elsewhere = Hint.forceShowsMember(subject.escaped, of: container.subject.escaped)
        let range = part.range(of: entry.fileLength) ?? 0..<entry.fileLength
        guard range.upperBound <= entry.fileLength else {
            throw Failure(code: .rangeInvalid, subject, "has only \(entry.fileLength.counted("byte"))")
        }
        if entry.isSparse {
            if isShown { throw TextCheck.refusal(subject, hint: elsewhere) }
            try MemberContent.read(range, of: entry) {
                try container.window.bytes(at: $0, count: $1)
            } _: { bytes in
                try FileDescriptor.standardOutput.writeFully(bytes)
            }
        } else {
            let place = entry.contentOffset + range.lowerBound..<entry.contentOffset + range.upperBound
            // Checked before a byte is written: the headers can claim any length.
            guard place.upperBound <= reader.length else { throw TarContainer.isCutFailure(subject) }
            if isShown {
                try TextCheck.refuse(
                    unlessText: place, isPart: part.option != nil, of: reader, subject, hint: elsewhere)
            }
            try opening.write(place, of: reader, from: input, to: .standardOutput)
        }
        return UInt64(range.count)
    }
}
