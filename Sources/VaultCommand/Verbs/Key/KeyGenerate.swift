internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key generate`.
    struct Generate: Verb {
        static let name = VerbName.keyGenerate
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Make a key or an identity, in the keyring or as a file.",
            discussion: """
                The new key becomes the keyring's current key, which encrypts if no key is named. The key that was \
                current is retired and still opens containers. The first key makes the keyring: its passphrase is \
                asked for twice, unless --unlock or VAULTFILE_UNLOCK names what unlocks it, or --unprotected is given. A \
                keyring that nothing protects is used only with --unlock unprotected: otherwise anyone who can write \
                its two files could put their own keyring there, and new containers would be for their key.

                With -o the key is written to a key file instead, and the keyring is not changed. A key file is a \
                short text: comments and one line that begins with VAULTFILE-KEY-1. An existing file is never \
                replaced. A key written to standard output may be trusted only after status 0.

                Everyone who has the key can open what is encrypted with it, and no one else can. If the key is lost, \
                so is the data. To destroy data in all its copies, destroy its key.

                --recipient makes an identity instead of a key: a private key, whose public key is a recipient. The \
                command shows the recipient, and so does `vaultfile key show NAME`. Everyone who has the recipient can \
                encrypt to you, and only your identity opens that. The identity is post-quantum (X-Wing, as in \
                age1pq…); --x25519 makes a classical one, as older programs need it, which a quantum computer will \
                break. With -o it is a file as age-keygen writes it.
                """)

        static var help: String {
            """
            Usage: vaultfile key generate [options]

              vaultfile key generate --name work         in the keyring, as its current key
              vaultfile key generate -o key.txt          as a key file
              vaultfile key generate --recipient --name me

            Makes a key. The first one makes the keyring and asks for its passphrase. The
            key that was current is retired: it still opens its containers. BACK UP the key
            or both files of the keyring: without them, all that they open is lost.

            Options:
              --name NAME              name the key
              --recipient              an identity instead, for others to encrypt to
              --x25519                 a classical identity, not post-quantum
              -o, --output OUTPUT      write a key file instead; - is standard output
              --no-sync                do not wait until the key file is durable
            \(HelpText.newKeyring)
            """
        }

        @Flag(help: "Make an identity, a private key, and show its recipient, to which others encrypt.")
        var recipient = false

        @Flag(
            name: .customLong("x25519"),
            help: "With --recipient: make a classical identity, which a quantum computer will break.")
        var isClassical = false

        @OptionGroup var file: KeyOutputOptions
        @OptionGroup var naming: KeyNameOption
        @OptionGroup(title: "Keyring") var making: NewKeyringOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            if isClassical, !recipient { throw Failure.usage("--x25519", "is for identities, and needs --recipient") }
            guard file.output != nil else { return try inKeyring(console) }
            let keyringOnly = [
                (naming.text != nil, "--name"), (making.unprotected, "--unprotected"),
                (!making.unlocking.unlock.isEmpty, "--unlock"),
            ]
            if let (_, option) = keyringOnly.first(where: \.0) {
                throw Failure.usage(option, "is for the keyring, and -o writes a key file")
            }
            return try recipient ? identityFile(console) : keyFile(console)
        }

        private func keyFile(_ console: Console) throws -> ExitStatus {
            let created = Timestamp.now
            let (key, destination) = try file.write(on: console, created: created) { try SymmetricKey.generate() }
            var report = Report(.ok)
            report.name(output: destination.bytes)
            report.keyID = "\(key.id)"
            report.created = created.utc
            let status = try console.give(
                report, lines: ["\(destination.subject.escaped): key \(key.id)"], about: destination.subject,
                done: "key \(key.id) was made")
            if destination.isFile {
                console.tell(
                    "vaultfile: \(destination.subject.escaped) is the only copy of this key: keep another in a safe "
                        + "place; without the key, all that it encrypts is lost")
            }
            return status
        }

        private func identityFile(_ console: Console) throws -> ExitStatus {
            let created = Timestamp.now
            let (identity, destination) = try file.write(on: console, created: created) {
                try Failure.Subject.text("--recipient").attempt { try Identity.generate(kind) }
            }
            var report = Report(.ok)
            report.name(output: destination.bytes)
            report.recipient = identity.publicKey.text
            report.created = created.utc
            let status = try console.give(
                report, lines: ["\(destination.subject.escaped): identity of", identity.publicKey.text],
                about: destination.subject, done: "an identity was made")
            if destination.isFile {
                console.tell(
                    "vaultfile: \(destination.subject.escaped) is the only copy of this identity: keep another in a "
                        + "safe place; without it, all that is encrypted to its recipient is lost")
            }
            return status
        }

        private var kind: SlotDescription.Kind { isClassical ? .x25519 : .xWing }

        private func inKeyring(_ console: Console) throws -> ExitStatus {
            if file.noSync { throw Failure.usage("--no-sync", "is for key files, and needs -o") }
            let name = try naming.name()
            let keyring = try KeyringSession(making.unlocking, console)
            let created = Timestamp.now
            let (entry, made) = try keyring.add(unprotected: making.unprotected) { change in
                guard recipient else {
                    return try change.generate(named: try name ?? change.freeName(for: created), created: created)
                }
                let name = try name ?? change.freeName(for: created, "identity")
                return try Failure.Subject.text("--recipient").attempt {
                    try change.generateIdentity(kind, named: name, created: created)
                }
            }
            let status = try console.give([entry], done: "was made") { entry, _ in
                ["\(entry.name): \(entry.nounAndID)"] + (entry.recipientText.map { [$0] } ?? [])
            }
            if let made { console.tell(ofNew: made) }
            return status
        }
    }
}

extension KeyringChange {
    /// An unused name for a key that was made on `day`, or for something else that `noun` says.
    func freeName(for day: Timestamp, _ noun: String = "key") throws -> KeyName {
        guard let name = freeName(on: day, noun) else {
            throw Failure(.usage, .text("--name"), "is needed: there is no valid date to name the key after")
        }
        return name
    }
}
