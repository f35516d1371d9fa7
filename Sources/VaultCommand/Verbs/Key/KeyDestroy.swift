internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key destroy`.
    struct Destroy: Verb {
        static let name = VerbName.keyDestroy
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Destroy keys and identities of the keyring, and so everything that only they open.",
            discussion: """
                THIS CANNOT BE UNDONE: a container that has no slot for another key or passphrase is lost, and so are \
                all copies of it. --scan FOLDER first says how many of the containers below it have a slot for the \
                key, and how many of these have no slot for another key or passphrase; slots of types that this \
                program does not know do not count. It does not count for identities. The command asks on the \
                terminal, unless --yes is given; if the answer is not yes, nothing is destroyed and the status is 64. \
                --all destroys every key and every identity in one step: the emergency wipe. An identity that is \
                destroyed leaves all groups. A recipient has no secret: `vaultfile key retire` is for it.

                The key's ID, name and day stay, to show which key an old container would need. The keyring's old \
                file is overwritten with zeros, but an SSD, or a file system that writes elsewhere, may keep the old \
                bytes. So the key in the .key file is replaced too: old bytes of the keyring then open only with an \
                old .key file. THIS NEEDS EVERYTHING that unlocks the keyring, and is done only if that is a single \
                passphrase or key. Otherwise a warning says so, and vaultfile key passphrase --renew does it; name \
                everything that must still unlock the keyring with --add. To destroy a destroyed key again tries once \
                more to replace the key in the .key file. None of this reaches a BACKUP of both files, an exported \
                key file, or a container that someone has opened: destroy those too.
                """)

        static var help: String {
            """
            Usage: vaultfile key destroy [options] NAME ...

              vaultfile key destroy old --scan /backups  counts what needs the key, and asks
              vaultfile key destroy --yes old older
              vaultfile key destroy --all                the emergency wipe

            THIS CANNOT BE UNDONE: what only these keys open is lost, with all its copies.
            Backups of the keyring, exported keys and opened containers are not reached.

            Options:
              --scan FOLDER            first count the containers below it that need the key
              --all                    all keys of the keyring
              --yes                    do not ask
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("A key's name or ID.", valueName: "name"), completion: KeyCompletion.ofName)
        var operandLists: [OperandList] = []

        @Flag(help: "Destroy all keys of the keyring.")
        var all = false

        @Option(
            name: .customLong("scan"), parsing: .unconditionalSingleValue,
            help: ArgumentHelp(
                "First say how many of the containers below this folder have a slot for the key.", valueName: "folder"))
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
            let session = try KeyringSession(unlocking, console, alwaysAsks: true)
            let keyring = try session.open()
            let doomed = try select(arguments, keyring)
            // No header shows which identity opens the container.
            var scanned = KeyScan(for: doomed.filter { $0.state != .identity }.compactMap(\.id))
            try scanned.add(scan, on: console)
            if !scan.isEmpty {
                for entry in doomed where entry.state == .identity {
                    console.warn(entry.subject, "is not counted: no header shows which identity opens the container")
                }
            }
            if yes {
                // Said before the key is destroyed: the user can still end the program, and a log keeps the message.
                for entry in doomed { scanned.warning(of: entry).map { console.warn(entry.subject, $0) } }
            } else {
                try confirm(doomed, scanned)
            }
            var emptied: [KeyringEntry] = []
            let destroyed = try session.change { change in
                // Except with --all, a key that was added since the question is not destroyed.
                let entries = all ? change.entries.filter(\.hasSecret) : doomed
                let groups = change.entries.filter { $0.state == .group }
                for entry in entries { try change.destroy(entry.name) }
                let left = Set(change.entries.map(\.name))
                emptied = groups.filter { !left.contains($0.name) }
                return entries
            }
            let status = try console.give(destroyed, done: "is destroyed") { entry, report in
                report.state = KeyringEntry.State.destroyed.name
                report.scanned = scan.isEmpty ? nil : entry.id.flatMap { scanned.reports[$0] }
                let counts = report.scanned.map { ["\(entry.name): \($0.text())"] } ?? []
                return ["\(entry.name): \(entry.nounAndID) is destroyed"] + counts
            }
            for group in emptied { console.warn(group.subject, "had no other member, and was removed") }
            if !destroyed.isEmpty {
                console.tell(
                    "vaultfile: exported copies, and old copies of both files of the keyring, still hold what was "
                        + "destroyed: destroy them too; vaultfile key backup FOLDER makes a new backup")
            }
            return status
        }

        private func select(_ arguments: [KeyArgument], _ keyring: Keyring) throws(Failure) -> [KeyringEntry] {
            guard !all else { return keyring.entries.filter(\.hasSecret) }
            var chosen: [KeyringEntry] = []
            for argument in arguments {
                let entry = try argument.entry { keyring.entry($0) }
                guard entry.hasSecret || entry.state == .destroyed else {
                    throw .usage(
                        entry.subject.escaped, "has no secret to destroy",
                        hint: entry.state == .group ? .deleteGroup : .retireRecipient)
                }
                if !chosen.contains(entry) { chosen.append(entry) }
            }
            return chosen
        }

        private func confirm(_ doomed: [KeyringEntry], _ scanned: KeyScan) throws {
            try Terminal.use { try confirm(doomed, scanned, on: $0) }
        }

        private func confirm(_ doomed: [KeyringEntry], _ scanned: KeyScan, on terminal: Terminal?) throws {
            guard let terminal else {
                throw Failure(.noKey, .text("key destroy"), "there is no terminal to ask on", hint: .yesDoesNotAsk)
            }
            for entry in doomed {
                let state = entry.state == .identity ? "opens what is encrypted to it" : "is \(entry.state.name)"
                try terminal.say("\(entry.name): \(entry.nounAndID) \(state)")
                guard !scan.isEmpty, let report = entry.id.flatMap({ scanned.reports[$0] }) else { continue }
                try terminal.say("\(entry.name): \(scanned.warning(of: entry) ?? report.text())")
            }
            let what =
                doomed.count == 1
                ? "this key, and all that only it opens" : "these \(doomed.count) keys, and all that only they open"
            let question =
                doomed.allSatisfy { $0.state == .destroyed }
                ? "Try again to replace the key in the .key file?" : "Destroy \(what), for ever?"
            guard try terminal.confirm(question) else {
                throw Failure(.usage, .text("key destroy"), "the answer was not yes; nothing was destroyed")
            }
        }
    }
}

extension KeyScan {
    fileprivate func warning(of entry: KeyringEntry) -> String? { entry.id.flatMap { warning(of: $0) } }
}
