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

    private static let tarSuffix = OutputRules.tarSuffix + OutputRules.suffix

    /// Lists the members of the first operand at the paths that follow it.
    ///
    /// - Returns: Nil if the first operand is no container with an index, or if no key opens it and none was named.
    func list(_ operands: [PathArgument]) throws -> ExitStatus? {
        guard let first = operands.first, !first.isDash,
            !keys.isEmpty || first.lastComponent.suffix(Self.tarSuffix.count) == Self.tarSuffix[...],
            let stat = try? first.path.stat(), stat.type == .regular
        else { return nil }
        let input = try Input(first)
        defer { input.close() }
        guard try input.beginsWithMagic || input.endsWithMagic else { return nil }
        let reader: SeekableVaultReader
        let opening = try RunKeys(keys, keyring)
        do {
            reader = try Opening(keys: opening, context: context, threads: 1, console: console).seekable(input)
        } catch {
            let failure = Failure(error, about: first.subject)
            // A person who typed a passphrase wants the list.
            guard keys.isEmpty, opening.knownPassphrases.isEmpty, [.noKey, .noKeyFits].contains(failure.status)
            else { throw failure }
            console.warn(first.subject, "what is in it cannot be listed: \(failure.reason)", hint: failure.hint)
            return nil
        }
        guard reader.opened.manifest.hasTarIndexMember else { return nil }
        console.work(on: first.subject)
        if let trouble = reader.opened.trouble {
            console.warn(first.subject, trouble, hint: Hint.of(reader.opened.health))
        }
        return try list(try TarContainer.paths(operands.dropFirst()), of: TarContainer(reader, of: input, on: console))
    }

    private func list(_ paths: [TarPath], of container: TarContainer) throws -> ExitStatus {
        if !isLong, !byStream, !console.json, let index = container.index, index.stepExponent == 0 {
            return try list(paths, of: container, by: index)
        }
        let visit = try container.visit(paths, byStream: byStream) { entry in
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
        console.announce(container.subject, "this list is that of the index, which the container's maker wrote")
        var visit = TarContainer.Visit()
        var missing = Set(paths)
        try index.forEach { entry in
            let above = paths.filter { entry.path.isBelow(orEqualTo: $0) }
            missing.subtract(above)
            if paths.isEmpty || !above.isEmpty {
                try console.list(
                    Report(.ok, about: container.subject), line: Escaping.line(entry.path.bytes),
                    about: container.subject)
            }
            return true
        }
        visit.missing = paths.filter(missing.contains)
        return .ofAll([console.endList(), container.status(of: visit)])
    }
}
