import FoundationEssentials
import SystemPackage
import Testing
import VaultCrypto
import VaultDeflate
package import VaultFile

/// One file of `Spec/vectors`: a container, the caller's secrets, and the result that each kind of reader must give.
package struct Vector: Sendable, CustomTestStringConvertible {
    /// The result that a reader must give.
    package enum Expected: Equatable, Sendable {
        case health(Health)
        /// An error by name; for a reader that seeks, also whether it occurs while opening.
        case error(name: String, isAtOpening: Bool?)
        case anyError
    }

    package let name: String
    /// The container; of a vector for keys, the file of which its operation has the name.
    package let container: [UInt8]
    private let fields: [String: [String]]

    package var testDescription: String { name }

    package func values(_ field: String) -> [String] { fields[field] ?? [] }
    package func value(_ field: String) -> String? { values(field).first }
    package func bytes(_ field: String) -> [UInt8]? { value(field).flatMap { [UInt8](hexDigits: $0) } }

    /// Every vector for readers, except the large ones.
    package static let all = folder.filter { $0.value("operation") == nil && !$0.isLarge }
    /// The vectors for rotation, repair and re-encryption, and for detaching and attaching.
    package static let operations = folder.filter {
        ["rotate", "repair", "reencrypt", "detach", "attach", "rotate-header"].contains($0.value("operation"))
    }
    /// The vectors for recover, except the large ones.
    package static let recoveries = folder.filter { $0.value("operation") == "recover" && !$0.isLarge }
    /// The vectors for single ranges.
    package static let ranges = folder.filter { $0.value("operation") == "read" }
    /// The vectors for key files, and for the files of a keyring.
    package static let keys = folder.filter {
        ["key-file", "keyring-text", "unlock-file", "keyring-file"].contains($0.value("operation"))
    }
    /// The vectors for texts of recipients and identities.
    package static let texts = folder.filter {
        ["recipient", "recipients-file", "identities-file"].contains($0.value("operation"))
    }
    /// The vectors for the index that a writer makes for a tar stream.
    package static let tarStreams = folder.filter { $0.value("operation") == "make-tar-index" }
    /// The vectors for the index of a tar stream that a container has, and for members of the stream.
    package static let tarIndexes = folder.filter { $0.value("operation") == "tar-index" }
    package static let tarMembers = folder.filter { $0.value("operation") == "tar-member" }
    /// The vectors with hundreds of mebibytes of plaintext, for readers and for recover.
    package static let large = folder.filter(\.isLarge)

    private var isLarge: Bool { value("unsealed") != nil }

    /// Whether this implementation has every optional part in a line `needs` (Spec 18).
    package static func has(_ needs: String?) -> Bool { parts.isSuperset(of: (needs ?? "").split(separator: ",")) }

    /// The optional parts of the format that this implementation has.
    private static let parts: Set<Substring> = {
        #if PublicKeys
        let xWing: Substring = "x-wing"
        #else
        let xWing: Substring = "no-x-wing"
        #endif
        return [
            "x25519", xWing, "stanzas", "recipient-changes", "recipient-texts", "keyring-recipients", "tar-index",
            "detached",
        ]
    }()

    /// The vectors in the folder that need no optional part that this implementation lacks.
    private static let folder: [Vector] = {
        do {
            let folder = Repository.path("Spec/vectors").string
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            return try names.filter { $0.hasSuffix(".vector") }.sorted().map(Vector.init).filter {
                has($0.value("needs"))
            }
        } catch {
            fatalError("the vectors cannot be read: \(error)")
        }
    }()

    private struct Malformed: Error { let name: String }

    private init(_ name: String) throws {
        let bytes = try Repository.contents(Repository.path("Spec/vectors").appending(name))
        try self.init(name: String(name.dropLast(".vector".count)), contents: bytes)
    }

    /// Parses a vector file.
    package init(name: String, contents bytes: [UInt8]) throws {
        var fields: [String: [String]] = [:]
        var rest = bytes[...]
        while true {
            guard let end = rest.firstIndex(of: 0x0A) else { throw Malformed(name: name) }
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: ":") else { throw Malformed(name: name) }
            let value = line[line.index(after: colon)...]
            fields[String(line[..<colon]), default: []].append(String(value.drop { $0 == " " }))
        }
        self.name = name
        self.fields = fields
        let container = fields["compressed"] == nil ? [UInt8](rest) : try Self.inflate([UInt8](rest), name)
        guard let fileKey = fields["unsealed"]?.first else {
            self.container = container
            return
        }
        self.container = try Self.sealed(
            container, fileKey: Self.decode(fileKey, name), context: Self.decode(fields["context"]?.first ?? "", name))
    }

    /// Encrypts the data records. The file of a large vector holds their plaintext, so that it compresses, and in place
    /// of each tag what is wrong in it (Spec 18).
    private static func sealed(_ container: [UInt8], fileKey: [UInt8], context: [UInt8]) throws -> [UInt8] {
        let footer = try Footer(parsing: container.suffix(Footer.count) + [], fileSize: UInt64(container.count))
        let capacity = footer.capacity.bytes
        let preamble = try HeaderCopy(parsing: [UInt8](container[..<capacity])).preamble
        let schedule = try KeySchedule(
            fileKey: FileKey(secret(fileKey)), parameters: preamble.parameters, context: Context(context))
        var sealed = [UInt8](container[..<capacity])
        var index: UInt64 = 0
        for start in stride(from: capacity, to: Int(footer.manifestOffset), by: preamble.chunkSize.recordBytes) {
            let end = min(start + preamble.chunkSize.recordBytes, Int(footer.manifestOffset))
            let text = start + RecordHead.count..<end - XChaCha20Poly1305.tagCount
            var record = Forge.record(
                head: [UInt8](container[start..<text.lowerBound]), [UInt8](container[text]),
                nonce: XChaChaNonce(fileID: preamble.nonceWords, index: index), schedule)
            let tag = record.count - XChaCha20Poly1305.tagCount..<record.count
            for (place, fault) in zip(tag, container[text.upperBound..<end]) {
                record[place] ^= fault
            }
            sealed += record
            index += 1
        }
        return sealed + container[Int(footer.manifestOffset)...]
    }

    /// Inflates a zlib stream (RFC 1950): a head of 2 bytes, a DEFLATE stream, a checksum of 4 bytes. The checksum is
    /// not needed: the vector states what the container must give.
    private static func inflate(_ bytes: [UInt8], _ name: String) throws -> [UInt8] {
        guard bytes.count > 6 else { throw Malformed(name: name) }
        let inflater = try Inflater()
        // The vector does not give the container's length; most containers are a few times as long as their stream.
        var most = max(1 << 16, 8 * bytes.count)
        while most <= 1 << 25 {
            var output = [UInt8](repeating: 0, count: most)
            var span = output.mutableSpan
            let outcome = try inflater.inflate(bytes.span.extracting(2..<bytes.count - 4), into: &span)
            if case .block(let count) = outcome { return [UInt8](output.prefix(count)) }
            most *= 4
        }
        throw Malformed(name: name)
    }

    // MARK: What is given and what is expected

    /// The caller's secrets. Secrets that no caller may give cause an error of their own.
    package func keys() throws -> VectorKeys {
        let (keys, passphrases) = try secrets()
        let (identities, plugins) = try identities()
        return VectorKeys(
            KeySet(keys: keys, passphrases: passphrases, identities: identities), plugins, try StandInPlugins(self))
    }

    /// The secrets, one by one.
    package func secrets() throws -> ([SymmetricKey], [Passphrase]) {
        var keys: [SymmetricKey] = []
        for hex in values("key") {
            let bytes = try Self.decode(hex, name)
            keys.append(try SymmetricKey(bytes: bytes.span))
        }
        var passphrases: [Passphrase] = []
        for hex in values("passphrase") {
            let bytes = try Self.decode(hex, name)
            passphrases.append(try Passphrase(bytes: bytes.span))
        }
        return (keys, passphrases)
    }

    /// The identities that are keys, and those of plugins.
    package func identities() throws -> ([Identity], [PluginIdentity]) {
        var texts = values("identity")
        #if !PublicKeys
        // The library refuses them where it has no X-Wing.
        texts.removeAll { $0.hasPrefix("AGE-SECRET-KEY-PQ-") }
        #endif
        let arePlugins = { (text: String) in text.hasPrefix("AGE-PLUGIN-") }
        return (
            try texts.filter { !arePlugins($0) }.map { try Identity(text: [UInt8]($0.utf8).span) },
            try texts.filter(arePlugins).map { try Self.pluginIdentity($0.split(separator: " ")) }
        )
    }

    /// An identity of a plugin, and behind it its known recipients.
    static func pluginIdentity(_ words: [Substring]) throws -> PluginIdentity {
        try PluginIdentity(
            text: [UInt8]((words.first ?? "").utf8).span,
            knownRecipients: words.dropFirst().map { try PluginRecipient($0) })
    }

    /// Whether an identity is among the secrets.
    package var hasIdentities: Bool { !values("identity").isEmpty }

    package func context() throws -> Context {
        try Context(try value("context").map { try Self.decode($0, name) } ?? [])
    }

    package var limits: OpenLimits {
        var limits = OpenLimits.standard
        if let text = value("max-passes"), let number = UInt32(text) { limits.maximumPasses = number }
        if let text = value("max-memory-kib"), let number = UInt32(text) { limits.maximumMemoryKiB = number }
        if let text = value("max-passphrase-slots"), let number = Int(text) { limits.maximumPassphraseSlots = number }
        if let text = value("max-public-key-slots"), let number = Int(text) { limits.maximumPublicKeySlots = number }
        if let text = value("max-stanza-slots"), let number = Int(text) { limits.maximumStanzaSlots = number }
        if let text = value("max-stretching-kib"), let number = UInt64(text) { limits.maximumStretchingKiB = number }
        if let text = value("max-plaintext-length") { limits.maximumPlaintextLength = UInt64(text) }
        if let size = value("max-chunk-size").flatMap({ Int($0) }).flatMap({ ChunkSize(bytes: $0) }) {
            limits.maximumChunkSize = size
        }
        return limits
    }

    /// The state of the header that the caller requires (ARG-6); nil if they require none.
    ///
    /// - Throws: `Misread` for conditions that this library does not have.
    package func expecting(_ field: String = "expect") throws -> HeaderPin? {
        guard let line = value(field) else { return nil }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let commitment = [UInt8](hexDigits: words[0]), let least = UInt32(words[1]), least > 0
        else { throw Misread(line: line) }
        // Without a MAC, g is the least generation: every generation above g − 1 is accepted.
        let hasMAC = words[2] != "-"
        let mac = hasMAC ? [UInt8](hexDigits: words[2]) : [UInt8](repeating: 0, count: 32)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: hasMAC ? least : least - 1)
        guard let mac, let pin = HeaderPin(bytes: bytes + commitment + mac) else { throw Misread(line: line) }
        return pin
    }

    /// Everything with which the caller opens the container.
    package func credentials() throws -> Credentials {
        Credentials(
            try keys(), context: try context(), limits: limits, expecting: try expecting(),
            headerFile: headerFile.map { .bytes($0) }, expectingHeaderFile: try expecting("expect-header"))
    }

    /// The header file that the caller gives; nil if they give none.
    package var headerFile: [UInt8]? {
        value("header-file").map { text in Data(base64Encoded: text).map { [UInt8]($0) } ?? [] }
    }

    /// Whether the caller has limits of their own.
    package var hasLimits: Bool { limits != .standard }

    /// - Parameter reader: `stream`, `seek` or `whole`.
    package func expected(_ reader: String) throws -> Expected {
        let words = value(reader)?.split(separator: " ").map(String.init) ?? []
        guard let first = words.first else { throw Malformed(name: name) }
        if first == "E" { return .anyError }
        if let health = Health(rawValue: first), words.count == 1 { return .health(health) }
        return .error(name: first, isAtOpening: words.last.map { $0 == "opening" })
    }

    private static func decode(_ hex: String, _ name: String) throws -> [UInt8] {
        guard let bytes = [UInt8](hexDigits: hex) else { throw Malformed(name: name) }
        return bytes
    }
}

extension [UInt8] {
    /// The bytes of hexadecimal digits.
    package init?(hexDigits text: some StringProtocol) {
        let digits = text.map(\.hexDigitValue)
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        let values = digits.compactMap { $0 }
        self = stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }

    package var hexDigits: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
