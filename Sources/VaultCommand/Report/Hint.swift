internal import VaultFile

/// Advice on what to do about a failure or a warning: the only place with such advice.
///
/// A failure with an error of the library gets the hint for that error and the verb, unless it has its own hint.
struct Hint: Hashable, Sendable {
    let text: String

    /// Only for the files of hints.
    init(_ text: String) {
        self.text = text
    }

    /// Suppresses the error's hint where it would not help.
    static let silent = Hint("")

    /// The advice as it fits a verb, which may lack what it names.
    func fitting(_ verb: VerbName?) -> Hint {
        guard let verb else { return self }
        return switch self {
        case .folderInput where verb == .cat: .nameFiles
        case .noPatterns where verb == .cat: .listMembers
        case .folderInput where [.edit, .recover, .storePut].contains(verb): .nameFile
        case .folderInput where verb == .extract: .nameContainer
        case .forceReplaces where verb.isOfKeyring: .keyFileStays
        case .privateHalf where verb == .encrypt, .privateHalfOfSSH where verb == .encrypt: .recipientsFile
        case .folderInput where verb != .encrypt: .folderOfContainers
        case .nameFiles where verb.worksInPlace: .nameFile
        case .storeWithoutTerminal where verb == .storePassphrase: .nameStoreUnlocker
        case .storeWithoutTerminal where verb == .storeRotate, .nameStoreUnlocker where verb == .storeRotate:
            .rotateNeedsUnlocker
        case .unlockingWithoutTerminal where verb.alwaysUnlocks: .nameUnlocker
        case .newUnlockerWithoutTerminal where verb == .keyPassphrase: .addUnlocker
        case .identitiesOption where verb.isOfKeyring, .recipientsFile where verb.isOfKeyring: .silent
        case .recipientsFile where !verb.makesSlots: .privateHalf
        default: self
        }
    }

    /// The advice as it fits what the message is about: standard input can be neither repaired nor recovered.
    ///
    /// - Parameter verb: the verb that runs, which is not what it advises to use.
    func fitting(_ subject: Failure.Subject, _ verb: VerbName?) -> Hint {
        if case .path(let name) = subject, name.suffix(10) == Array(".tar.vault".utf8)[...] {
            switch self {
            case .recover: return verb == .extract ? .recoverFolder : .extractIntact
            // extract goes by the manifest, which is at the end.
            case .recoverCut: return .recoverFolder
            case .truncated: return .truncatedFolder
            case .repairEnd: return .repairEndOfFolder
            default: break
            }
        }
        let ofFiles = [Hint.repairEnd, .truncated, .searchHeader, .recover, .recoverCut]
        guard case .standardInput = subject, ofFiles.contains(self) else { return self }
        return .saveInput
    }

    // MARK: Errors of the library, by verb

    /// The hint for an error of the library; nil if there is none.
    static func of(_ code: VaultError.Code, _ verb: VerbName?) -> Hint? {
        if verb == .recover, ExitStatus(code) == .damaged, code != .unexpectedState {
            return code == .headerDamaged ? noHeader : nil
        }
        if let verb, verb.worksInPlace, let hint = inPlace(code, verb) { return hint }
        return switch code {
        case .headerDetached where verb == .ls || verb == .mount: placeHeaderFile
        case .headerDetached: nameHeaderFile
        case .notDetached: Hint("leave out --header; it is the header file of an earlier state, or of a copy")
        case .limitExceeded:
            Hint("a passphrase needs more memory than there is; a key that has a slot still opens it")
        case .truncated: truncated
        case .footerDamaged, .paddingNotZero, .trailingData: repairEnd
        case .headerDamaged: searchHeader
        case .recordDamaged, .manifestMalformed, .manifestMismatch, .contentMismatch: recover
        case .unexpectedState:
            Hint(
                "someone may have put an old header back; if you have changed its keys since, vaultfile inspect --pin "
                    + "makes the new pin")
        case .mixedRecipients: allowClassical
        case .consentNeeded where verb?.isOfStore == true:
            Hint("vaultfile repair --give-up-access does it to the file by itself, with the key of its class")
        case .notVaultfile: Hint("it is not encrypted by vaultfile")
        case .pluginFailed: Hint("-v shows what the plugin says")
        case .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags, .unsupportedMember:
            Hint("a newer vaultfile may support it")
        default: nil
        }
    }

