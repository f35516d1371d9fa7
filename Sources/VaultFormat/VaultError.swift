/// An error of the library: the one error type of every layer.
///
/// A program decides by ``code``. The other properties say where and why, for people and for logs; none of them holds a
/// key, a passphrase or a byte of plaintext.
///
/// **Equality.** Two errors are equal if their codes are. Compare ``message``, ``offset`` and ``record`` where they
/// matter.
public struct VaultError: Error, Sendable {
    /// What failed. The set is open: a later version of the library can add codes, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String, CaseIterable {
            case notVaultfile, unsupportedVersion, unsupportedSuite, unsupportedCompression, unsupportedFlags
            case headerDamaged, headerMalformed, copiesDisagree, unexpectedState, limitExceeded, wrongKey, headerForged
            case headerDetached, notDetached
            case recordDamaged, manifestMalformed, unsupportedMember, manifestMismatch, contentMismatch
            case packingMalformed, paddingNotZero, footerDamaged, truncated, trailingData, rangeInvalid, indexMismatch
            case badKey, badPassphrase, badContext, tooLarge, doesNotFit, mixedRecipients, pluginFailed, lastSlot
            case consentNeeded, hardLinks, generationExhausted, copiesConflict, rotationUnfinished
            case invalidArgument, inputFailed, outputFailed, outputExists, outputNotReplaceable, inUse
            case memoryUnavailable, keyStoreUnavailable, forked, cancelled
            case keyringMalformed, keyringMismatch, keyringUnprotected, keyringProtected
            case noSuchKey, keyDestroyed, noCurrentKey, keyExists, keyNameTaken
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        /// The name of the error: the Spec's (chapter 16.2 and appendix B), or one of the library's own.
        public var name: String { value.rawValue }

        /// The same as ``name``.
        public var description: String { name }

        /// What a cancelled call on a thread of the library throws. The asynchronous call throws a `CancellationError`
        /// instead.
        package static var cancelled: Code { Code(.cancelled) }

        package static var all: [Code] { Value.allCases.map { Code($0) } }

        // MARK: Containers (Spec, chapter 16.2)

