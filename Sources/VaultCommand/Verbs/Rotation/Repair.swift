internal import ArgumentParser
internal import VaultFile

/// `vaultfile repair`.
struct Repair: Verb {
    static let name = VerbName.repair
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Make both header copies of containers whole again, and their ends.",
        discussion: """
            Mends what verify reports of a header copy or of the container's end, from the copy that is whole; \
            finishes a change of keys that was interrupted. Contents are not changed, and what is damaged of them \
            stays so: recover gets the rest out. A change of keys is undone only by --keep.

            Where the end is damaged, all of the container is read first, and what stands behind its true end is cut \
            off: of more than \(mayCut) bytes only with --yes, since it may be something else. For each INPUT there is \
            one line: repaired, intact or failed, a tab, the name.
            """)

    @OptionGroup var inPlace: InPlaceOptions

    @Option(
        name: .customLong("keep"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            Keep this header copy, where the two contradict each other or no key given opens the newer one: front or \
            tail. What only the other one has is lost.
            """, valueName: "copy"))
    var keep: KeptCopy?

    @Flag(help: "Cut off what stands behind a container's end, however much it is.")
    var yes = false

    @OptionGroup var consent: ChangeConsent

    var common: CommonOptions { inPlace.common }

    /// So much behind a container's end is what a file system or a copy adds, and nobody is asked for it.
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
        return try Fleet(Self.name, operands, inPlace.many, takes: .containers, saysFailures: true, on: console).run {
            [options, yes] item in
            var options = options
            options.onExcess = { count in
                guard yes || count <= Self.mayCut else {
                    throw Failure(
                        code: .trailingData, item.subject,
                        "\(count) bytes are behind its end and would be cut off", hint: Hint.yesCutsOff)
                }
                console.warn(item.subject, "\(count) bytes are behind its end, and are cut off")
            }
            return try work.run(item, options) { keys, options in
                let done = try item.withPlace {
                    try Vault.repair(at: $0, with: Credentials(keys, context: work.context), options: options)
                }
                return try work.report(
                    done.isRepaired || done.isNewHeader ? .repaired : .intact, item, health: done.found,
                    RotationReport(done))
            }
        }
    }
}
