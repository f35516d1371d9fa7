internal import ArgumentParser

/// `vaultfile key`.
struct KeyVerbs: Explained {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make, show and destroy keys, and keep them in a keyring.",
        discussion: """
            The keyring is a container that holds keys, and recipients, identities and groups of recipients. Each key has an ID, a name, the time when it was made and a state: \
            a current key encrypts and opens; a retired key only opens; the secret of a destroyed key is gone, and its \
            ID and name tell which key an old container would need. A passphrase, a key file or a key command unlocks \
            the keyring; there may be several of them.

            It is at VAULTFILE_KEYRING, or vaultfile/keyring.vault in $XDG_DATA_HOME or ~/.local/share. What unlocks \
            it is in a second file, the same name with .key after it: BACK UP BOTH, as key backup does. If one of them is \
            lost, every key is lost.
            """,
        subcommands: commands.map { $0 })

    static let commands: [any Explained.Type] = [
        Generate.self, Show.self, List.self, Use.self, Retire.self, Destroy.self, Group.self, Import.self, Export.self,
        ChangePassphrase.self, Backup.self, Restore.self, Unlock.self, Lock.self,
    ]

    static var help: String {
        """
        Usage: vaultfile key COMMAND [options] [NAME ...]

          vaultfile key generate --name work         make a key, and encrypt with it
          vaultfile key list
          vaultfile key passphrase                   change the keyring's passphrase

        The keyring holds keys, and something unlocks it: a passphrase, a key file, a
        command. BACK UP BOTH OF ITS FILES, keyring.vault and keyring.vault.key.

        Commands:
          generate    make a key or an identity, in the keyring or as a file
          list        list what is in the keyring
          show        show the IDs of keys, and the texts of recipients
          use         make a key the current one, which encrypts
          retire      retire keys, which then only open; recipients, who have left
          destroy     destroy keys, and all that only they open
          group       give recipients a common name
          import      import key files, identities and recipients
          export      write a key or an identity of the keyring as a file
          passphrase  change what unlocks the keyring
          backup      copy both files of the keyring to a folder, and check the copy
          restore     bring them back, without losing a key
          unlock      unlock the keyring for a time, so that no command asks
          lock        lock it again
        """
    }
}