        /// The input does not begin like a container, and does not end like one.
        public static let notVaultfile = Code(.notVaultfile)
        /// The version of the format, or of the keyring's text, is unknown.
        public static let unsupportedVersion = Code(.unsupportedVersion)
        /// The suite of primitives is unknown.
        public static let unsupportedSuite = Code(.unsupportedSuite)
        /// The compression is unknown, or not allowed here: a keyring is never compressed.
        public static let unsupportedCompression = Code(.unsupportedCompression)
        /// A flag is set that is unknown.
        public static let unsupportedFlags = Code(.unsupportedFlags)
        /// No usable header copy is intact, or the copy that the caller wants to keep is not valid.
        public static let headerDamaged = Code(.headerDamaged)
        /// An intact header copy breaks a rule of its form, or exceeds a cap of the format.
        public static let headerMalformed = Code(.headerMalformed)
        /// Both header copies are intact, but they belong to different containers.
        public static let copiesDisagree = Code(.copiesDisagree)
        /// No valid header copy is of the state that the caller requires: it is of another container, or older, or
        /// another header of the same generation.
        public static let unexpectedState = Code(.unexpectedState)
        /// Opening would cost more than the caller's limits or the available memory allow, or the plaintext is longer
        /// than the caller allows.
        public static let limitExceeded = Code(.limitExceeded)
        /// No given key or passphrase opens the container with the given context.
        public static let wrongKey = Code(.wrongKey)
        /// A key fits, but the header was changed without the file key.
        public static let headerForged = Code(.headerForged)
        /// The slots are in a header file, and none was given (Spec, chapter 23).
        public static let headerDetached = Code(.headerDetached)
        /// A header file was given for a container that has its own slots (Spec, chapter 23).
        public static let notDetached = Code(.notDetached)
        /// A record was changed or moved, or is not a record.
        public static let recordDamaged = Code(.recordDamaged)
        /// The manifest breaks a rule of its form.
        public static let manifestMalformed = Code(.manifestMalformed)
        /// The manifest has a member that a reader must know, and the library does not know it.
        public static let unsupportedMember = Code(.unsupportedMember)
        /// The lengths in the manifest are not those of the container.
        public static let manifestMismatch = Code(.manifestMismatch)
        /// The plaintext's SHA-256 is not the manifest's.
        public static let contentMismatch = Code(.contentMismatch)
        /// The packed stream or its index breaks a rule of its form.
        public static let packingMalformed = Code(.packingMalformed)
        /// A byte between the manifest and the tail header copy is not zero.
        public static let paddingNotZero = Code(.paddingNotZero)
        /// The footer is not the one that belongs to this container.
        public static let footerDamaged = Code(.footerDamaged)
        /// The container ends too early.
        public static let truncated = Code(.truncated)
        /// Something follows the footer.
        public static let trailingData = Code(.trailingData)
        /// A range does not lie within the plaintext.
        public static let rangeInvalid = Code(.rangeInvalid)
        /// The index of a tar stream leads to something else than it says (Spec, chapter 24).
        public static let indexMismatch = Code(.indexMismatch)
        /// A symmetric key is not 32 bytes, is all zero, or is mistyped in its text form; or a recipient or an identity is
        /// none, or of a kind that this system cannot use.
        public static let badKey = Code(.badKey)
        /// A passphrase has no bytes, or more than 1024.
        public static let badPassphrase = Code(.badPassphrase)
        /// A context has more than 65,535 bytes.
        public static let badContext = Code(.badContext)
        /// The plaintext, or what describes it, is more than a container can hold.
        public static let tooLarge = Code(.tooLarge)
        /// The slots do not fit a header, or exceed its caps.
        public static let doesNotFit = Code(.doesNotFit)

        /// A post-quantum and a classical public key together, and the caller has not agreed to it; or a plugin has given
        /// its recipient a label that is not known.
        public static let mixedRecipients = Code(.mixedRecipients)

        /// An age plugin is missing or failed, and nothing else opens the container; or it wrapped nothing.
        public static let pluginFailed = Code(.pluginFailed)

        // MARK: Changing keys (Spec, chapter 16.2)

        /// No slot would be left, so no one could open the container; or nothing would unlock the keyring.
        public static let lastSlot = Code(.lastSlot)
        /// The caller, or another person, would lose something, and the caller has not agreed to it.
        public static let consentNeeded = Code(.consentNeeded)
        /// The file has other hard links, which would keep the old contents.
        public static let hardLinks = Code(.hardLinks)
        /// The header has been changed 2³² − 1 times. Only re-encryption is left.
        public static let generationExhausted = Code(.generationExhausted)
        /// Two valid header copies contradict each other. The caller says which one to keep.
        public static let copiesConflict = Code(.copiesConflict)
        /// A change of keys was interrupted, and no given secret opens the newer header copy.
        public static let rotationUnfinished = Code(.rotationUnfinished)

        // MARK: Files and arguments (not errors of the Spec)

        /// Options contradict each other or the format.
        public static let invalidArgument = Code(.invalidArgument)
        /// The input cannot be opened or read. The system's error, if there is one, says why.
        public static let inputFailed = Code(.inputFailed)
        /// The output cannot be made or written. The system's error, if there is one, says why.
        public static let outputFailed = Code(.outputFailed)
        /// The output exists, and the caller did not ask to replace it.
        public static let outputExists = Code(.outputExists)
        /// The output exists and cannot be replaced: it is not a regular file, or it changed in the meantime.
        public static let outputNotReplaceable = Code(.outputNotReplaceable)
        /// Another process is changing the container's keys, or the keyring (Spec, appendix B). Try again later.
        public static let inUse = Code(.inUse)
        /// The system has no memory left: locked memory for a secret, or memory for chunks or for compression.
        public static let memoryUnavailable = Code(.memoryUnavailable)
        /// The system has no store for the keys of unlocked keyrings, or keeps this process from it, as many containers
        /// of programs do.
        public static let keyStoreUnavailable = Code(.keyStoreUnavailable)
        /// The writer belongs to another process: this one was forked from it. Two processes with one writer would
        /// encrypt different bytes under the same nonces.
        public static let forked = Code(.forked)

