import VaultFile

/// A key service: it wraps file keys with a byte, which a real one would not do.
struct Service: KeyProvider {
    let family: PrivateSlotFamily

    var privateSlots: [PrivateSlotFamily] { [family] }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { [] }

    func passphrases() throws -> [Passphrase] { [] }

    func fileKey(for slot: PrivateSlot) throws -> FileKey? {
        guard slot.type == family.type, slot.keyID.bytes.starts(with: family.idPrefix) else { return nil }
        try check(slot.associatedData.count == 84)
        let unwrapped = slot.body.map { $0 ^ 0x55 }
        return try FileKey(bytes: unwrapped.span)
    }

    func recipient() throws -> Recipient {
        try Recipient.privateSlot(family, idSuffix: [8, 7, 6, 5, 4, 3, 2, 1], bodyCount: 32) { fileKey, _ in
            fileKey.withBytes { bytes in bytes.indices.map { bytes[$0] ^ 0x55 } }
        }
    }
}

/// Bytes in, bytes out.
func streams() throws {
    let text = text
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
    try writer.write(text.span) { container.take($0) }
    let manifest = try writer.finish { container.take($0) }
    try check(manifest.plaintextLength == UInt64(text.count) && manifest.digest?.count == 32)
    try check(manifest.metadata.name == "text")

    for keys in [KeySet(keys: [key]), KeySet(passphrases: [passphrase]), service] as [any KeyProvider] {
        var plaintext: [UInt8] = []
        var reader = VaultReader(with: Credentials(keys, context: options.context))
        try reader.push(container.span) { plaintext.take($0) }
        let header = reader.header
        let opened = try reader.finish()
        try check(plaintext == text && opened.manifest == manifest && opened.header == header)
        try check(opened.health == .intact && opened.health != .tailDamaged)
    }
    try inspect(container, key: key, credentials: Credentials(KeySet(keys: [key]), context: options.context))
}

/// What a container shows.
private func inspect(_ container: [UInt8], key: SymmetricKey, credentials: Credentials) throws {
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
    let tried = try seen.trySlots(with: credentials)
    try check(tried.map(\.outcome) == [SlotOutcome.opened, .notTried, .notTried] && tried[0].slot == summary.slots[0])
    try check(!tried.map(\.outcome).contains(.refused))

    let pin = summary.pin
    try check(pin.generation == 1 && pin.commitment == summary.commitment && pin.mac.count == 32)
    try check(HeaderPin(text: pin.text + "\n") == pin && pin.text.utf8.count < HeaderPin.longestText)
    try check(code { _ = try HeaderPin(text: "VAULTFILE-PIN-1") } == .invalidArgument)
    var expecting = credentials
    expecting.expecting = pin
    try check(SeekableVaultReader(MemorySource(container), with: expecting).opened.header.pin == pin)
    let other = try Credentials(KeySet(keys: [key]), expecting: HeaderPin(text: pin.text))
    try check(code { _ = try SeekableVaultReader(MemorySource(container), with: other) } == .wrongKey)

    var broken = container
    broken[100] ^= 1
    try check(Inspection(MemorySource(broken)).front == .damaged)
    let spoilt = try Inspection(MemorySource(broken)).front
    if case .malformed(let error) = spoilt { throw error }
}
