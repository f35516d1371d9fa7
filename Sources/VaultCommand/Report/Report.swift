internal import VaultFile

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// One line of `--json`. `json-schema.json` says what each member means; members are never removed.
struct Report: Encodable {
    let schema = "vaultfile.v1"
    var kind: Kind
    /// Added when the line is made; nil if the command line is not understood.
    private var verb: VerbName?
    var path: String?
    var pathBase64: String?
    var input: String?
    var inputBase64: String?
    var status: Status
    var exit: Int32?
    var error: String?
    var offset: UInt64?
    var range: [UInt64]?
    var message: String?
    var hint: String?
    var output: String?
    var outputBase64: String?
    var length: UInt64?
    var health: String?
    var outcome: OutcomeName?
    var dryRun: Bool?
    var rotation: RotationReport?
    var pin: String?
    var headerPin: String?
    var headerFile: String?
    var headerFileBase64: String?
    var extent: String?
    var keyID: String?
    var created: String?
    var state: String?
    var unlockedUntil: String?
    var wasUnlocked: Bool?
    var scanned: ScanReport?
    var container: ContainerReport?
    var header: CopyReport?
    var slots: [SlotReport]?
    var manifest: ManifestReport?
    var keyName: String?
    var recipient: String?
    var members: [String]?
    var keyCount: Int?
    var use: KeyUseReport?
    var outcomes: [String: UInt64]?
    var passedOver: UInt64?
    var links: UInt64?
    var specialFiles: UInt64?
    var bytes: UInt64?
    var recovery: RecoveryReport?
    var headerOffsets: [UInt64]?
    var item: ItemReport?
    var itemName: String?
    var store: StoreReport?
    var member: MemberReport?

    enum Kind: String, Encodable {
        case result, message, summary, keyUse
    }

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
        fail(failure)
    }

    /// Makes it the result of an input that failed.
    mutating func fail(_ failure: Failure) {
        status = .failed
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

    /// Names the input that the run works on.
    mutating func name(input: Failure.Subject?) {
        switch input {
        case .path(let bytes): (self.input, inputBase64) = Self.text(of: bytes)
        case .standardInput: self.input = "-"
        case .standardOutput, .text, nil: break
        }
    }

    mutating func name(output bytes: [UInt8]) {
        (output, outputBase64) = Self.text(of: bytes)
    }

    mutating func name(headerFile bytes: [UInt8]) {
        (headerFile, headerFileBase64) = Self.text(of: bytes)
    }

    static func text(of bytes: [UInt8]) -> (String?, String?) {
        if let text = String(validating: bytes, as: UTF8.self) { return (text, nil) }
        return (nil, Data(bytes).base64EncodedString())
    }

    /// The object, on one line.
    func line(_ verb: VerbName?) throws -> String {
        var report = self
        report.verb = verb
        return Escaping.json(String(decoding: try Self.encoder.encode(report), as: UTF8.self))
    }

    /// One for all lines: a list can have a million, and making an encoder takes as long as to encode a line.
    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
}

/// How many containers in some folders need a key, according to their headers.
struct ScanReport: Encodable {
    var containers: Int
    var needing: Int
    var needingOnly: Int
    var unreadable: Int
}

/// How many containers and bytes a key, or a kind of slot, opens.
struct KeyUseReport: Encodable {
    var kind: String
    var files: UInt64
    var bytes: UInt64
    var filesWithoutOther: UInt64
}

/// What anyone can see of a container. None of this is authenticated.
struct ContainerReport: Encodable {
    let authenticated = false
    var containerLength: UInt64
    var streamLength: UInt64?
    var manifestLength: Int?
    var front: CopyReport
    var tail: CopyReport
    var copiesAreIdentical: Bool
    var problem: String?
}

/// One header copy.
struct CopyReport: Encodable {
    var status: String
    var error: String?
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
    var kind: String
    var type: UInt16
    var id: String
    var keyName: String?
    var passes: UInt32?
    var memoryKiB: UInt32?
    var opened: Bool?
    var hidden: Bool?
    var identity: String?
    var recipient: String?
}

/// What was changed in a header, or with `--dry-run` what would be.
struct RotationReport: Encodable {
    var generation: UInt32
    var capacity: Int
    var added: [SlotReport]
    var removed: [SlotReport]
    var kept: [SlotReport]
    var repaired: Bool
    var newFile: Bool
    var pin: String
    var headerPin: String?
}

/// What only the holder of a key can see.
struct ManifestReport: Encodable {
    let authenticated = true
    var plaintextLength: UInt64
    var digest: String?
    var contentType: String?
    var name: String?
    var modified: String?
    var modifiedSeconds: Int64?
    var modifiedNanoseconds: UInt32?
    var mode: String?
}

/// What was recovered from a damaged container.
struct RecoveryReport: Encodable {
    var headerOffset: UInt64?
    var headerFile: Bool?
    var lengthAuthenticated: Bool
    var lostLength: UInt64
}

/// An item of a store.
struct ItemReport: Encodable {
    var name: String
    var `class`: String
    var length: UInt64
    var version: String
}

/// The state of a store, as this run sees it.
struct StoreReport: Encodable {
    var id: String
    var context: String
    var state: String
    var items: Int
    var classes: [Class]

    /// What is possible with the items of a class.
    struct Class: Encodable {
        var `class`: String
        var read: Bool
        var write: Bool
    }
}
