internal import ArgumentParser

/// The command itself.
struct Vaultfile: Explained {
    /// The release, and the version of the format that it writes.
    static let version = "vaultfile 0.1.0, format 1"

    static let configuration = CommandConfiguration(
        commandName: "vaultfile",
        abstract: "Encrypt files into containers that show every change.",
        discussion: """
            First make a key with `vaultfile key generate`. It makes a keyring, and encrypt uses the keyring's current \
            key if you name no key. Or name a key file with --key-file, or use a passphrase with -p.

            Exit status: 0 done; 64 wrong usage, or not possible with this input; 65 damaged, tampered with, cut \
            short, or not a vaultfile; 66 the input does not exist or cannot be read; 69 a version, suite or feature \
            that this build does not support; 70 a bug; 73 the output exists or cannot be created, or it has hard \
            links; 74 reading or writing failed, for example on a full disk, or the system has no thread or no memory \
            for keys; 75 another program is using it; 77 no key fits, or something would be lost without consent; \
            78 there is no key. With several inputs the status is 65 if any input has it, else that of the first \
            failure. If a signal ends the program, its parent sees that signal.

            A size is a number of bytes. After it, K, M, G, T, KiB, MiB, GiB or TiB means a power of 1024.

            VAULTFILE_KEY_FILE names a key file to use if the command line names no key. It takes precedence over the \
            keyring, except in rotate without --add and --remove. VAULTFILE_KEYRING names the keyring's file; the \
            default is vaultfile/keyring.vault in $XDG_DATA_HOME. VAULTFILE_UNLOCK names what unlocks the keyring, as \
            --unlock does.
            """,
        version: version,
        subcommands: [
            Encrypt.self, Decrypt.self, Verify.self, Inspect.self, Rotate.self, Reencrypt.self, Repair.self,
            Recover.self, KeyVerbs.self,
        ])

    static var help: String {
        """
        Usage: vaultfile COMMAND [options] [FILE ...]

        Every day:
          encrypt     encrypt files into containers: FILE becomes FILE.vault
          decrypt     write the files again
          verify      read and check every byte
          inspect     show what anyone can see, and which keys are in use
        Keys:
          rotate      change who can open containers, by two small writes
          reencrypt   encrypt every byte again, if a key has leaked
          key         make and keep keys: key generate, list, use, retire, destroy,
                      show, import, export, passphrase
        Damage:
          repair      repair header copies and the ends of containers
          recover     save the intact parts of a damaged container

          vaultfile encrypt -p letter.txt            asks for a passphrase
          vaultfile key generate                     afterwards encrypt needs no -p
          vaultfile decrypt letter.txt.vault         writes letter.txt

        Exit status: 0 done, 64 wrong usage, 65 damaged or not a vaultfile, 66 no input,
        69 unsupported, 70 a bug, 73 cannot create the output, 74 input/output error,
        75 in use, 77 no key fits or something would be lost without consent, 78 no key.

        vaultfile help COMMAND explains a command. vaultfile --version: the version.
        """
    }
}
