internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key generate`.
    struct Generate: Verb {
        static let configuration = CommandConfiguration.verb(
            "generate",
            abstract: "Make a key, in the keyring or as a key file.",
            discussion: """
                The new key becomes the keyring's current one, with which encrypt works where no key is named; the one \
                before is retired and still opens. The first key makes the keyring: its passphrase is asked for twice, \
                unless --unlock or VAULTFILE_UNLOCK says what is to unlock it, or --unprotected that nothing is.

                With -o the key is written as a key file instead, and the keyring is left alone: a short text of \
                comments and one line that begins with VAULTFILE-KEY-1. An existing file is never replaced. Written to \
                standard output it may be trusted only after status 0.

                Whoever has the key can open what is encrypted with it, and nobody else; without it nothing is left of \
                that. Destroying the key is the way to destroy the data, wherever copies of them are.
                """)

        @OptionGroup var file: KeyOutputOptions
        @OptionGroup var naming: KeyNameOption
        @OptionGroup(title: "Keyring") var making: KeyringMaking
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            guard file.output != nil else { return try inKeyring(console) }
            if naming.text != nil { throw Failure.usage("--name", "is for the keyring, and -o writes a key file") }
            if making.unprotected || !making.unlocking.unlock.isEmpty {
                throw Failure.usage(
                    making.unprotected ? "--unprotected" : "--unlock", "is for the keyring, and -o writes a key file")
            }
            let created = Timestamp.now.utc
            let (key, destination) = try file.write(on: console, created: created) { try SymmetricKey.generate() }
            var report = Report(.ok, verb: "key generate")
            report.name(output: destination.bytes)
            report.keyID = "\(key.id)"
            report.created = created
            return try console.give(
                report, lines: ["\(destination.subject.escaped): key \(key.id)"], about: destination.subject,
                done: "key \(key.id) was made")
        }

        private func inKeyring(_ console: Console) throws -> ExitStatus {
            if file.noSync { throw Failure.usage("--no-sync", "is for key files, and needs -o") }
            let name = try naming.name()
            let sources = KeySources(console: console)
            let access = sources.keyring(making.unlocking)
            try making.prepare(access)
            let created = Timestamp.now
            let entry = try access.change(making: true) { change in
                try change.generate(named: try name ?? change.freeName(for: created), created: created)
            }
            return try console.give(
                Report(entry, verb: "key generate"), lines: ["\(entry.name): key \(entry.id)"], about: entry.subject,
                done: "was made")
        }
    }
}

extension KeyringChange {
    /// A name for a key that nobody has named.
    func freeName(for day: Timestamp) throws -> KeyName {
        guard let name = freeName(on: day) else {
            throw Failure(.usage, .text("--name"), "is needed: the clock gives no day to name the key after")
        }
        return name
    }
}
