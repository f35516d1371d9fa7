internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key export`.
    struct Export: Verb {
        static let name = VerbName.keyExport
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Write a key or an identity of the keyring as a file.",
            discussion: """
                EVERYONE WHO CAN READ THE FILE HAS THE KEY: only its mode 0600 protects it. An existing file is never \
                replaced. Without -o the key goes to standard output, which may be trusted only after status 0; it \
                goes to a terminal only with -o -. The file of an identity is as age-keygen writes it. The public half \
                of an identity is what `vaultfile key show NAME` writes.
                """)

        static var help: String {
            """
            Usage: vaultfile key export [options] NAME

              vaultfile key export -o work.txt work
              vaultfile key export -o - work | ssh host 'vaultfile key import -'
              vaultfile key export --unlock file:safe.txt -o work.txt work

            Writes a key or an identity of the keyring as a file. EVERYONE WHO CAN READ IT
            HAS THE KEY.

            Options:
              -o, --output OUTPUT      write to this new file; - is standard output
              --no-sync                do not wait until the key file is durable
            \(HelpText.unlock)
            """
        }

        @Argument(
            help: ArgumentHelp("The key's name or ID.", valueName: "name"), completion: KeyCompletion.ofName)
        var key: KeyArgument

        @OptionGroup var file: KeyOutputOptions
        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let keyring = try KeyringSession(unlocking, console, alwaysAsks: true).open()
            let entry = try key.entry { keyring.entry($0) }
            let files = try unlocking.secretFiles()
            func write<Key: FiledSecret>(_ read: () throws -> Key) throws -> Destination {
                try file.write(on: console, created: entry.created, keeping: files) {
                    try entry.subject.attempt(read)
                }.destination
            }
            let destination: Destination
            switch entry.state {
            case .recipient, .former, .group:
                throw Failure.usage(entry.subject.escaped, "has no secret to export", hint: .showRecipients(entry.name))
            case .identity where entry.publicKey == nil:
                destination = try write { try keyring.pluginIdentity(named: entry.name) }
            case .identity: destination = try write { try keyring.identity(named: entry.name) }
            default: destination = try write { try keyring.loaded(entry).key }
            }
            return try console.give([entry], done: "was exported") { entry, report in
                report.name(output: destination.bytes)
                return ["\(destination.subject.escaped): \(entry.nounAndID)"]
            }
        }
    }
}
