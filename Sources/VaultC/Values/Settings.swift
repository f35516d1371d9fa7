// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization
import SystemPackage
import VaultFile

/// What the options of a C program say.
struct Settings: Sendable {
    var sealing = SealOptions()
    var limits = OpenLimits.standard
    var pin: HeaderPin?
    var headerPin: HeaderPin?
    var headerFile: GivenHeaderFile?
    var jobs: Int?
    var readSize: Int?
    var keeping: HeaderPlace?
    var progress: ProgressCallback?
    /// The flags that are set.
    var flags: Set<Flag> = []

    enum GivenHeaderFile {
        case bytes([UInt8])
        case path(FilePath)

        var source: HeaderFileSource {
            switch self {
            case .bytes(let bytes): .bytes(bytes)
            case .path(let path): .file(at: path)
            }
        }
    }

    enum Flag: Int32 {
        case replace = 9, sparse = 11
        case dryRun = 40, removeOthers, loseAccess, loseSlots, keepSlots, breakLinks
        case allowUnprotected = 60, allowUnlocked = 61
    }

    /// The numbers of `enum vaultfile_number` that are not in `Flag`.
    private enum Number: Int32 {
        case chunkSize = 1, headerCapacity, compress, digest, tarIndex, mixRecipients, modified, permissions
        case jobs = 10, readSize = 12
        case serviceLimits = 20, maxPlaintext, maxChunkSize, maxPassphraseSlots, maxPasses, maxMemoryKiB
        case maxStretchingKiB, maxPublicKeySlots, maxStanzaSlots
        case keepCopy = 46
    }

    /// No number of these is one of the numbers above: a program that takes the wrong call gets an error.
    private enum Text: Int32 {
        case context = 101, name, contentType, pin, headerPin, headerFile, headerPath
    }

    func has(_ flag: Flag) -> Bool { flags.contains(flag) }

    /// - Throws: `Failure` with `invalidArgument` for an unknown option, or a value that it cannot have.
    mutating func set(_ option: Int32, to value: Int64) throws(Failure) {
        if let flag = Flag(rawValue: option) {
            if try Self.flag(value) { flags.insert(flag) } else { flags.remove(flag) }
            return
        }
        guard let number = Number(rawValue: option) else { throw .invalid("the option \(option) is not known") }
        switch number {
        case .chunkSize: sealing.chunkSize = try Self.chunkSize(value)
        case .headerCapacity:
            guard let bytes = Int(exactly: value), let capacity = HeaderCapacity(bytes: bytes) else {
                throw .invalid("\(value) is not the size of a header copy")
            }
            sealing.headerCapacity = capacity
        case .compress: sealing.compression = try Self.flag(value) ? .deflate : .none
        case .digest: sealing.digest = try Self.flag(value)
        case .tarIndex: sealing.tarIndex = try Self.flag(value)
        case .mixRecipients: sealing.mayMixRecipients = try Self.flag(value)
        case .modified: sealing.metadata.modified = Timestamp(seconds: value)
        case .permissions:
            guard let mode = UInt16(exactly: value), mode & ~0o777 == 0 else {
                throw .invalid("permissions have no bits outside 0777")
            }
            sealing.metadata.permissions = mode
        case .jobs: jobs = try Self.number(value, least: 1)
        case .readSize: readSize = try Self.number(value, least: 1)
        case .serviceLimits: limits = try Self.flag(value) ? .service : .standard
        case .maxPlaintext: limits.maximumPlaintextLength = try Self.number(value)
        case .maxChunkSize: limits.maximumChunkSize = try Self.chunkSize(value)
        case .maxPassphraseSlots: limits.maximumPassphraseSlots = try Self.number(value)
        case .maxPasses: limits.maximumPasses = try Self.number(value)
        case .maxMemoryKiB: limits.maximumMemoryKiB = try Self.number(value)
        case .maxStretchingKiB: limits.maximumStretchingKiB = try Self.number(value)
        case .maxPublicKeySlots: limits.maximumPublicKeySlots = try Self.number(value)
        case .maxStanzaSlots: limits.maximumStanzaSlots = try Self.number(value)
        case .keepCopy:
            switch value {
            case 0: keeping = nil
            case 1: keeping = .front
            case 2: keeping = .tail
            default: throw .invalid("a header copy is 1, the front, or 2, the tail")
            }
        }
    }

