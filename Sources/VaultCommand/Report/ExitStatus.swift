internal import SystemPackage
internal import VaultFile
internal import VaultStore

/// The exit statuses, numbered as in <sysexits.h>.
enum ExitStatus: Int32, Sendable {
    /// Done. Also if a decrypted container is damaged but its plaintext is right.
    case done = 0
    /// The command line is invalid, or does not fit this input.
    case usage = 64
    /// Damaged, tampered with, cut short, or not a vaultfile.
    case damaged = 65
    /// The input does not exist or cannot be read.
    case noInput = 66
    /// The container has a version, suite or feature that this build does not support, or the system lacks what the
    /// verb needs.
    case unsupported = 69
    /// A bug of this program.
    case bug = 70
    /// The output exists already or cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed, for example on a full disk, or the system has no thread or no memory left.
    case inputOutput = 74
    /// Another vaultfile is changing it, or another program has an input open that was to be removed.
    case inUse = 75
    /// No given key opens the container.
    case noKeyFits = 77
    /// There is no key: a file, a command or a terminal is missing, or what it gives is not a key.
    case noKey = 78
    /// The class of an item of a store is locked.
    case locked = 79
    /// The store was wiped.
    case gone = 80

    /// The status for an error of the library.
    init(_ code: VaultError.Code) {
        self = Self.table[code] ?? .bug
    }

    /// The status for a system error, which either means that a file cannot be opened or created under a name, or that
    /// a medium failed.
    ///
    /// - Parameter missing: The status for a file that is missing or cannot be read.
    init(ofSystem error: any Error, missing: ExitStatus) {
        let known = error as? VaultError
        let number = known?.systemError ?? error as? Errno
        let isOutput = known?.code == .outputFailed
        guard let number else {
            self = isOutput ? .inputOutput : missing
            return
        }
        guard Self.isOfName(number) else {
            self = .inputOutput
            return
        }
        // Only writing can give the error that a file system is read-only.
        self = isOutput || number == .readOnlyFileSystem ? .cannotCreate : missing
    }

    /// Whether the error means that a file cannot be opened or created under a name, and not that a medium failed.
    static func isOfName(_ error: Errno) -> Bool { ofNames.contains(error) }

    private static let ofNames: Set<Errno> = [
        .noSuchFileOrDirectory, .notDirectory, .isDirectory, .permissionDenied, .notPermitted, .readOnlyFileSystem,
        .tooManySymbolicLinkLevels, .fileNameTooLong, .fileExists, .invalidArgument,
    ]

    /// The status for every error of the library. A test compares this with the library's list.
    static let table = Dictionary(uniqueKeysWithValues: codes.flatMap { status, codes in codes.map { ($0, status) } })

    private static let codes: [ExitStatus: [VaultError.Code]] = [
        .usage: [
            .rangeInvalid, .badContext, .invalidArgument, .notDetached, .doesNotFit, .mixedRecipients, .lastSlot,
            .tooLarge,
        ],
        .damaged: [
            .notVaultfile, .headerDamaged, .headerMalformed, .headerForged, .copiesDisagree, .copiesConflict,
            .unexpectedState, .recordDamaged, .manifestMalformed, .manifestMismatch, .contentMismatch,
            .packingMalformed, .paddingNotZero, .indexMismatch,
            .footerDamaged, .truncated, .trailingData, .keyringMalformed, .keyringUnprotected,
        ],
        .noInput: [.headerDetached],
        .unsupported: [
            .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags, .unsupportedMember,
            .generationExhausted, .keyStoreUnavailable,
        ],
        .cannotCreate: [.hardLinks, .outputExists, .outputNotReplaceable, .keyExists, .keyNameTaken],
        .inputOutput: [.inputFailed, .outputFailed, .memoryUnavailable],
        .inUse: [.inUse, .keyringProtected],
        .bug: [.forked],
        // With `limitExceeded` a passphrase was not tried. If that was for lack of memory, the status is 74.
        .noKeyFits: [.limitExceeded, .wrongKey, .consentNeeded, .rotationUnfinished, .keyringMismatch],
        .noKey: [.badKey, .badPassphrase, .noSuchKey, .keyDestroyed, .noCurrentKey, .pluginFailed],
    ]

    /// The status for an error of a store.
    init(_ code: StoreError.Code) {
        self =
            switch code {
            case .locked: .locked
            case .gone: .gone
            case .noSuchItem, .noSuchAccount: .noInput
            case .itemExists, .itemChanged, .storeExists: .cannotCreate
            case .keysChanged: .inUse
            case .storeForged, .storeMalformed: .damaged
            case .noKeybag, .noPublicKey, .invalidName, .protectionNeeded: .usage
            default: .bug
            }
    }

    /// The status of a run over several inputs: 65 if any input has it, else that of the first failure.
    static func ofAll(_ statuses: [ExitStatus]) -> ExitStatus {
        statuses.reduce(.done) { $0.followed(by: $1) }
    }

    /// The status of a run after one more input.
    func followed(by next: ExitStatus) -> ExitStatus {
        if next == .damaged { return .damaged }
        return self == .done ? next : self
    }
}
