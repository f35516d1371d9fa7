internal import ArgumentParser
internal import VaultFile
internal import VaultStore

extension StoreVerbs {
    /// `vaultfile store put`.
    struct Put: Verb {
        static let name = VerbName.storePut
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Store an item.",
            discussion: """
                Reads FILE, or standard input, and stores it under the name that --as gives, or else under the name \
                of FILE without its folders. A new item needs --class. An item of the same name is replaced, and keeps \
                its class; if --class names another class, nothing is changed and the status is 73. An item of the \
                class unless-open can be written without --unlock, and if it replaces another, --class has to be \
                given, because the class of what is there cannot be read. The item appears \
                when all of it is durable; if the run is interrupted, what was there stays.

                --if-absent stores only a new item, and --if only replaces a certain version: this is how two programs \
                do not overwrite each other's work.
                """)

        static var help: String {
            """
            Usage: vaultfile store put -S FOLDER --device-key K [options] [FILE]

              vaultfile store put -S vault --device-key file:dev.key --class always a.txt
              pass m | vaultfile store put -S v --device-key dev --class complete --as m
              vaultfile store put -S vault --device-key file:dev.key --as a.txt new.txt

            Stores FILE, or standard input, as an item. An item that is replaced keeps its
            class.

            Options:
              --class CLASS            always, after-first-unlock, unless-open, complete
              --as NAME                the item's name; without it, that of FILE
              --if-absent              only if there is no item of this name
              --if VERSION             only if the item has this version
            \(HelpText.accountStore)
            \(HelpText.storeUnlock)
            """
        }

        @Option(
            name: .customLong("class"), parsing: .unconditional,
            help: ArgumentHelp(
                """
                When it can be read: always, after-first-unlock, unless-open or complete. A new item needs it.
                """,
                valueName: "class"))
        var itemClass: ClassName?

        @Option(
            name: .customLong("as"), parsing: .unconditional,
            help: ArgumentHelp("Name the item this; a / separates components.", valueName: "name"))
        var itemName: BytesArgument?

        @Flag(help: "Store it only if there is no item of this name.")
        var ifAbsent = false

        @OptionGroup var version: VersionOption
        @OptionGroup(title: "Store") var store: StoreOptions
        @OptionGroup(title: "Store") var unlocking: StoreUnlockOption
        @OptionGroup(title: "Reporting") var common: CommonOptions

        @Argument(help: ArgumentHelp("What to store; - is standard input.", valueName: "file"))
        var file: PathArgument?

        private static let pieceLength = 512 << 10

        func execute(on console: Console) throws -> ExitStatus {
            if ifAbsent, version.version != nil { throw Failure.usage("--if-absent", "does not go with --if") }
            guard let operand = file ?? (Platform.isTerminal(.standardInput) ? nil : .dash) else {
                throw Failure.usage("FILE", "is missing", hint: .nameFile)
            }
            let name = try nameOfItem(operand)
            let uses = operand.isStandardInput ? [StandardInput.Use(text: "the data")] : []
            let session = try StoreSession(store, unlocking: unlocking.arguments(), others: uses, console)
            _ = try operand.statAsInput()
            let input = try Input(operand)
            defer { input.close() }
            let opened = try session.openForItems()
            let subject = try session.subject(of: name, in: opened)
            let item = try write(name, of: subject, in: opened, from: input, session)
            input.warnIfChanged(read: item.length, hint: .putAgain, console)
            let line = "\(item.escapedName): \(item.length.counted("byte")), \(ClassName(item.protection).rawValue)"
            return try console.give(session.report(item), lines: [line], about: subject, done: "was stored")
        }

        private func write(
            _ name: String, of subject: Failure.Subject, in opened: VaultStore, from input: Input,
            _ session: StoreSession
        ) throws(Failure) -> StoreItem {
            do throws(Failure) {
                return try session.attempt(about: subject) {
                    try opened.withWriter(
                        name, protection: itemClass?.protection, if: ifAbsent ? .absent : version.condition
                    ) { writer in
                        var buffer = [UInt8](repeating: 0, count: Self.pieceLength)
                        while true {
                            let count = try input.read(into: &buffer)
                            guard count > 0 else { return }
                            try writer.write(buffer.span.extracting(0..<count))
                        }
                    }
                }
            } catch {
                var failure = error
                if failure.storeError == .locked, itemClass == .afterFirstUnlock, failure.hint == nil {
                    failure.reason = "the class after-first-unlock is locked (\(StoreError.Code.locked.name))"
                }
                if failure.storeError == .itemExists, let itemClass {
                    failure.hint = .protectChanges(itemClass.rawValue, Escaping.line(Array(name.utf8)))
                }
                // The user has said what they want then.
                if ifAbsent, failure.storeError == .itemExists { failure.hint = .silent }
                throw failure
            }
        }

        private func nameOfItem(_ operand: PathArgument) throws(Failure) -> String {
            if let itemName { return try itemName.itemName("--as") }
            guard !operand.isStandardInput else {
                throw .usage("--as", "is missing: standard input has no name", hint: .nameItem)
            }
            guard let name = String(validating: operand.lastComponent, as: UTF8.self) else {
                throw Failure(.usage, operand.subject, "its name is not UTF-8", hint: .nameItem)
            }
            return name
        }
    }
}
