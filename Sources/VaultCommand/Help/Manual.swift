/// What holds for all commands: the sections of `vaultfile help --long` and of the manual page vaultfile(1), which is
/// made from this text. A heading is a line of capitals. A term is indented by two columns, its text by six.
enum Manual {
    static let sections = """
        ENVIRONMENT
          VAULTFILE_KEY_FILE
              A key file that is used if the command line names no key. It takes
              precedence over the keyring, except in rotate without --add and
              --remove.
          VAULTFILE_KEYRING
              The keyring's file.
          VAULTFILE_UNLOCK
              What unlocks the keyring, as --unlock names it: file:PATH,
              command:COMMAND, passphrase, passphrase-file:PATH, passphrase-fd:NUMBER
              or unprotected. A keyring that key unlock has unlocked needs none of
              them. Every command that takes --unlock refuses other values.
          VAULTFILE_STORE
              The folder of the store, if -S does not name it.
          VISUAL, EDITOR
              The editor for vaultfile edit; vi if neither is set.
          XDG_RUNTIME_DIR
              Where vaultfile edit puts its temporary file.
          XDG_DATA_HOME, HOME
              Where the keyring is, if VAULTFILE_KEYRING is not set.

        FILES
          $XDG_DATA_HOME/vaultfile/keyring.vault
              The keyring, if VAULTFILE_KEYRING is not set. Without XDG_DATA_HOME it is
              ~/.local/share/vaultfile/keyring.vault.
          keyring.vault.key
              Beside the keyring: what unlocks it. Back up both: if one of them is
              lost, every key is lost.
          FILE.vault
              The container of FILE.
          .vaultfile-*
              An output that is not complete yet. If a run is killed, the next one
              that writes into the same folder removes it.

        EXIT STATUS
          0
              Done. With a warning: a decrypted container is damaged, but its
              contents are right.
          64
              Wrong usage, or not possible with this input.
          65
              Damaged, tampered with, cut short, or not a vaultfile.
          66
              The input does not exist or cannot be read.
          69
              A version, suite or feature that this build or this system does not
              support.
          70
              A bug.
          73
              The output exists or cannot be created, or it has hard links.
          74
              Reading or writing failed, for example on a full disk, or the system
              has no thread or no memory left.
          75
              Another program is using it.
          77
              No key fits, or something would be lost without consent.
          78
              There is no key.
          79
              The class of an item of a store is locked.
          80
              The store was wiped.

        With several inputs the status is 65 if any input has it, else that of the first
        failure. If a signal ends the program, its parent sees that signal.

        EXAMPLES
          vaultfile encrypt -p letter.txt
              Encrypts a file with a passphrase, into letter.txt.vault.
          vaultfile key generate
              Makes a keyring with a key. Afterwards no command needs a key's name.
          vaultfile encrypt --recursive photos
              Makes a container of each file below a folder, beside it.
          tar -c photos | vaultfile encrypt > photos.tar.vault
              Makes one container of a whole tree.
          vaultfile decrypt photos.tar.vault -o - | tar -t
              Lists what is in it.
          vaultfile ls
              Shows the containers in this folder, and what opens them.
          vaultfile verify --recursive /backups
              Checks every byte of all containers below a folder.
          vaultfile rotate --recursive /backups
              Changes them to the keyring's current key.
        """
}