    private static func inPlace(_ code: VaultError.Code, _ verb: VerbName) -> Hint? {
        switch code {
        case .truncated where verb == .repair, .footerDamaged where verb == .repair,
            .paddingNotZero where verb == .repair, .trailingData where verb == .repair:
            recoverCut
        case .headerDetached where verb == .rotate:
            Hint("give the header file itself: vaultfile rotate HEADER-FILE changes its keys")
        case .notDetached where verb == .attach:
            Hint("vaultfile inspect shows the slots of both; remove the file yourself if nothing needs it")
        case .consentNeeded where verb == .detach: Hint("--force replaces it")
        case .copiesConflict:
            Hint("vaultfile inspect shows both; vaultfile repair --keep front or --keep tail keeps one")
        case .rotationUnfinished:
            Hint(
                "give the key that was being added; after an interrupted detach, vaultfile repair with the header file "
                    + "completes it; vaultfile repair --keep front gives up the newer copy")
        case .consentNeeded where verb != .reencrypt: giveUpAccess
        case .hardLinks: Hint("--break-links does it anyway")
        case .lastSlot where verb == .rotate:
            Hint("--add K keeps or makes a slot for K; --remove others removes all that --add does not name")
        case .generationExhausted: Hint("vaultfile reencrypt makes a new container of it")
        default: nil
        }
    }

    /// The hint for an error about the keyring; nil if the error's own hint fits.
    static func ofKeyring(_ code: VaultError.Code) -> Hint? {
        switch code {
        case .keyringUnprotected:
            Hint("a keyring that was made with --unprotected takes --unlock unprotected and nothing else")
        case .consentNeeded: Hint("unlock it with something that you keep, or name with --add what will unlock it")
        case .lastSlot: addUnlocker
        case .rotationUnfinished:
            Hint(
                "the keyring still opens with what was given; to change what unlocks it, unlock it with the secret "
                    + "that was being added, or use vaultfile key passphrase --renew")
        // The usual hint names repair and recover, which do not work on a keyring.
        case _ where ExitStatus(code) == .damaged: restoreKeyring
        default: nil
        }
    }

    /// The hint for header copies that are not both intact; nil if both are.
    static func of(_ health: Health) -> Hint? {
        switch health {
        case .intact: nil
        case .frontDamaged, .tailDamaged:
            Hint("the contents are right; vaultfile repair makes this header copy again from the other one")
        case .rotationUnfinished:
            Hint(
                "the contents are right; the same command again finishes it, and so does vaultfile repair with the key or the "
                    + "header file that was new")
        case .copiesConflict:
            Hint(
                "the contents are right; vaultfile repair --keep front or --keep tail keeps one copy; find out who "
                    + "else could write to the container")
        }
    }

    // MARK: Containers

