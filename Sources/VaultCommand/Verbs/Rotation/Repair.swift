internal import ArgumentParser
internal import VaultFile

/// `vaultfile repair`.
struct Repair: Verb {
    static let name = VerbName.repair
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Repair the header copies and the ends of containers.",
        discussion: """
            Repairs a damaged header copy or a damaged end of the container from the intact copy, and finishes a \
            change of keys that was interrupted. Contents are not changed, and damage to them stays: recover saves the \
            parts that are intact. Only --keep undoes a change of keys.

            If the end is damaged, all of the container is read first, and bytes after its true end are cut off. More \
            than \(mayCut) bytes are cut off only with --yes, because they may be something else. Writes one line for \
            each INPUT: repaired, unchanged or failed, a tab, the name, and a third column which says that only \
            the headers and the end were looked at. verify checks the contents.
            """)

    static var help: String {
        """
        Usage: vaultfile repair [options] FILE ...

          vaultfile repair backup.vault
          vaultfile repair --recursive --json /backups
          vaultfile repair --keep front backup.vault

        Repairs header copies and the end of containers, and finishes a change of keys.
        Contents are not checked and not changed: see verify and recover.

        \(HelpText.openingKeys)
        \(HelpText.expect)
        Change:
          --keep front, --keep tail
                                   keep this header copy if the two contradict
          --yes                    cut off all bytes after the end
          --give-up-access         even if nothing given here opens it afterwards
          --break-links            even if other names keep the old container
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup var inPlace: InPlaceOptions

    @Option(
        name: .customLong("keep"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            Keep this header copy, front or tail, if the two contradict each other or no given key opens the newer \
            one. Slots that only the other copy has are lost.
            """, valueName: "copy"))
    var keep: KeptCopy?

    @Flag(help: "Cut off all bytes after a container's end, however many there are.")
    var yes = false

    @OptionGroup var consent: ChangeConsent

    var common: CommonOptions { inPlace.common }

    /// At most this many bytes after a container's end are cut off without --yes: a file system or a copy may add them.
    private static let mayCut: UInt64 = 4096

    /// The copy that `--keep` names.
    enum KeptCopy: String, ExpressibleByArgument, CaseIterable {
        case front, tail
    }

    func execute(on console: Console) throws -> ExitStatus {
        let operands = try inPlace.operands()
        var options = RotationOptions()
        options.keeping = keep.map { $0 == .front ? .front : .tail }
        options.mayLoseAccess = consent.giveUpAccess
        options.mayBreakLinks = inPlace.breakLinks
        let work = try InPlace(
            inPlace, opening: try RunKeys(inPlace.keys, KeyringSession(inPlace.keys.unlocking, console)), on: console)
        work.opening.prepare(operands, inPlace.many, work.credentials)
        return try Fleet(
            Self.name, operands, inPlace.many, takes: .containers,
            Fleet.Manner(saysFailures: true, countsBytes: false, resumption: .continues), on: console
        ).run {
            [options, yes] item in
            var options = options
            options.onWaiting = console.waitNote(about: item.subject)
            options.onExcess = { count in
                guard yes || count <= Self.mayCut else {
                    throw Failure(
                        code: .trailingData, item.subject,
                        "\(count) bytes follow its end and would be cut off", hint: .yesCutsOff)
                }
                let excess = count == 1 ? "1 byte follows its end and is" : "\(count) bytes follow its end and are"
                console.warn(item.subject, "\(excess) cut off")
            }
            return try work.run(item, options) { keys, options in
                let done = try work.withHeaderFile(of: item) {
                    try Vault.repair(at: $0, with: work.credentials(keys, $1), options: options)
                }
                let isChanged = done.isRepaired || done.isNewHeader
                return try work.report(
                    isChanged ? .repaired : .unchanged, item, health: done.found == .intact ? nil : done.found,
                    RotationReport(done), extent: "headersAndEnds",
                    column: "headers and ends only; verify checks the contents")
            }
        }
    }
}
