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

            A size is a number of bytes. After it, K, M, G, T, KiB, MiB, GiB or TiB means a power of 1024.
            """,
        version: version,
        subcommands: commands.map { $0 })

    static let commands: [any Explained.Type] = [
        Encrypt.self, Decrypt.self, Extract.self, Cat.self, Edit.self, Ls.self, Mount.self, Verify.self,
        Inspect.self, Rotate.self, Reencrypt.self, Detach.self, Attach.self, Repair.self, Recover.self,
        KeyVerbs.self, StoreVerbs.self,
    ]

    static var help: String {
        """
        Usage: vaultfile COMMAND [options] [FILE ...]

        Every day:
          encrypt     encrypt files into containers: FILE becomes FILE.vault
          decrypt     write the files again
          extract     write the files of a folder's container again
          cat         show the contents, or send them to a pipe
          edit        change the contents with your editor
          ls          list containers: size, what opens them, name
          mount       show containers as files, or a tar as a folder, to every program
          verify      read and check every byte
          inspect     show what anyone can see, and which keys are in use
        Keys:
          rotate      change who can open containers, by two small writes
          reencrypt   encrypt every byte again, if a key has leaked
          detach      move what opens a container to a header file; attach moves it back
          key         make and keep keys: key generate, list, use, retire, destroy,
                      group, show, import, export, passphrase, backup, restore,
                      unlock, lock
          store       keep items in a folder that can be locked: store create, status,
                      put, get, list, remove, move, protect, unlock, lock,
                      passphrase, rotate, check, wipe, group create, group erase,
                      group renew
        Damage:
          repair      repair header copies and the ends of containers
          recover     save the intact parts of a damaged container

          vaultfile encrypt -p letter.txt            asks for a passphrase
          vaultfile key generate                     afterwards encrypt needs no -p
          vaultfile decrypt letter.txt.vault         writes letter.txt

        Exit status: 0 done, 64 wrong usage, 65 damaged or not a vaultfile, 66 no input,
        69 unsupported, 70 a bug, 73 cannot create the output, 74 input/output error,
        75 in use, 77 no key fits or something would be lost without consent, 78 no key,
        79 locked, 80 the store was wiped.

        vaultfile help COMMAND explains a command. vaultfile --version: the version.
        """
    }
}
