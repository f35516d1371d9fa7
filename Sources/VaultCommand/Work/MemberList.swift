internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The list of members of a folder's container, for ls.
struct MemberList {
    let keys: KeyOptions
    let context: Context
    let isLong: Bool
    let byStream: Bool
    let keyring: KeyringSession
    let console: Console

    /// Lists the members of the first operand at the paths that follow it.
    ///
    /// What follows can only mean members if nothing of it is a container on the disk, or a folder with containers. Then an error about
    /// the first operand ends the run, as for cat and extract.
    ///
    /// - Returns: Nil if containers are to be listed: the first operand is none, has no index, or does not open, and
    ///   nothing says that its members are meant.
    func list(_ operands: [PathArgument]) throws -> ExitStatus? {
        guard let first = operands.first, !first.isDash, let stat = try? first.path.stat(), stat.type == .regular
        else { return nil }
        let rest = operands.dropFirst()
        let areMembers = !rest.isEmpty && !rest.contains { $0.isInput(takingFolders: true) }
        // Without a name that says so, a container that does not open is listed as what it is, which needs no key.
        let isMeant = byStream || first.isNamedAsFolder || !keys.isEmpty
        guard isMeant || areMembers else { return nil }
        let input = try Input(first)
        defer { input.close() }
        guard try input.beginsWithMagic || input.endsWithMagic else { return nil }
        let others = rest.isEmpty ? "" : "; what follows it is listed as containers and folders"
        let reader: SeekableVaultReader
        let opening = try RunKeys(keys, keyring)
        do {
            reader = try Opening(keys: opening, context: context, threads: 1, console: console).seekable(input)
        } catch {
            let failure = Failure(error, about: first.subject)
            // A person who typed a passphrase wants the list.
            guard keys.isEmpty, opening.knownPassphrases.isEmpty, !byStream, !areMembers || !isMeant,
                [.noKey, .noKeyFits].contains(failure.status)
            else { throw failure }
            console.warn(
                first.subject, "what is in it cannot be listed: \(failure.reason)\(others)", hint: failure.hint)
            return nil
        }
        guard reader.opened.manifest.hasTarIndexMember || areMembers || byStream else {
            if first.isNamedAsFolder {
                console.warn(first.subject, "it has no index of its members\(others)", hint: .scanLists)
            }
            return nil
        }
        console.work(on: first.subject)
        if let trouble = reader.opened.trouble {
            console.warn(first.subject, trouble, hint: Hint.of(reader.opened.health))
        }
        let paths = try TarContainer.paths(rest, in: first.subject)
        let container = TarContainer(reader, of: input, goesByStream: byStream, on: console)
        do {
            return try list(paths, of: container)
        } catch let error as NotTar {
            throw container.failure(error, lookingFor: isMeant ? nil : paths.first)
        }
    }

    private func list(_ paths: [TarPath], of container: TarContainer) throws -> ExitStatus {
        if !isLong, !byStream, !console.json, let index = container.index, index.stepExponent == 0 {
            return try list(paths, of: container, by: index)
        }
        let visit = try container.visit(paths) { entry in
            try console.list(
                Self.report(entry, of: container),
                line: isLong ? entry.line : Escaping.line(entry.path?.bytes ?? entry.name), about: container.subject)
        }
        return .ofAll([console.endList(), container.status(of: visit)])
    }

    private static func report(_ entry: TarEntry, of container: TarContainer) -> Report {
        var report = Report(.ok, about: container.subject)
        report.member = MemberReport(entry)
        return report
    }

    /// Lists the paths that the index has. All members are in it but those without a legal path.
    private func list(_ paths: [TarPath], of container: TarContainer, by index: TarIndex) throws -> ExitStatus {
        var visit = TarContainer.Visit()
        var isAnnounced = false
        var missing = Set(paths)
        try index.forEach { entry in
            let above = paths.filter { entry.path.isBelow(orEqualTo: $0) }
            missing.subtract(above)
            if paths.isEmpty || !above.isEmpty {
                // Nothing is said of an empty list: an error follows.
                if !exchange(&isAnnounced, with: true) {
                    console.announce(
                        container.subject,
                        "these paths are from the index, as the container's maker wrote it; --scan reads the contents")
                }
                try console.list(
                    Report(.ok, about: container.subject), line: Escaping.line(entry.path.bytes),
                    about: container.subject)
            }
            return true
        }
        visit.missing = paths.filter(missing.contains)
        let status = console.endList()
        let others = index.pathlessCount
        if others > 0 {
            let are = others == 1 ? "is not in the list: its path is" : "are not in the list: their paths are"
            console.warn(
                container.subject, "\(others.counted("member")) \(are) absolute, or cannot be extracted",
                hint: .scanLists)
        }
        return .ofAll([status, container.status(of: visit)])
    }
}
