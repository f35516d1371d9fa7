internal import ArgumentParser

/// The command itself.
struct Vaultfile: ParsableCommand {
    /// The release, and the version of the format that it writes.
    static let version = "vaultfile 0.1.0, format 1"

    static let configuration = CommandConfiguration(
        commandName: "vaultfile",
        abstract: "Encrypt files into containers that show every change.",
        discussion: """
            Make a key with `vaultfile key generate`, once: it makes a keyring, and encrypt takes its current key \
            where none is named. Or give a key file with --key-file, or use a passphrase with -p.

            Exit status: 0 done; 64 usage, or not with this input; 65 damaged, tampered with, cut short, or not a \
            vaultfile; 66 no such or no readable input; 69 a version, suite or feature that this build does not know; \
            70 a bug; 73 the output exists or cannot be made, or hard links are in the way; 74 reading or writing \
            failed, a full disk included, or the system has no thread to give or no memory for keys; 75 another \
            vaultfile is changing it; 77 no key fits, or something would be lost without consent; 78 no key to be \
            had. Of several inputs: 65 if any, else the first failure. A signal ends the program as that signal.

            Sizes are numbers of bytes; K, M, G and T, or KiB and so on, behind one are powers of 1024.

            VAULTFILE_KEY_FILE names the key file of those who name no key, and comes before the keyring. \
            VAULTFILE_KEYRING says where the keyring is, if not at vaultfile/keyring.vault in $XDG_DATA_HOME; \
            VAULTFILE_UNLOCK what unlocks it, as --unlock does.
            """,
        version: version,
        subcommands: [
            Encrypt.self, Decrypt.self, Verify.self, Inspect.self, Rotate.self, Reencrypt.self, Repair.self,
            Recover.self, KeyVerbs.self,
        ])

    func run() throws {
        throw ValidationError("no command was given")
    }
}