    private static let repairEnd = Hint("\(repairOr)\(recover.text)")
    private static let repairEndOfFolder = Hint("\(repairOr)\(recoverFolder.text)")
    private static let repairOr = "vaultfile repair mends the end if the contents are intact; if not, "
    static let recover = Hint("vaultfile recover saves the parts that are intact")
    /// For a container whose end is lost with a part of its contents.
    static let recoverCut = Hint("vaultfile recover saves the parts that are left and intact")
    private static let recoverFolder = Hint(
        "vaultfile recover -o SAVED.tar saves the parts that are intact, and tar -x -i -f SAVED.tar takes the files out "
            + "of them")
    static let extractIntact = Hint(
        "vaultfile extract -C FOLDER takes out the intact files and names the lost ones; \(recover.text)")
    /// No repair: it would say the same.
    private static let truncated = Hint("\(completeOr)\(recoverCut.text)")
    private static let truncatedFolder = Hint("\(completeOr)\(recoverFolder.text)")
    private static let completeOr = "the end is missing: get a complete copy; otherwise "
    private static let saveInput =
        Hint("if it should be whole, look for an error of what writes it; repair and recover need a file")
    private static let searchHeader =
        Hint("vaultfile recover looks for another header copy in the file, and saves the parts that are intact")
    static let noHeader = Hint(
        "without a header copy nothing can be saved; a backup of the container has one, even if only its beginning or "
            + "its end is left")
    static let repairEndOnly =
        Hint("no byte of the contents is lost; vaultfile repair mends the end, and cuts off what follows it")
    static let incomplete = Hint("the output is incomplete: do not use it")
    static let giveUpAccess = Hint("--give-up-access does it anyway")
    static let addKeepsSlot = Hint(
        "--add with that person's public key, or with that key, makes a slot again; --remove ID or --remove others gives "
            + "it up")
    static let dropSignatures = Hint("--drop-signatures leaves them out")
    static let editKeepsSlot = Hint(
        "give what opens them too, as in -k NAME -p; --remove ID or --remove others gives them up; vaultfile rotate "
            + "changes slots of retired keys to the current key")
    static let setEditor = Hint("VISUAL or EDITOR names the editor")
    static let editorWaits = Hint("if its window is still open, tell it to wait, as in EDITOR='code --wait'")
    static let allowDisk = Hint("XDG_RUNTIME_DIR names a folder in memory; --allow-disk takes this one")
    static let yesCutsOff = Hint("--yes cuts them off; make a copy first if they may be something else")
    static let headerChooses = Hint("each leads to other contents; --header-at OFFSET chooses one")
    static let headerNames = Hint("--header-at OFFSET names the one to use")
    static let headerMultiples = Hint("header copies are found at multiples of their own size or of 4096 bytes")
    static let tarOfOutput = Hint("tar -x -i -f OUTPUT takes the files out of what was recovered")
    static func alsoLost(_ count: UInt64) -> Hint { Hint("\(count) of them are lost too, and are zeros in the output") }
    static let hiddenSlots = Hint(
        "a hidden slot is not found by its public key, but by its identity, as in identity-file:PATH, or by its ID; "
            + "--remove others removes all that are not added")
    static let inspectSlots = Hint(
        "vaultfile inspect shows the slots of a container and their IDs; a slot of a destroyed identity is named by its "
            + "public key or by the ID of the slot")

    /// A slot for a post-quantum key does not protect what a classical one has opened before.
    static let reencryptForStrength =
        Hint("vaultfile reencrypt, with post-quantum keys only, makes a container that it does not open")
    private static let allowClassical =
        Hint("--allow-classical does it anyway; only post-quantum keys alone (age1pq1…) withstand a quantum computer")

    // MARK: The command line

