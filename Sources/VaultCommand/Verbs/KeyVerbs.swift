internal import ArgumentParser

/// `vaultfile key`.
struct KeyVerbs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make, show and destroy keys, and keep them in a keyring.",
        discussion: """
            The keyring is a container that holds keys, each with an ID, a name, the time when it was made and a \
            state: current, it encrypts and opens; retired, it opens only; destroyed, its secret is gone, and its ID \
            and name say of an old container which key it would need. It is unlocked by a passphrase, a key file or a \
            key command, and there may be several of them.

            It is at VAULTFILE_KEYRING, or vaultfile/keyring.vault in $XDG_DATA_HOME or ~/.local/share. What unlocks \
            it stands in a second file, the same name with .key behind it: BACK UP BOTH. Who has lost one of them has \
            lost every key in it.
            """,
        subcommands: [
            Generate.self, Show.self, List.self, Use.self, Retire.self, Destroy.self, Import.self, Export.self,
            ChangePassphrase.self,
        ])

    func run() throws {
        throw ValidationError("no command was given")
    }
}
