internal import VaultFile

/// The table of hints: what to do about a failure.
///
/// A failure with an error of the library gets the hint for that error and the verb, unless it has its own hint.
enum Hint {
    /// Suppresses the error's hint where it would not help.
    static let none = ""

    // MARK: Errors of the library, by verb

    /// The hint for an error of the library; nil if there is none.
    static func of(_ code: VaultError.Code, _ verb: VerbName?) -> String? {
        if verb == .recover, ExitStatus(code) == .damaged { return nil }
        if let verb, verb.worksInPlace, let hint = inPlace(code, verb) { return hint }
        return switch code {
        case .limitExceeded: "opening it with a passphrase needs more memory than there is; a key of it still opens it"
        case .truncated: "the end is missing: get a whole copy; otherwise " + repairEnd
        case .footerDamaged, .paddingNotZero, .trailingData: repairEnd
        case .headerDamaged, .recordDamaged, .manifestMalformed, .manifestMismatch, .contentMismatch: recover
        case .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags, .unsupportedMember:
            "a newer vaultfile may support it"
        default: nil
        }
    }

    private static func inPlace(_ code: VaultError.Code, _ verb: VerbName) -> String? {
        switch code {
        case .truncated where verb == .repair, .footerDamaged where verb == .repair,
            .paddingNotZero where verb == .repair, .trailingData where verb == .repair:
            recover
        case .headerDamaged where verb == .repair: none
        case .copiesConflict:
            "vaultfile inspect shows both; vaultfile repair --keep front or --keep tail keeps one"
        case .rotationUnfinished:
            "give the key that was being added; vaultfile repair --keep front gives up the newer copy"
        case .consentNeeded where verb != .reencrypt: "--give-up-access does it anyway"
        case .hardLinks: "--break-links does it anyway"
        case .generationExhausted: "vaultfile reencrypt makes a new container of it"
        default: nil
        }
    }

    /// The hint for header copies that are not both intact; nil if both are.
    static func of(_ health: Health) -> String? {
        switch health {
        case .intact: nil
        case .frontDamaged, .tailDamaged:
            "the contents are right; vaultfile repair makes the header copy again from the other, the only one left"
        case .rotationUnfinished: "the contents are right; vaultfile repair, or the same rotate again, finishes it"
        case .copiesConflict:
            "the contents are right; vaultfile repair --keep front or --keep tail keeps one copy; find out who else "
                + "could write to the container"
        }
    }

    private static let repairEnd = "vaultfile repair mends the end if the contents are whole; if not, " + recover
    static let recover = "vaultfile recover gets out what is left"
    static let repairEndOnly = "no byte of the contents is lost; vaultfile repair mends the end"
    static let notTheWhole = "what was written is not the whole: do not use it as such"
    static let addKeepsSlot = "--add keeps one, --remove ID or --remove others drops it"
    static let yesCutsOff = "--yes cuts them off; make a copy first if they may be something else"
    static let headerChooses = "each leads to other contents; --header OFFSET chooses one"
    static let headerNames = "--header OFFSET names the one to use"
    static let headerMultiples = "it is looked for at multiples of its own size or of 4096 bytes"

    // MARK: The command line

    static func help(_ names: [String]) -> String {
        "see " + (["vaultfile help"] + names).joined(separator: " ")
    }
    static let nameFiles = "name the files; - is standard input"
    static let nameFile = "name the file"
    static let nameInput = "give its name as INPUT"
    static let shortOptionsApart = "write the other options apart, as in -f -oFILE"
    static let passphraseOptions = "-p asks for it; --passphrase-file and --passphrase-fd read it"
    static let showsKeyOfFile = "--key-file FILE shows the key of a file"
    static let keyFileOrPassphrase = "use --key-file or -p"
    static let nullEndsNames = "-0 is for names that end with a NUL"

    // MARK: Outputs

    static let outputBesideInput = "each output is written beside its input"
    static let outputFolder = "-o FOLDER/ takes them all"
    static let outputFolderAlso = "only -o FOLDER/ goes with it"
    static let outputIntoFolder = "-o FOLDER/, with the slash, writes into it"
    static let sayOutput = "name the output with -o"
    static let outputName = "give -o a name"
    static let outputNeeded = "name it with -o OUTPUT"
    static let outputFileOrTerminal = "-o FILE writes to a file, -o - to the terminal anyway"
    static let outputTerminal = "-o - writes to the terminal anyway"
    static let forceReplaces = "-f replaces it"
    static let forceNeedsNoLink = "this file system may not be able to protect an existing file; -f works without that"

    // MARK: Inputs

    static let folderInput = "--recursive takes the files in it; tar makes one file of it"
    static let pipeContainer = "pipe it in to encrypt it once more"
    static let encryptAgain = "if that matters, encrypt it again while no program writes to it"
    static let storedNameNeedsSeek = "the stored name can be read only from a regular file"
    static let rangeNeedsSeek = "a range can be read only from a regular file"
    static let partsNeedSeek = "parts of a container can be read only from a regular file"
    static let inspectNeedsSeek = "inspect reads only regular files"
    static let quickNeedsSeek = "--quick reads only regular files"
    static let recoverNeedsSeek = "recover reads only files and disks: save it to a file first"

    // MARK: Keys

    static let rotateNeeds = "give --add K or --remove K, or make a keyring with vaultfile key generate"
    static let useMakesCurrent = "vaultfile key use NAME makes one current"

    // MARK: The system

    static let limits = "see ulimit -u and ulimit -v, or the limits of a container"
    static let procMounted = "is /proc mounted?"
    static let bug = "this is a bug of vaultfile"
}
