internal import VaultFile

/// Advice about keys, public keys, identities and the keyring.
extension Hint {
    /// What K may be.
    static let keyWord = Hint(
        "K is a key's NAME or ID in the keyring, file:PATH, command:COMMAND, passphrase, passphrase-file:PATH, "
            + "passphrase-fd:N, a public key (age1…, recipient:PUBLIC-KEY), recipients-file:PATH, identity-file:PATH or "
            + "identity-command:COMMAND.")
    static let unlockWord = Hint(
        "file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or passphrase-fd:N; or unprotected, if nothing "
            + "protects it")
    static let giveKey = Hint(
        "vaultfile key generate makes a keyring; or give -r PUBLIC-KEY, --key-file FILE, --key-command COMMAND or -p, "
            + "or set " + Variable.keyFile)
    static let giveKeyThatOpens = Hint(
        "give the key that it was encrypted with: --key-file FILE, --key-command COMMAND, -i FILE or -p, or set "
            + "\(Variable.keyFile); \(Variable.keyring) names another keyring")
    static let giveKeyOrPassphrase =
        Hint(giveKeyThatOpens.text + "; --passphrase-file and --passphrase-fd need no terminal")
    static let variableHidesKeyring = Hint(
        "\(Variable.keyFile) is set, so the keyring was not tried: unset it, or name a key of the keyring with -k")
    static func keyFile(_ name: String, isKeyOption: Bool) -> Hint {
        Hint("for a key file write " + (isKeyOption ? "--key-file " : "file:") + name)
    }
    static func recipientsFile(_ name: String, isKeyOption: Bool) -> Hint {
        Hint("\(name) is a public key: write " + (isKeyOption ? "-R " : "recipients-file:") + name)
    }
    static func identityFile(_ name: String, isKeyOption: Bool) -> Hint {
        Hint("\(name) is an identity: write " + (isKeyOption ? "-i " : "identity-file:") + name)
    }
    static let ageDecrypts = Hint("age -d -i FILE opens it")
    static func importRecipient(_ name: KeyName) -> Hint {
        Hint("vaultfile key import --name \(name) -r KEY adds it to the keyring")
    }
    /// For a word that no message repeats, because it may be a passphrase.
    static let keyFileAlone = Hint("for a key file write file:PATH")
    static let giveKeyToShow =
        Hint("give --key-file FILE, --key-command COMMAND or -k NAME, or set \(Variable.keyFile)")
    static let otherKeyOptions =
        Hint("for other keys use --key-file, --key-command, -i, -p, --passphrase-file or --passphrase-fd")
    static let passphraseWithoutTerminal = Hint("--passphrase-file and --passphrase-fd read it")
    static let askPassphrase = Hint("-p asks for the passphrase; --passphrase-file and --passphrase-fd read it")
    static let otherContext = Hint("it was made with another --context, or its slot was changed")
    static let otherPassphrase = Hint("it was made with another passphrase, or with another --context")
    static let keepElsewhere =
        Hint("keep it on another file system, or mount this one so that only its owner can read it")
    static let keepToOwner = Hint("chmod 600 keeps it to its owner, if its file system keeps modes")
    static let keyName = Hint(
        "1 to \(KeyName.longest) ASCII letters, digits and . _ - + @, beginning with a letter or digit; not an ID, "
            + "and not one of " + KeyName.reserved.sorted().joined(separator: ", "))

    // MARK: Public keys and identities

    static let giveIdentity = Hint("-i FILE gives the identity, which is the private key of age-keygen or ssh-keygen")
    static let identityFile = Hint("-i FILE reads it from a file, which others cannot see")
    static let identityWord = Hint("identity-file:PATH reads it from a file, which others cannot see")
    static let wholeLine = Hint("quote the whole line of the key, as in -r 'ssh-ed25519 AAAA…', or give its file to -R")
    static let recipientsFile = Hint("-R FILE reads a file of public keys; in K, recipients-file:PATH")
    static let publicKeyOfIdentity = Hint("age-keygen -y FILE and ssh-keygen -y -f FILE print the public key")
    static let sshKeysThatDecrypt =
        Hint("only ssh-ed25519 keys can decrypt; age-keygen and ssh-keygen -t ed25519 make a key that can")
    static let privateHalf = Hint("a public key opens nothing: -i takes the file that age-keygen wrote")
    static let privateHalfOfSSH = Hint("a public key opens nothing: -i takes the file without .pub")
    static let decryptIdentities = Hint("--identity-command 'age -d FILE' decrypts it")
    static let takePassphraseOff = Hint(
        "ssh-keygen -p -N '' -f COPY takes the passphrase off a copy, which belongs into memory, as in /dev/shm; or use "
            + "a key of age-keygen")
    static let convertToOpenSSH = Hint("ssh-keygen -p -N '' -f COPY converts a copy, which belongs into memory")
    static let identityForUpdate = Hint(
        "give -i or a key, too; --recursive without --update leaves out what has a container that is not older")
    static let recipientsOpenNothing = Hint("-i FILE gives the identity that opens it; --recursive takes folders")
    static let recipientsAreAdded = Hint("--add and --remove take public keys; --recursive takes folders")
    static let identityCompares = Hint("-i FILE compares the two; -f makes the container again")

