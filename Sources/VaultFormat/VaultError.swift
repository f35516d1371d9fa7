/// What can go wrong: the one error type of every layer.
///
/// `code` is what a program decides by; its `name` is the error name of the Spec. The rest says where and why, for
/// people. No text of an error holds a key, a passphrase or a byte of plaintext.
public struct VaultError: Error, Hashable, Sendable {
    /// The check that failed, by the name that the Spec gives it.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case notVaultfile, unsupportedVersion, unsupportedSuite, unsupportedCompression, unsupportedFlags
            case headerDamaged, headerMalformed, copiesDisagree, limitExceeded, wrongKey, headerForged
            case recordDamaged, manifestMalformed, unsupportedMember, manifestMismatch, contentMismatch
            case packingMalformed, paddingNotZero, footerDamaged, truncated, trailingData, rangeInvalid
            case badKey, badPassphrase, badContext, tooLarge, doesNotFit, lastSlot
            case consentNeeded, hardLinks, generationExhausted, copiesConflict, rotationUnfinished
            case invalidArgument, inputFailed, outputFailed, outputExists, inUse, memoryUnavailable
            case keyringMalformed, noSuchKey, keyExists
        }

        private let value: Name

        private init(_ value: Name) {
            self.value = value
        }

        /// The error's name in the Spec, or one of ours for what the Spec does not speak of.
        public var name: String { value.rawValue }

        /// The same as `name`.
        public var description: String { name }

        /// Neither end has the magic.
        public static let notVaultfile = Code(.notVaultfile)
        /// A version of the format that this library does not know.
        public static let unsupportedVersion = Code(.unsupportedVersion)
        /// A suite of primitives that this library does not know.
        public static let unsupportedSuite = Code(.unsupportedSuite)
        /// A compression that this library does not know, or cannot undo.
        public static let unsupportedCompression = Code(.unsupportedCompression)
        /// A flag that this library does not know.
        public static let unsupportedFlags = Code(.unsupportedFlags)
        /// No header copy is intact.
        public static let headerDamaged = Code(.headerDamaged)
        /// A header copy breaks a rule of its form, or exceeds a cap.
        public static let headerMalformed = Code(.headerMalformed)
        /// Two intact header copies are not of one container.
        public static let copiesDisagree = Code(.copiesDisagree)
        /// Opening would exceed a limit that the caller set, or the memory that there is; or the plaintext is longer
        /// than he allows.
        public static let limitExceeded = Code(.limitExceeded)
        /// No key, passphrase or context given opens this container.
        public static let wrongKey = Code(.wrongKey)
        /// A key fits, but the header is not what a holder of the file key wrote.
        public static let headerForged = Code(.headerForged)
        /// A record is not what was sealed at its place.
        public static let recordDamaged = Code(.recordDamaged)
        /// The manifest breaks a rule of its form.
        public static let manifestMalformed = Code(.manifestMalformed)
        /// The manifest has a member that a reader must know and this library does not.
        public static let unsupportedMember = Code(.unsupportedMember)
        /// The manifest's length is not that of what was read.
        public static let manifestMismatch = Code(.manifestMismatch)
        /// The plaintext's SHA-256 is not the manifest's.
        public static let contentMismatch = Code(.contentMismatch)
        /// The packed stream breaks a rule of its form.
        public static let packingMalformed = Code(.packingMalformed)
        /// A byte between the manifest and the tail header copy is not zero.
        public static let paddingNotZero = Code(.paddingNotZero)
        /// The footer is not the one that belongs to this container.
        public static let footerDamaged = Code(.footerDamaged)
        /// The container ends too early.
        public static let truncated = Code(.truncated)
        /// Something follows the footer.
        public static let trailingData = Code(.trailingData)
        /// A range that does not lie within the plaintext.
        public static let rangeInvalid = Code(.rangeInvalid)
        /// A symmetric key that may not be used: not 32 bytes, all zero, or in its text form mistyped.
        public static let badKey = Code(.badKey)
        /// A passphrase of no byte, or of more than 1024.
        public static let badPassphrase = Code(.badPassphrase)
        /// A context of more than 65,535 bytes.
        public static let badContext = Code(.badContext)
        /// More plaintext, or more that describes it, than a container can hold.
        public static let tooLarge = Code(.tooLarge)
        /// The slots do not fit a header, or exceed its caps.
        public static let doesNotFit = Code(.doesNotFit)

        /// A container without any slot, which nobody could open.
        public static let lastSlot = Code(.lastSlot)
        /// It would take from the caller, or from others, what he has not said that he means to take.
        public static let consentNeeded = Code(.consentNeeded)
        /// The file has other names, which would go on to mean the old one.
        public static let hardLinks = Code(.hardLinks)
        /// The header has been changed 2³² − 1 times; only re-encryption goes on from there.
        public static let generationExhausted = Code(.generationExhausted)
        /// Two valid header copies contradict each other; the caller says which one he keeps.
        public static let copiesConflict = Code(.copiesConflict)
        /// A change of keys was interrupted, and no secret at hand opens the newer header copy.
        public static let rotationUnfinished = Code(.rotationUnfinished)

        /// Options that contradict each other or the format (not an error of the Spec).
        public static let invalidArgument = Code(.invalidArgument)
        /// The input cannot be read; `systemError` says why (not an error of the Spec).
        public static let inputFailed = Code(.inputFailed)
        /// The output cannot be written; `systemError` says why (not an error of the Spec).
        public static let outputFailed = Code(.outputFailed)
        /// The output exists and was not to be replaced (not an error of the Spec).
        public static let outputExists = Code(.outputExists)
        /// Somebody else is changing the container's keys, or the keyring (the Spec's appendix B).
        public static let inUse = Code(.inUse)
        /// The system has no guarded memory left for a secret (not an error of the Spec).
        public static let memoryUnavailable = Code(.memoryUnavailable)
        /// A keyring breaks a rule of its form (the Spec's appendix B).
        public static let keyringMalformed = Code(.keyringMalformed)
        /// The keyring has no such key, or not its secret any more (not an error of the Spec).
        public static let noSuchKey = Code(.noSuchKey)
        /// The keyring has this key, or a key of this name, already (not an error of the Spec).
        public static let keyExists = Code(.keyExists)
    }

    /// The check that failed, by name.
    public let code: Code
    /// The check that failed, in words: lower case, one line, no full stop.
    public let check: String
    /// Where in the container the structure begins that failed, in bytes; nil where no place is meant.
    public let offset: UInt64?
    /// The index of the record that failed, if it was one.
    public let record: UInt64?
    /// The `errno` of the system call that failed, if it was one.
    public let systemError: Int32?

    package init(
        _ code: Code, _ check: String, offset: UInt64? = nil, record: UInt64? = nil, systemError: Int32? = nil
    ) {
        self.code = code
        self.check = check
        self.offset = offset
        self.record = record
        self.systemError = systemError
    }

    /// What a `ByteSource` of a program's own throws when its medium fails: `inputFailed`. Only then `verify` takes it
    /// for damage and goes on behind it.
    public static func inputFailed(_ check: String, systemError: Int32? = nil) -> VaultError {
        VaultError(.inputFailed, check, systemError: systemError)
    }

    /// The same error, at a place in the container.
    package func at(_ offset: UInt64) -> VaultError {
        VaultError(code, check, offset: offset, record: record, systemError: systemError)
    }
}

extension VaultError: CustomStringConvertible {
    /// Name, check and place on one line.
    public var description: String {
        var text = "\(code.name): \(check)"
        if let record { text += ", record \(record)" }
        if let offset { text += ", at byte \(offset)" }
        return text
    }
}
