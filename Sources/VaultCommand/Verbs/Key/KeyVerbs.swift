internal import ArgumentParser

/// `vaultfile key`.
struct KeyVerbs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make, show and destroy keys, and keep them in a keyring.",
        discussion: """
            The keyring is a container that holds keys. Each has an ID, a name, the time when it was made and a state: \
            a current key encrypts and opens; a retired key only opens; the secret of a destroyed key is gone, and its \
            ID and name tell which key an old container would need. A passphrase, a key file or a key command unlocks \
            the keyring; there may be several of them.

            It is at VAULTFILE_KEYRING, or vaultfile/keyring.vault in $XDG_DATA_HOME or ~/.local/share. What unlocks \
            it is in a second file, the same name with .key after it: BACK UP BOTH. If one of them is lost, every key \
            is lost.
            """,
        subcommands: [
            Generate.self, Show.self, List.self, Use.self, Retire.self, Destroy.self, Import.self, Export.self,
            ChangePassphrase.self,
        ])

    func run() throws {
        throw ValidationError("no command was given")
    }
}