    static let installPlugin = Hint("the plugin's program must be in an absolute folder of PATH")
    static let otherOpenersOfIdentities = Hint(
        "a key of the keyring, the key file of \(Variable.keyFile) or a typed passphrase opens a file of identities; for "
            + "another secret: --identity-command 'vaultfile cat --passphrase-file FILE IDENTITIES'")
    static let keyFileOption = Hint("--key-file reads a key file; in K, file:PATH")
    static let identitiesOption = Hint("-i reads a file of identities; in K, identity-file:PATH")

    // MARK: The keyring

    static func keyringIsFile(_ folder: String) -> Hint {
        let slash = folder.hasSuffix("/") ? "" : "/"
        return Hint("\(Variable.keyring)=\(folder)\(slash)keyring.vault names a file in it")
    }
    static let keyringPlace = Hint("set \(Variable.keyring), XDG_DATA_HOME or HOME")
    static let makeKeyring =
        Hint("vaultfile key generate makes one; vaultfile key restore FOLDER brings one back from a backup")
    static let restoreKeyring = Hint("restore both files from a backup, with vaultfile key restore FOLDER")
    static let keyringHasTwoFiles = Hint("a keyring, and a backup of it, has two files")
    static let otherBackupFolder = Hint("name another folder, or export these keys and import them into the keyring")
    static let moveKeyringAway = Hint(
        "move both of its files to another folder, then do this again; export the keys that are missing from there, "
            + "and import them")
    static let moveDamagedKeyringAway = Hint("move both of its files to another folder, then do this again")
    static func restoreKeyringFile(_ unlockKey: String) -> Hint {
        Hint("\(restoreKeyring.text); if no key was ever made here, remove \(unlockKey) and make a keyring")
    }
    static let mendKeyring = Hint(
        "the other copy is intact; every change of the keyring makes this one whole again, for example vaultfile key "
            + "use with the name of the current key")
    static let repeatPassphraseChange = Hint("the same vaultfile key passphrase again finishes it")
    static let listKeys = Hint("vaultfile key list shows the keys")
    static let makeCurrent = Hint("vaultfile key use NAME makes one current, vaultfile key generate makes a new one")
    static func makeCurrent(_ name: KeyName) -> Hint { Hint("vaultfile key use \(name) makes it current") }
    static func namesRecipient(_ name: KeyName) -> Hint {
        Hint("-r \(name) encrypts to it; the identities of the keyring open without being named")
    }
    static func showRecipients(_ name: KeyName) -> Hint {
        Hint("vaultfile key show \(name) writes what others encrypt to")
    }
    static let retireRecipient = Hint("vaultfile key retire makes a recipient former: nothing more is encrypted to it")
    static let useRecipient = Hint("vaultfile key use NAME makes a former recipient one to encrypt to again")
    static let deleteGroup = Hint("vaultfile key group NAME --delete removes a group; its members stay")
    static let makeNewKey = Hint("vaultfile key generate makes a new one")
    static let unlockingWithoutTerminal = Hint(
        "\(nameUnlocker.text); vaultfile key unlock, on a terminal, unlocks it for a time")
    static let nameUnlocker = Hint("--unlock and \(Variable.unlock) name what unlocks the keyring")
    static let newUnlockerWithoutTerminal = Hint(
        "--unlock names what will unlock the new keyring: file:PATH, command:COMMAND or passphrase-file:PATH")
    static let addUnlocker = Hint("--add names what will unlock it")
    static let variableHidesPassphrase = Hint(
        "\(Variable.unlock) is set, so the passphrase was not asked for: unset it, or say --unlock passphrase")
    static let giveUnlocker = Hint("--unlock file:PATH or --unlock command:COMMAND, or set \(Variable.unlock)")
    static let sayUnprotected = Hint(
        "if you made it so, say --unlock unprotected, or set \(Variable.unlock)=unprotected; vaultfile key passphrase "
            + "--unlock unprotected protects it")
    static let keyStoreUnavailable = Hint(
        "only Linux has this, and many containers of programs forbid it; each command opens the keyring with its "
            + "passphrase, or with what --unlock or \(Variable.unlock) names, as before")
    static let unprotectedMakes = Hint("--unprotected makes a keyring that nothing protects")
    static let keepToOwnerOrProtect = Hint(
        "chmod 600 keeps it to its owner, vaultfile key passphrase --unlock unprotected protects it")
    static let renew = Hint(
        "vaultfile key passphrase --renew --add passphrase --add file:PATH makes old copies of the keyring file alone "
            + "useless: name all that must still unlock it; destroy copies of both files yourself")
    static let removeUnderOtherNames = Hint("overwrite and remove it under those names")
    static let bytesStay = Hint("its bytes stay on the disk until something overwrites them")
    static let inspectUnlockKey = Hint("vaultfile inspect shows what unlocks it, and --remove takes an ID from it")
    static let removeOnePassphrase =
        Hint("--remove names the one to remove, --add passphrase asks for a new one")
}
