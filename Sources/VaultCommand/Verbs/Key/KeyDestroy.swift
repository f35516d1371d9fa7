internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key destroy`.
    struct Destroy: Verb {
        static let configuration = CommandConfiguration.verb(
            "destroy",
            abstract: "Destroy keys of the keyring, and with them all that only they open.",
            discussion: """
                THERE IS NO WAY BACK: what has no slot for another key or passphrase is lost, wherever copies of it \
                are. --scan FOLDER says first how many of the containers below it still have a slot for the key, and \
                in how many of them no other key or passphrase has one; slots of types that this program does not \
                know do not count as a way in. Asks on the terminal, or takes --yes. --all destroys every key in one \
                step: the emergency wipe.

                The key's ID, name and day stay, so that an old container still says which key it would need. The \
                keyring's old file is overwritten with zeros, and that is worth little on an SSD or on a file system \
                that writes elsewhere. So the key in the .key file is exchanged too, and what is left of older \
                keyrings opens with an old .key file alone. THAT NEEDS ALL that unlocks the keyring, and is done only \
                where that is one passphrase or key; else a warning says so, and vaultfile key passphrase --renew does \
                it. Nothing of that reaches a BACKUP of both files, a key file that was exported, or a container that \
                somebody has opened: destroy those too.
                """)

        @Argument(help: ArgumentHelp("A key's name or ID.", valueName: "name-or-id"))
        var operandLists: [OperandList] = []

        @Flag(help: "Destroy all keys of the keyring.")
        var all = false

        @Option(
            name: .customLong("scan"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp(
                "Say first how many of the containers below this folder have a slot for the key.", valueName: "folder"))
        var scan: [PathArgument] = []

        @Flag(help: "Do not ask.")
        var yes = false

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let arguments = operandLists.flatMap(\.keys)
            guard all != !arguments.isEmpty else {
                throw Failure.usage("key destroy", "takes the names or IDs of keys, or --all")
            }
            let access = KeySources(console: console).keyring(unlocking)
            let keyring = try access.open()
            let doomed = try select(arguments, keyring.entries) { keyring.entry($0) }
            let scanned = try scanned(doomed, on: console)
            if yes {
                // Before it is done, so that whoever sees it may still end it, and in the log of who does not.
                for entry in doomed { scanned?.warning(of: entry.id).map { console.warn(entry.subject, $0) } }
            } else {
                try confirm(doomed, scanned, on: console)
            }
            let destroyed = try access.change { change in
                // What has come to be there since it was asked for is not what was meant, but for --all.
                let entries = try all ? select([], change.entries) { _ in nil } : doomed
                for entry in entries { try change.destroy(entry.id) }
                let ids = Set(entries.map(\.id))
                return change.entries.filter { ids.contains($0.id) }
            }
            return .ofAll(
                try destroyed.map { entry in
                    var report = Report(entry, verb: "key destroy")
                    report.scanned = scanned?.reports[entry.id]
                    let lines = Self.lines(entry, report.scanned, "is destroyed")
                    return try console.give(report, lines: lines, about: entry.subject, done: "is destroyed")
                })
        }

        private static func lines(_ entry: KeyringEntry, _ report: ScanReport?, _ state: String) -> [String] {
            ["\(entry.name): key \(entry.id) \(state)"] + (report.map { ["\(entry.name): \($0.text)"] } ?? [])
        }

        private func scanned(_ doomed: [KeyringEntry], on console: Console) throws -> KeyScan? {
            guard !scan.isEmpty else { return nil }
            var found = KeyScan(for: doomed.map(\.id))
            try found.add(scan, on: console)
            return found
        }

        private func select(
            _ arguments: [KeyArgument], _ entries: [KeyringEntry], _ find: (String) -> KeyringEntry?
        ) throws(Failure) -> [KeyringEntry] {
            guard !all else { return entries.filter { $0.state != .destroyed } }
            var chosen: [KeyringEntry] = []
            for argument in arguments {
                let entry = try argument.entry(find)
                if !chosen.contains(entry) { chosen.append(entry) }
            }
            return chosen
        }

        private func confirm(_ doomed: [KeyringEntry], _ scanned: KeyScan?, on console: Console) throws {
            guard let terminal = Terminal() else {
                throw Failure(
                    .noKey, .text("key destroy"), "there is no terminal to ask on", hint: "--yes does it without asking"
                )
            }
            defer { terminal.close() }
            for entry in doomed {
                try terminal.say("\(entry.name): key \(entry.id) is \(entry.state.rawValue)")
                guard let scanned, let report = scanned.reports[entry.id] else { continue }
                try terminal.say("\(entry.name): \(scanned.warning(of: entry.id) ?? report.text)")
            }
            let what =
                doomed.count == 1
                ? "this key, and all that only it opens" : "these \(doomed.count) keys, and all that only they open"
            guard try terminal.confirm("Destroy \(what), for ever?") else {
                throw Failure(.usage, .text("key destroy"), "the answer was not yes; nothing was destroyed")
            }
        }
    }
}