    /// - Throws: as for numbers; `VaultError` with `badContext`.
    mutating func set(_ option: Int32, to bytes: [UInt8]) throws {
        guard let kind = Text(rawValue: option) else { throw Failure.invalid("the option \(option) is not known") }
        switch kind {
        case .context:
            sealing.context = try Context(bytes)
            return
        case .headerFile:
            headerFile = .bytes(bytes)
            return
        case .headerPath:
            guard !bytes.isEmpty, !bytes.contains(0) else { throw Failure.invalid("a path is empty, or has a zero") }
            headerFile = unsafe .path(FilePath(platformString: bytes.map { CChar(bitPattern: $0) } + [0]))
            return
        default: break
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure.invalid("a text is not UTF-8")
        }
        switch kind {
        case .name:
            guard Metadata.isValidName(text) else {
                throw Failure.invalid("a name is one path component of 1 to 255 bytes")
            }
            sealing.metadata.name = text
        case .contentType:
            guard Metadata.isValidContentType(text) else {
                throw Failure.invalid("a content type has 1 to 127 printable ASCII characters")
            }
            sealing.metadata.contentType = text
        case .headerPin: headerPin = try HeaderPin(text: text)
        case .pin, .context, .headerFile, .headerPath: pin = try HeaderPin(text: text)
        }
    }

    private static func flag(_ value: Int64) throws(Failure) -> Bool {
        guard value == 0 || value == 1 else { throw .invalid("a flag is 0 or 1") }
        return value == 1
    }

    private static func number<T: FixedWidthInteger>(_ value: Int64, least: T = 0) throws(Failure) -> T {
        guard let number = T(exactly: value), number >= least else {
            throw .invalid("the option cannot have the value \(value)")
        }
        return number
    }

    private static func chunkSize(_ value: Int64) throws(Failure) -> ChunkSize {
        guard let bytes = Int(exactly: value), let size = ChunkSize(bytes: bytes) else {
            throw .invalid("a chunk size is a power of two from 4096 to 8,388,608")
        }
        return size
    }
}

/// The options that a C program holds.
final class OptionsValue: Sendable {
    let settings = Mutex(Settings())
}

/// The settings of a handle; the defaults for NULL.
func settings(_ handle: OpaquePointer?) throws(Failure) -> Settings {
    try unsafe Handles.objectIfAny(handle, OptionsValue.self)?.settings.withLock { $0 } ?? Settings()
}

@c(vaultfile_options_new)
public func optionsNew(_ options: UnsafeMutablePointer<OpaquePointer?>?) -> OpaquePointer? {
    unsafe making(options) { OptionsValue() }
}

@c(vaultfile_options_set_number)
public func optionsSetNumber(_ options: OpaquePointer?, _ option: Int32, _ value: Int64) -> OpaquePointer? {
    unsafe calling {
        let options = try unsafe Handles.object(options, OptionsValue.self)
        try options.settings.withLock { try $0.set(option, to: value) }
    }
}

@c(vaultfile_options_set_bytes)
public func optionsSetBytes(
    _ options: OpaquePointer?, _ option: Int32, _ bytes: UnsafeRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe calling {
        let options = try unsafe Handles.object(options, OptionsValue.self)
        let bytes = try unsafe array(bytes, count)
        try options.settings.withLock { try $0.set(option, to: bytes) }
    }
}

@c(vaultfile_options_free)
public func optionsFree(_ options: OpaquePointer?) {
    unsafe Handles.free(options, OptionsValue.self)
}
