internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// `vaultfile key`.
struct KeyVerbs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make and show keys.", subcommands: [Generate.self, Show.self])

    func run() throws {
        throw ValidationError("no command was given")
    }

    /// `vaultfile key generate`.
    struct Generate: Verb {
        static let configuration = CommandConfiguration(
            abstract: "Make a key and write it as a key file.",
            discussion: """
                The key file is a short text: comments, then one line that begins with VAULTFILE-KEY-1. Whoever has it \
                can open what is encrypted with it, and nobody else; without it nothing is left of that. An existing \
                file is never replaced. Without -o the key goes to standard output, which may be trusted only after \
                status 0, and to a terminal only with -o -.
                """)

        @Option(
            name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
            help: ArgumentHelp("Write the key to this new file, mode 0600; - is standard output.", valueName: "output"))
        var output: PathArgument?

        @Flag(help: "Do not wait until the file is durable.")
        var noSync = false

        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let rules = OutputRules(naming: .none, output: output ?? .dash, replaces: false)
            let destination = try destination(rules)
            console.standardOutputHoldsData = destination == .standardOutput
            let key = try SymmetricKey.generate()
            let created = SystemCalls.text(of: SystemCalls.now())
            do {
                let made = try Outputs().open(destination, replaces: false)
                try key.withKeyFile(created: created) { try made.descriptor.writeFully($0) }
                try made.finish(permissions: [.ownerRead, .ownerWrite], modified: nil, synchronize: !noSync)
            } catch {
                Signals.endIfClosedPipe(error)
                throw Failure(error, about: destination.subject)
            }
            var report = Report(.ok, verb: "key generate")
            report.name(output: destination.bytes)
            report.keyID = "\(key.id)"
            report.created = created
            return try console.give(
                report, lines: ["\(destination.subject.escaped): key \(key.id)"], about: destination.subject,
                done: "key \(key.id) was made")
        }

        private func destination(_ rules: OutputRules) throws(Failure) -> Destination {
            if let output, output.endsWithSlash {
                throw Failure(.cannotCreate, .path(output.bytes), "is a folder, and a key needs a name")
            }
            if output == nil, SystemCalls.isTerminal(.standardOutput) {
                throw Failure(
                    .usage, .standardOutput, "is a terminal, where a secret would stay to be seen",
                    hint: "-o FILE writes it to a file, -o - to the terminal all the same")
            }
            return try rules.destination()
        }
    }

    /// `vaultfile key show`.
    struct Show: Verb {
        static let configuration = CommandConfiguration(
            abstract: "Show the IDs of keys, never the keys.",
            discussion: """
                One line for each key: its ID, when it was made as far as its key file says so, and where it came \
                from. The ID is what `vaultfile inspect` shows of the containers that the key opens. Without a key, \
                the key file that VAULTFILE_KEY_FILE names is shown.
                """)

        @OptionGroup(title: "Keys") var keys: KeyFileOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            guard keys.standardInputUses.count <= 1 else {
                throw Failure(
                    .usage, .standardInput,
                    "serves one purpose, not \(keys.standardInputUses.joined(separator: " and "))")
            }
            let sources = KeySources(console: console)
            var loaded = try sources.read(keys)
            if keys.isEmpty {
                guard let key = try sources.standardKey() else {
                    throw Failure(
                        .noKey, .text("key show"), "no key was given",
                        hint: "give --key-file FILE or --key-command COMMAND, or set \(KeySources.variable)")
                }
                loaded = [key]
            }
            return .ofAll(
                try loaded.map { entry in
                    var report = Report(.ok, verb: "key show", about: entry.source)
                    report.keyID = "\(entry.key.id)"
                    report.created = entry.created
                    let line = "\(entry.key.id)  \(entry.created ?? "(time unknown)      ")  \(entry.source.escaped)"
                    return try console.give(report, lines: [line], about: entry.source, done: "was read")
                })
        }
    }
}
