import VaultFile

let text = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)

/// Values that describe a container.
func values() throws {
    try check(cheap.passes < Argon2Parameters.standard.passes && cheap.memoryKiB == 19 << 10)
    try check(ChunkSize(bytes: 4096) == .minimum && ChunkSize.standard.bytes == 1 << 16 && ChunkSize.maximum.log2 == 23)
    try check(ChunkSize(bytes: 5000) == nil)
    guard let least = HeaderCapacity(bytes: 512), let more = HeaderCapacity(bytes: 1024) else {
        throw Unexpected(line: #line)
    }
    try check(least < more && more.bytes == 1024)
    try check(Context.none.bytes.isEmpty && Context("a") == Context([97]))
    try check(code { _ = try Context([UInt8](repeating: 0, count: 65_536)) } == .badContext)
    guard let id = KeyID(hex: "000102030405060708090a0b0c0d0e0f") else { throw Unexpected(line: #line) }
    try check(id == KeyID(bytes: id.bytes) && id.description.hasPrefix("0001"))
    try check(Timestamp(seconds: 0).utc == "1970-01-01T00:00:00Z" && Timestamp(seconds: 0) < .now)
    try check(Timestamp(seconds: 1, nanoseconds: 2)?.nanoseconds == 2 && Timestamp.now.seconds > 0)

    var metadata = Metadata()
    metadata.name = "a.txt"
    metadata.contentType = "text/plain"
    metadata.modified = Timestamp(seconds: 7)
    metadata.permissions = 0o644
    try check(Metadata.isValidName("a.txt") && !Metadata.isValidName("a/b"))
    try check(Metadata.isValidContentType("text/plain") && !Metadata.isValidContentType(""))

    var limits = OpenLimits.service
    limits.maximumPlaintextLength = 1 << 20
    limits.maximumPassphraseSlots = 2
    limits.maximumPasses = 3
    limits.maximumMemoryKiB = 1 << 18
    limits.maximumStretchingKiB = 1 << 20
    try check(limits != .standard && OpenLimits() == .standard)

    try check(VaultError.inputFailed("a", systemError: .ioError).systemError == .ioError)
    try check(Vault.processorCount > 0 && !Vault.engine.isEmpty)
    try check(Set(codes.map(\.name)).count == codes.count && results.count == 20)
}

/// Keys, passphrases, and where they come from.
func secrets() throws {
    let key = try SymmetricKey.generate()
    let same = try key.withBytes { try SymmetricKey(bytes: $0) }
    try check(same.id == key.id && SymmetricKey.byteCount == 32 && key.description.contains(key.id.description))
    let again = try key.withKeyFile(created: Timestamp(seconds: 0).utc) { text in
        try check(text.count <= SymmetricKey.largestKeyFile)
        try check(SymmetricKey.creationTime(inKeyFile: text) == Timestamp(seconds: 0))
        return try SymmetricKey(keyFile: text)
    }
    try check(again.id == key.id)
    try check(code { _ = try SymmetricKey(bytes: [1, 2, 3].span) } == .badKey)

    let passphrase = try Passphrase("a word")
    try check(passphrase.description == "Passphrase")
    try check(code { _ = try Passphrase(bytes: [UInt8]().span) } == .badPassphrase)

    let set = KeySet(keys: [key], passphrases: [passphrase])
    try check(set.symmetricKeys(for: [key.id]).count == 1 && set.passphrases().count == 1)

    var buffer = try SecretBuffer(count: FileKey.byteCount)
    buffer.withMutableBytes { bytes in
        for index in bytes.indices { bytes[index] = UInt8(index) }
    }
    let fileKey = try buffer.withBytes { try FileKey(bytes: $0) }
    try check(buffer.count == 32 && fileKey.withBytes { $0[31] } == 31 && fileKey.description == "FileKey")

    var credentials = Credentials(set, context: try Context("a"), limits: .service)
    credentials.limits = .standard
    credentials.context = .none
    try check(credentials.keys.symmetricKeys(for: []).isEmpty)
    _ = [Credentials.key(key), .passphrase(passphrase)]
}

/// A key service: it wraps file keys with a byte, which a real one would not do.
struct Service: KeyProvider {
    let family: PrivateSlotFamily

    var privateSlots: [PrivateSlotFamily] { [family] }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { [] }

    func passphrases() throws -> [Passphrase] { [] }

    func fileKey(for slot: PrivateSlot) throws -> FileKey? {
        guard slot.type == family.type, slot.keyID.bytes.starts(with: family.idPrefix) else { return nil }
        try check(slot.associatedData.count == 84)
        return try FileKey(bytes: slot.body.map { $0 ^ 0x55 }.span)
    }

    func recipient() throws -> Recipient {
        try Recipient.privateSlot(family, idSuffix: [8, 7, 6, 5, 4, 3, 2, 1], bodyCount: 32) { fileKey, _ in
            fileKey.withBytes { bytes in bytes.indices.map { bytes[$0] ^ 0x55 } }
        }
    }
}

/// Bytes in, bytes out.
func streams() throws {
    guard let family = PrivateSlotFamily(type: 0x8001, idPrefix: [1, 2, 3, 4, 5, 6, 7, 8]) else {
        throw Unexpected(line: #line)
    }
    let service = Service(family: family)
    let (key, passphrase) = (try SymmetricKey.generate(), try Passphrase("a word"))
    var options = SealOptions()
    options.chunkSize = .minimum
    options.headerCapacity = HeaderCapacity(bytes: 8192)
    options.compression = .deflate
    options.context = try Context("b")
    options.digest = true
    options.metadata.name = "text"
    var container: [UInt8] = []
    var writer = try VaultWriter(
        for: [.key(key), .passphrase(passphrase, cheap), service.recipient()], options: options)
    try writer.write(text.span) { container.append(copying: $0) }
    let manifest = try writer.finish { container.append(copying: $0) }
    try check(manifest.plaintextLength == UInt64(text.count) && manifest.digest?.count == 32)
    try check(manifest.metadata.name == "text")

    for keys in [KeySet(keys: [key]), KeySet(passphrases: [passphrase]), service] as [any KeyProvider] {
        var plaintext: [UInt8] = []
        var reader = VaultReader(with: Credentials(keys, context: options.context))
        try reader.push(container.span) { plaintext.append(copying: $0) }
        let header = reader.header
        let opened = try reader.finish()
        try check(plaintext == text && opened.manifest == manifest && opened.header == header)
        try check(opened.health == .intact && opened.health != .tailDamaged)
    }

    try check(container.starts(with: Vault.beginning) && container.suffix(8).elementsEqual(Vault.ending))
    let seen = try Inspection(MemorySource(container))
    guard let summary = seen.front.summary, case .intact = seen.tail, seen.problem == nil else {
        throw Unexpected(line: #line)
    }
    try check(seen.copiesAreIdentical && seen.containerLength == UInt64(container.count))
    try check(seen.streamLength != nil && seen.manifestLength != nil)
    try check(summary.capacity.bytes == 8192 && summary.chunkSize == .minimum && summary.compression == .deflate)
    try check(summary.compression.name == "deflate" && summary.compression != Compression.none)
    try check(summary.generation == 1 && !summary.fileID.isEmpty && !summary.commitment.isEmpty)
    try check(summary.slots.map(\.kind) == [.symmetric, .passphrase, .privateType])
    try check(!summary.slots.contains { $0.kind == .unknown } && summary.slots[0].kind.name == "symmetric")
    try check(summary.slots[1].argon2 == cheap && summary.slots[0].keyID == key.id && summary.slots[2].type == 0x8001)
    let tried = try seen.trySlots(with: Credentials(KeySet(keys: [key]), context: options.context))
    try check(tried.map(\.outcome) == [SlotOutcome.opened, .notTried, .notTried] && tried[0].slot == summary.slots[0])
    try check(!tried.map(\.outcome).contains(.refused))

    var broken = container
    broken[100] ^= 1
    try check(Inspection(MemorySource(broken)).front == .damaged)
    let spoilt = try Inspection(MemorySource(broken)).front
    if case .malformed(let error) = spoilt { throw error }
}
