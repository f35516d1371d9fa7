internal import ArgumentParser

/// A command that explains itself on one screen.
protocol Explained: ParsableCommand {
    /// Usage, three examples, what the command does, and its options: at most 40 lines of 80 columns, with the lines
    /// that `HelpText.screen` adds. The manual page has the rest. It is computed, so that a run that shows no help does
    /// not build it.
    static var help: String { get }
    /// The commands that can follow it.
    static var commands: [any Explained.Type] { get }
}

extension Explained {
    static var commands: [any Explained.Type] { [] }
}

/// What several help texts share.
enum HelpText {
    /// The help of a command, with the lines that all of them end with.
    ///
    /// - Parameters:
    ///   - names: The words that name the command.
    ///   - reports: Whether it has the options of every verb.
    static func screen(of command: any Explained.Type, _ names: [String], reports: Bool) -> String {
        var text = command.help + "\n"
        if reports { text += "Reporting: --json, -q --quiet, -v --verbose\n" }
        let page = (["vaultfile"] + names).joined(separator: "-")
        let long = (["vaultfile help --long"] + names).joined(separator: " ")
        let more = "More: man \(page), or \(long)"
        return text + "\n" + (more.utf8.count <= 80 ? more : "More: man \(page),\n      or \(long)") + "\n"
    }

    /// The forms of K.
    static let k = """
          K is the NAME or ID of a key in the keyring, file:PATH, command:COMMAND,
          passphrase, passphrase-file:PATH, passphrase-fd:N, age1..., recipient:KEY,
          recipients-file:PATH, identity-file:PATH or identity-command:COMMAND.
        """

    /// The options that name public keys, and how their slots are made.
    static let recipients = """
          -r, --recipient KEY      age1..., 'ssh-ed25519 ...', or a name in the keyring
          -R, --recipients-file FILE; --anonymous, --allow-classical
                                   public keys; hide whose; mix age1pq1... with others
        """

    /// How slots of public keys are made.
    static let hiding = """
          --anonymous              hide whose the new slots of public keys are
          --allow-classical        mix post-quantum and other public keys
        """

    /// The options that name what opens containers.
    static let keyOptions = """
          -p, --passphrase         ask for a passphrase
          -k, --key NAME           a key of the keyring, by its name or ID
          -i, --identity FILE      identities of age-keygen, or an ssh-ed25519 key
          --key-file FILE, --key-command COMMAND, --identity-command COMMAND
                                   a key file; what a command prints
          --passphrase-file FILE, --passphrase-fd NUMBER, --unlock K
                                   a passphrase; what unlocks the keyring
        """

    /// The options of verbs that open containers.
    static var openingKeys: String {
        """
        Keys (if none: VAULTFILE_KEY_FILE, else the keyring; then a passphrase):
        \(keyOptions)
          --context TEXT           the context that the container was made with
        """
    }

    static let expect = """
          --expect PIN, --header FILE, --expect-header PIN
                                   refuse a header older than this pin; a header file
        """

    static let jobs = """
          --jobs NUMBER            use this many threads
        """

    static var manyFiles: String {
        """
        Many files:
          --recursive              the files below each folder
          --files-from FILE        the paths in this file, too
          -0, --null               each path there ends with a NUL
        \(jobs)
        """
    }

    static let unlock = """
          --unlock K               unlock the keyring with this
        """

    static let store = """
          -S, --store FOLDER       the store; else VAULTFILE_STORE names it
          --device-key K           what opens it: file:PATH, command:COMMAND or a key's
                                   NAME in the keyring
        """

    /// The same for a store that may be one of a group.
    static var accountStore: String {
        """
        \(store)
          --account NAME           the store of this account, in the group that -S names
        """
    }

    static let group = """
          -S, --store FOLDER       the group; else VAULTFILE_STORE names it
          --device-key K           what opens it: file:PATH, command:COMMAND or a key's
                                   NAME in the keyring
        """

    static let storeUnlock = """
          --unlock K               what unlocks it, and for it K may be passphrase,
                                   passphrase-file:PATH or passphrase-fd:N, too
        """

    static let newKeyring = """
          --unlock K               what unlocks the keyring
          --unprotected            make a keyring that nothing protects
        """

    static let output = """
          -o, --output OUTPUT      a file, FOLDER/, or - for standard output
          -f, --force              replace an output that exists
          --no-sync                do not wait until the output is durable
        """
}