        // MARK: Keyrings

        /// A keyring breaks a rule of its form (Spec, appendix B).
        public static let keyringMalformed = Code(.keyringMalformed)
        /// The keyring file and the unlock file beside it do not belong together (Spec, appendix B).
        public static let keyringMismatch = Code(.keyringMismatch)
        /// Nothing protects the keyring, and the caller did not allow that (Spec, appendix B).
        public static let keyringUnprotected = Code(.keyringUnprotected)
        /// Something protects the keyring already, and the caller did not ask to renew that (not an error of the Spec).
        public static let keyringProtected = Code(.keyringProtected)
        /// The keyring does not have the key (not an error of the Spec).
        public static let noSuchKey = Code(.noSuchKey)
        /// The key was destroyed: the keyring has its entry, and not its secret (not an error of the Spec).
        public static let keyDestroyed = Code(.keyDestroyed)
        /// No key of the keyring is current (not an error of the Spec).
        public static let noCurrentKey = Code(.noCurrentKey)
        /// The keyring has the key already (not an error of the Spec).
        public static let keyExists = Code(.keyExists)
        /// The keyring has another key of this name (not an error of the Spec).
        public static let keyNameTaken = Code(.keyNameTaken)
    }

    /// What failed; what a program decides by.
    public let code: Code
    /// The check that failed, in words: English, lower case, one line, no full stop.
    public let message: String
    /// The offset of the structure that failed in the container, in bytes; nil if the error has no place.
    public let offset: UInt64?
    /// The index of the record that failed, if it was one.
    public let record: UInt64?
    /// Whether it is about the file with the unlock key of a keyring, and not about the keyring file.
    public private(set) var isAboutUnlockKey = false
    /// Whether it is about the header file of a detached container, and not about the container.
    public private(set) var isAboutHeaderFile = false
    /// The `errno` of the system call that failed, if it was one. `VaultFile` makes an `Errno` of it.
    package let errorNumber: Int32?

    /// ENOMEM, which has this number on every system.
    package static let noMemory: Int32 = 12

    package init(
        _ code: Code, _ message: String, offset: UInt64? = nil, record: UInt64? = nil, errorNumber: Int32? = nil
    ) {
        self.code = code
        self.message = message
        self.offset = offset
        self.record = record
        self.errorNumber = errorNumber
    }

    /// The same error, at a place in the container.
    package func at(_ offset: UInt64, record: UInt64? = nil) -> VaultError {
        VaultError(code, message, offset: offset, record: record ?? self.record, errorNumber: errorNumber)
    }

    /// The same error, about the header file of a detached container.
    package var ofHeaderFile: VaultError {
        guard !isAboutHeaderFile else { return self }
        // An offset would be taken for one in the container.
        var error = VaultError(code, "its header file: \(message)", errorNumber: errorNumber)
        error.isAboutHeaderFile = true
        return error
    }

    /// The same error, about the file with the unlock key of a keyring.
    package var ofUnlockKey: VaultError {
        var error = self
        error.isAboutUnlockKey = true
        return error
    }
}

extension VaultError: Hashable {
    /// Whether both errors have the same code.
    public static func == (left: VaultError, right: VaultError) -> Bool { left.code == right.code }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension VaultError: CustomStringConvertible {
    /// Code, message and place, on one line.
    public var description: String {
        var text = "\(code.name): \(message)"
        if let record { text += ", record \(record)" }
        if let offset { text += ", at byte \(offset)" }
        return text
    }
}
