internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultStore
internal import VaultSystem

extension StoreVerbs {
    /// `vaultfile store get`.
    struct Get: Verb {
        static let name = VerbName.storeGet
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Write an item to standard output or a file.",
            discussion: """
                A file appears under its name when it is complete, with mode 0600. A pipe gets authenticated bytes \
                before the end of the item is checked: TRUST SUCH OUTPUT ONLY AFTER STATUS 0. On a terminal an item \
                is shown only if it is text, unless --force is given.
                """)

        static var help: String {
            """
            Usage: vaultfile store get -S FOLDER --device-key K [options] NAME

              vaultfile store get -S vault --device-key file:dev.key a.txt
              vaultfile store get -S vault --device-key file:dev.key -o out.pdf scans/1.pdf
              vaultfile store get --device-key file:dev.key --unlock passphrase mail

            Writes an item to standard output, or to a file, which appears when it is
            complete. Trust what goes to a pipe only after status 0.

            Options:
              -o, --output FILE        write to this file; - is standard output
              -f, --force              replace a file that exists; show what is not text
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Option(
            name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
            help: ArgumentHelp("Write to this file; - is standard output.", valueName: "output"))
        var output: PathArgument?

        @Flag(name: .shortAndLong, help: "Replace an output that exists; show what is not text on a terminal.")
        var force = false

        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        @Argument(help: ArgumentHelp("The item's name.", valueName: "name"))
        var item: BytesArgument

        func execute(on console: Console) throws -> ExitStatus {
            let name = try item.itemName("NAME")
            if let output, output.endsWithSlash {
                throw Failure(.cannotCreate, .path(output.bytes), "is a folder; an item needs a file name")
            }
            let unlockers = try unlocking.arguments()
            let session = try StoreSession(store, unlocking: unlockers, console)
            let secrets = (unlockers + [try store.device()]).compactMap(\.path)
            let rules = OutputRules(
                naming: .none, output: output ?? .dash, replaces: force, secrets: try FileIdentity.all(of: secrets),
                keyHolders: force ? try .ofUser() : KeyHolders())
            let destination = try rules.destination()
            console.standardOutputHoldsData = destination == .standardOutput
            let isShown = output == nil && !force && Platform.isTerminal(.standardOutput)
            let opened = try session.openForItems()
            let subject = try session.subject(of: name, in: opened)
            let read = try session.attempt(about: subject) {
                try opened.withReader(name) { reader in
                    if isShown { try refuseUnlessText(reader, subject) }
                    let made = try Outputs().open(destination, replaces: force)
                    made.reportLeftovers(on: console)
                    try reader.readAll { piece in
                        // A failure of the output is not one of the item.
                        try destination.subject.attempt { try made.descriptor.writeFully(piece) }
                    }
                    try made.finish(permissions: .privateToOwner, modified: nil, synchronize: true)
                    return reader.item
                }
            }
            var report = session.report(read)
            report.name(output: destination.bytes)
            return try console.give(report, about: subject, done: "was written")
        }

        /// Refuses what is not text. Nothing has been shown yet.
        private func refuseUnlessText(_ reader: ItemReader, _ subject: Failure.Subject) throws {
            var check = TextCheck(isPart: false)
            var isText = true
            try reader.readAll { piece in
                isText = isText && check.take(piece.indices.map { piece[$0] })
            }
            guard isText, check.isComplete else {
                throw Failure(.usage, subject, "is not text, and standard output is a terminal", hint: .forceShowsItem)
            }
        }
    }
}