    static func help(_ names: [String]) -> Hint { Hint("see " + (["vaultfile help"] + names).joined(separator: " ")) }
    static func didYouMean(_ command: String) -> Hint { Hint("did you mean \(command)?") }
    static let begin = Hint(
        "vaultfile encrypt -p FILE encrypts a file, vaultfile decrypt FILE.vault decrypts it, \(listsCommands)")
    /// A name as a shell takes it.
    static func quoted(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || "0123456789._/+@%,:-".utf8.contains(byte)
        }
        guard !isPlain else { return name }
        // An apostrophe ends the quotes: what follows it in a name that a stranger chose would become a command. What is
        // escaped needs the other quotes. It looks at scalars: an apostrophe with an accent behind it is one Character,
        // and an apostrophe for the shell.
        let scalars = name.unicodeScalars
        guard scalars.contains(where: { $0 == "'" || $0 == "\\" }) else { return "'\(name)'" }
        var quoted = String.UnicodeScalarView("$'".unicodeScalars)
        for scalar in scalars {
            if scalar == "'" { quoted.append("\\") }
            quoted.append(scalar)
        }
        quoted.append("'")
        return String(quoted)
    }
    static func begin(withFile name: String) -> Hint {
        Hint("vaultfile encrypt -p \(quoted(name)) encrypts it with a passphrase; \(listsCommands)")
    }
    static func begin(withFolder name: String) -> Hint {
        // These have no name that a container could get.
        [".", "..", "/"].contains(name)
            ? Hint("vaultfile encrypt --recursive \(quoted(name)) encrypts the files in it; \(listsCommands)")
            : Hint("vaultfile encrypt \(quoted(name)) makes one container of it; \(listsCommands)")
    }
    static func begin(withContainer name: String) -> Hint {
        let name = quoted(name)
        return Hint("vaultfile decrypt \(name) decrypts it, vaultfile cat \(name) shows it; \(listsCommands)")
    }
    private static let listsCommands = "vaultfile help lists all commands"
    static let nameFiles = Hint("name the files; - is standard input")
    static let nameFile = Hint("name the file")
    static let nameInput = Hint("give its name as INPUT")
    static let shortOptionsApart = Hint("write the other options apart, as in -f -oFILE")
    static func nameStore(_ name: String) -> Hint { Hint("-S \(quoted(name)) names the folder") }
    static func nameKeyFile(_ name: String) -> Hint { Hint("-o \(quoted(name)) writes a key file") }
    static let extractInto = Hint("-C FOLDER names the folder to write into")
    static let commandFirst = Hint("the command comes first, as in vaultfile encrypt -p FILE")
    static let passphraseOptions = Hint("-p asks for it; --passphrase-file and --passphrase-fd read it")
    static let nullEndsNames = Hint("-0 is for names that end with a NUL")
    static let rotateNeeds = Hint("give --add K or --remove K, or make a keyring with vaultfile key generate")
    static let yesDoesNotAsk = Hint("--yes does it without asking")

    // MARK: Outputs

    static let outputBesideInput = Hint("without -o, each output is written beside its input")
    static let outputFolder = Hint("-o FOLDER/ takes them all")
    static let outputFolderAlso = Hint("of -o, only -o FOLDER/ goes with it")
    static let outputIntoFolder = Hint("-o FOLDER/, with the slash, writes into it")
    static let otherHeaderName = Hint("the header file is a file of its own: give it another name")
    static let nameHeaderFile = Hint("--header FILE names it; \(ifHeaderFilesAreLost)")
    /// For verbs without that option.
    private static let placeHeaderFile =
        Hint("it has to be beside the container, under the name that detach gives it; \(ifHeaderFilesAreLost)")
    private static let ifHeaderFilesAreLost =
        "a container whose header files are all lost cannot be opened any more"
    /// For what is wrong with a header file: nothing repairs one.
    static let otherHeaderFile = Hint("--header FILE names another copy of it")
    static let otherCopyOfHeaderFile = Hint("another copy of the header file opens the container as before")
    static let nameContainerOfHeaderFile = Hint("name the container; --header names this file")
    static let nameOutput = Hint("name the output with -o")
    static func nameOutput(_ name: String) -> Hint { Hint("-o \(quoted(name)) names the output") }
    private static let nameContainer = Hint("name the container, as in docs.tar.vault")
    private static let keyFileStays = Hint("a key file is never replaced: choose another name")
    static let makeFolder = Hint("make the folder first, with mkdir")
    static let outputName = Hint("give -o a name")
    static let outputFileOrTerminal = Hint("-o FILE writes to a file, -o - to the terminal anyway")
    static let outputTerminal = Hint("-o - writes to the terminal anyway")
    static let forceShows = Hint("--force shows it anyway; vaultfile decrypt writes it to a file")
    static let forceReplaces = Hint("-f replaces it")
    static let keysAreNotReplaced = Hint(
        "name another output with -o; if nothing needs these keys any more, remove the file yourself")
    static let forceInsteadOfUpdate = Hint("vaultfile encrypt -f, for this file alone, replaces it")
    static let keysOfUpdate =
        Hint("name every key and passphrase that is to open it; or vaultfile encrypt -f, for this file alone")

    // MARK: Inputs

    static let encryptKeysByName = Hint("name the file itself, without --recursive, if it is to be encrypted")
    static let folderInput = Hint("--recursive takes the files in it")
    private static let folderOfContainers = Hint("--recursive takes the containers in it")
    static let pipeContainer = Hint("pipe it in to encrypt it once more")
    static let encryptAgain = Hint("if that matters, encrypt it again while no program writes to it")
    static let forceRemoves =
        Hint("make sure that no program writes to it, then -f makes the output again and removes it anyway")
    static let removeLater = Hint("close it there; the same command then checks what was made, and removes the input")
    static let saveDisk = Hint("recover reads only files and disks: save it to a file first")
    /// A pipe cannot be read at any place, which this needs.
    static func needsFile(_ what: String) -> Hint { Hint("\(what) can be read only from a regular file") }

    // MARK: The system

    static let openFiles = Hint("ulimit -n limits the open files of a program, and is too low")
    static let limits = Hint("see ulimit -u and ulimit -v, or the limits of a container")
    static let procMounted = Hint("is /proc mounted?")
    static let bug = Hint("this is a bug of vaultfile")
}
