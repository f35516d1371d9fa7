internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key backup`.
    struct Backup: Verb {
        static let name = VerbName.keyBackup
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Copy both files of the keyring to a folder.",
            discussion: """
                Writes keyring.vault and keyring.vault.key to FOLDER, which must exist, and opens the copy to check \
                it. What unlocks the keyring also unlocks the copy, now and later: a passphrase that you change \
                afterwards still opens this copy. The passphrase is always asked for.

                An older backup in FOLDER is replaced if the keyring has all of its keys. Keys that were destroyed in \
                the keyring do not count: their backups are to go. `vaultfile key restore FOLDER` puts the backup back.
                """)

        static var help: String {
            """
            Usage: vaultfile key backup [options] FOLDER

              vaultfile key backup /media/usb
              vaultfile key backup --unlock file:safe.txt /media/usb
              vaultfile key backup --json /backups/keyring

            Copies both files of the keyring to FOLDER, as keyring.vault and
            keyring.vault.key, and opens the copy to check it. What unlocks the keyring now
            unlocks this copy for ever. A backup there that has other keys is not replaced.

            Options:
            \(HelpText.unlock)
            """
        }

        @Argument(help: ArgumentHelp("The folder for the copy.", valueName: "folder"))
        var folder: PathArgument

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let session = try KeyringSession(unlocking, console)
            let backup = try KeyringPlace.backup(in: folder, missing: .cannotCreate)
            let count = try session.backUp(to: backup)
            var report = Report(.ok, about: try session.located().subject)
            report.keyCount = count
            report.name(output: backup.path.bytes)
            return try console.give(
                report, lines: ["\(backup.subject.escaped): \(count.counted("key"))"], about: backup.subject,
                done: "is a copy of the keyring")
        }
    }

    /// `vaultfile key restore`.
    struct Restore: Verb {
        static let name = VerbName.keyRestore
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Restore the keyring from a backup.",
            discussion: """
                Copies keyring.vault and keyring.vault.key from FOLDER to the place of the keyring, and opens the copy \
                to check it. The passphrase is the one that the keyring had when the backup was made.

                NO KEY IS LOST: a keyring that has keys which the backup lacks is not replaced, and neither is one \
                that cannot be opened. Move both of its files to another folder, restore, and import the missing keys. \
                If one of the two files is missing and the other belongs to the backup, only the missing one is \
                restored. A key that was destroyed after the backup was made is there again.
                """)

        static var help: String {
            """
            Usage: vaultfile key restore [options] FOLDER

              vaultfile key restore /media/usb
              vaultfile key restore --unlock file:safe.txt /media/usb
              vaultfile key restore --json /backups/keyring

            Brings the keyring back from FOLDER, and opens it to check it. The passphrase is
            the one that the keyring had when the backup was made. A keyring that has keys
            which the backup lacks is not replaced, nor is one that cannot be opened.

            Options:
            \(HelpText.unlock)
            """
        }

        @Argument(help: ArgumentHelp("The folder with the backup.", valueName: "folder"))
        var folder: PathArgument

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let session = try KeyringSession(unlocking, console)
            let backup = try KeyringPlace.backup(in: folder, missing: .noInput)
            let count = try session.restore(from: backup)
            let place = try session.located()
            var report = Report(.ok, about: backup.subject)
            report.keyCount = count
            report.name(output: place.path.bytes)
            return try console.give(
                report, lines: ["\(place.subject.escaped): \(count.counted("key"))"], about: place.subject,
                done: "was restored")
        }
    }
}
