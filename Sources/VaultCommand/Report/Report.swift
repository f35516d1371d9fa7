internal import VaultFile

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// One line of `--json`. `json-schema.json` lists the members; they are never removed.
struct Report: Encodable {
    /// The schema's name.
    let schema = "vaultfile.v1"
    /// Whether this is a result, a message, a summary or the use of a key.
    var kind: Kind
    /// The verb that ran. Only results and summaries have it; it is added when the line is made.
    private var verb: VerbName?
    /// The input, if its name is UTF-8.
    var path: String?
    /// The input, if its name is not UTF-8, in Base64.
    var pathBase64: String?
    /// For an input `ok` or `failed`; for a message `error`, `warning` or `note`.
    var status: Status
    /// The exit status that this input alone would give.
    var exit: Int32?
    /// The error's name in the format's specification.
    var error: String?
    /// Where in the container, in bytes.
    var offset: UInt64?
    /// The lost range of the plaintext: its first byte, and the first byte after it.
    var range: [UInt64]?
    /// The message as text.
    var message: String?
    /// What to do about it.
    var hint: String?
    /// The output, if its name is UTF-8.
    var output: String?
    /// The output, if its name is not UTF-8, in Base64.
    var outputBase64: String?
    /// The length of the plaintext.
    var length: UInt64?
    /// The state of the two header copies.
    var health: String?
    /// The outcome for a container that was to be changed.
    var outcome: OutcomeName?
    /// True for a dry run: nothing was changed, and the outcome says what would be done. Left out otherwise.
    var dryRun: Bool?
    /// What was changed in its header.
    var rotation: RotationReport?
    /// How much `verify` read: `full` or `quick`.
    var extent: String?
    /// A key's ID.
    var keyID: String?
    /// When a key was made, in UTC.
    var created: String?
    /// The state of a key of the keyring: `current`, `retired` or `destroyed`.
    var state: String?
    /// How many containers need a destroyed key.
    var scanned: ScanReport?
    /// What `inspect` sees without a key.
    var container: ContainerReport?
    /// What `inspect` sees with a key.
    var manifest: ManifestReport?
    /// The name of a key of the keyring.
    var keyName: String?
    /// How many containers use a key.
    var use: KeyUseReport?
    /// In a summary: how many inputs had each outcome.
    var outcomes: [String: UInt64]?
    /// In a summary: how many files were found that are not inputs of the verb.
    var passedOver: UInt64?
    /// In a summary: how many bytes were processed.
    var bytes: UInt64?

    /// What `recover` found.
    var recovery: RecoveryReport?
    /// The offsets of the header copies from which the user has to choose one.
    var headerOffsets: [UInt64]?

    /// What a line of `--json` is.
    enum Kind: String, Encodable {
        case result, message, summary, keyUse
    }

    /// The status of a result or a message.
    enum Status: String, Encodable {
        case ok, failed, error, warning, note
    }

    init(_ kind: Kind, _ status: Status) {
        self.kind = kind
        self.status = status
    }

    /// A result about `subject`.
    init(_ status: Status, about subject: Failure.Subject? = nil) {
        self.init(.result, status)
        exit = ExitStatus.done.rawValue
        if let subject { name(subject) }
    }

    /// The result of an input that failed.
    init(_ failure: Failure, about subject: Failure.Subject) {
        self.init(.failed, about: subject)
        exit = failure.status.rawValue
        error = failure.code
        offset = failure.offset
        headerOffsets = failure.headerOffsets
    }

    mutating func name(_ subject: Failure.Subject) {
        switch subject {
        case .path(let bytes): (path, pathBase64) = Self.text(of: bytes)
        case .standardInput: path = "-"
        case .standardOutput, .text: break
        }
    }

    mutating func name(output bytes: [UInt8]) {
        (output, outputBase64) = Self.text(of: bytes)
    }

    private static func text(of bytes: [UInt8]) -> (String?, String?) {
        if let text = String(validating: bytes, as: UTF8.self) { return (text, nil) }
        return (nil, Data(bytes).base64EncodedString())
    }

    /// The object, on one line.
    func line(_ verb: VerbName?) throws -> String {
        var report = self
        report.verb = verb
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Escaping.json(String(decoding: try encoder.encode(report), as: UTF8.self))
    }
}

/// How many containers in some folders need a key, according to their headers.
struct ScanReport: Encodable {
    /// How many containers were examined.
    var containers: Int
    /// How many of them have a slot for the key.
    var needing: Int
    /// How many of those have no slot for another key or a passphrase.
    var needingOnly: Int
    /// How many files and folders could not be examined.
    var unreadable: Int
}

/// How many containers and bytes a key, or a kind of slot, opens.
struct KeyUseReport: Encodable {
    /// `key`, `passphrase`, `other` or `furtherKeys`.
    var kind: String
    var files: UInt64
    var bytes: UInt64
    /// How many of these have no slot for another key or a passphrase.
    var filesWithoutOther: UInt64
}

/// What anyone can see of a container. None of this is authenticated.
struct ContainerReport: Encodable {
    /// Always false.
    let authenticated = false
    /// The container's length.
    var containerLength: UInt64
    /// The length of the data in the records: of the plaintext, unless it is packed.
    var streamLength: UInt64?
    /// The length of the manifest, a class of sizes.
    var manifestLength: Int?
    /// The front header copy.
    var front: CopyReport
    /// The tail header copy.
    var tail: CopyReport
    /// Whether both copies are the same bytes.
    var copiesAreIdentical: Bool
    /// Why opening would fail before it tries a key.
    var problem: String?
}

/// One header copy.
struct CopyReport: Encodable {
    /// `intact`, `malformed` or `damaged`.
    var status: String
    /// The name of the error.
    var error: String?
    /// What is wrong, in words.
    var check: String?
    var fileID: String?
    var commitment: String?
    var chunkSize: Int?
    var compression: UInt8?
    var capacity: Int?
    var generation: UInt32?
    var slots: [SlotReport]?
}

/// One slot of a header copy.
struct SlotReport: Encodable {
    /// `key`, `passphrase` or `other`.
    var kind: String
    var type: UInt16
    var id: String
    var passes: UInt32?
    var memoryKiB: UInt32?
    /// Whether a given key opens it; left out if none was given.
    var opened: Bool?
}

/// What was changed in a header, or with `--dry-run` what would be.
struct RotationReport: Encodable {
    /// The header's generation: 1 plus the number of changes since the container was made.
    var generation: UInt32
    var capacity: Int
    var added: [SlotReport]
    /// For a re-encryption, the slots that the new container lacks.
    var removed: [SlotReport]
    /// Whether a damaged or older header copy, or a damaged end, was repaired.
    var repaired: Bool
    /// Whether a new file replaced the old one.
    var newFile: Bool
}

/// What only the holder of a key can see.
struct ManifestReport: Encodable {
    /// Always true.
    let authenticated = true
    var plaintextLength: UInt64
    var digest: String?
    var contentType: String?
    var name: String?
    /// The time in UTC, to the second, if its year has four digits.
    var modified: String?
    var modifiedSeconds: Int64?
    var modifiedNanoseconds: UInt32?
    /// The mode in octal digits.
    var mode: String?
}

/// What was recovered from a damaged container.
struct RecoveryReport: Encodable {
    /// The offset of the header copy that was used.
    var headerOffset: UInt64
    /// Whether the end of the container was found. It authenticates the length of the plaintext.
    var lengthAuthenticated: Bool
    /// How many bytes of the output are zeros in place of lost ones.
    var lostLength: UInt64
}
