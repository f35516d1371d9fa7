package import VaultCrypto
package import VaultFile
import VaultXWing

/// A container whose every part a test decides: parts that the writer refuses to make, header copies of later
/// generations, slots that an attacker would insert.
package struct Forge: Sendable {
    package let preamble: Preamble
    package let schedule: KeySchedule
    private let fileKey: [UInt8]
    package let capacity: HeaderCapacity

    package init(
        seed: UInt64, chunkSize: ChunkSize = .minimum, capacity: HeaderCapacity = .least, context: Context = .none,
        compression: Compression = .none
    ) throws {
        try self.init(
            fileKey: randomBytes(32, seed: seed &+ 1), fileID: randomBytes(16, seed: seed), chunkSize: chunkSize,
            capacity: capacity, context: context, compression: compression)
    }

    package init(
        fileKey: [UInt8], fileID: [UInt8], chunkSize: ChunkSize = .standard, capacity: HeaderCapacity = .least,
        context: Context = .none, compression: Compression = .none
    ) throws {
        self.fileKey = fileKey
        let secretKey = FileKey(secret(fileKey))
        let blank = Preamble(
            chunkSize: chunkSize, compression: compression, fileID: fileID,
            commitment: [UInt8](repeating: 0, count: 32))
        schedule = try KeySchedule(fileKey: secretKey, parameters: blank.parameters, context: context)
        preamble = Preamble(
            chunkSize: chunkSize, compression: compression, fileID: fileID, commitment: schedule.commitment)
        self.capacity = capacity
    }

    // MARK: Slots

    package static let nonce = [UInt8](repeating: 0xC0, count: XChaCha20Poly1305.nonceCount)
    package static let salt = [UInt8](repeating: 0xB0, count: Argon2id.saltCount)

    /// - Parameter wrapped: The bytes in the slot in place of the container's file key.
    package func slot(
        _ key: SymmetricKey, nonce: [UInt8] = Forge.nonce, wrapped: [UInt8]? = nil
    ) throws -> Slot {
        let wrapping = try Self.wrappingKey(of: key, preamble: preamble.bytes)
        return wrap(
            wrapped ?? fileKey, type: 1, keyID: key.id, parameters: [], nonce: nonce, key: wrapping)
    }

    package func slot(
        _ passphrase: Passphrase, passes: UInt32 = 1, memoryKiB: UInt32 = 8, salt: [UInt8] = Forge.salt,
        nonce: [UInt8] = Forge.nonce
    ) throws -> Slot {
        let wrapping = try Self.wrappingKey(
            of: passphrase, passes: passes, memoryKiB: memoryKiB, salt: salt, preamble: preamble.bytes)
        var parameters: [UInt8] = []
        parameters.append(bigEndian: passes)
        parameters.append(bigEndian: memoryKiB)
        parameters.append(bigEndian: UInt32(1))
        return wrap(
            fileKey, type: 2, keyID: KeyID(unchecked: salt[...]), parameters: parameters, nonce: nonce, key: wrapping)
    }

    /// A slot of a public key. The randomness of X-Wing is the library's own.
    package func slot(_ publicKey: PublicKey) throws -> Slot {
        let made =
            publicKey.kind == .xWing
            ? try XWing.available?.encapsulate(publicKey.bytes)
            : try HPKE.encapsulate(
                to: publicKey.bytes, ephemeral: SecretBytes(copying: randomBytes(32, seed: 71).span))
        guard let made else { throw VaultError(.badKey, "there is no X-Wing") }
        let id = KeyID(unchecked: Self.slotID(of: publicKey.fingerprint, preamble: preamble.bytes)[...])
        let rest = Self.nonce + [UInt8](repeating: 0, count: Slot.wrappedCount)
        let head = Slot(type: publicKey.kind.type, keyID: id, body: made.encapsulation + rest).bytes.prefix(20)
        return wrap(
            fileKey, type: publicKey.kind.type, keyID: id, parameters: made.encapsulation, nonce: Self.nonce,
            key: try Self.wrappingKey(made.secret, of: publicKey.kind, preamble: preamble.bytes, head: head))
    }

    /// A slot of a plugin's recipient, with stanzas that hold this secret.
    package func slot(_ recipient: PluginRecipient, _ stanzas: [AgeStanza], secret: [UInt8]) throws -> Slot {
        let id = KeyID(unchecked: Self.slotID(of: recipient.fingerprint, preamble: preamble.bytes)[...])
        let lead = StanzaSlot(labels: 0, text: stanzas.flatMap(\.encoded)[...])?.encoded ?? []
        return wrap(
            fileKey, type: 5, keyID: id, parameters: lead, nonce: Self.nonce,
            key: try Self.wrappingKey(ofStanzas: secret, preamble: preamble.bytes))
    }

    private func wrap(
        _ fileKey: [UInt8], type: UInt16, keyID: KeyID, parameters: [UInt8], nonce: [UInt8], key: SecretBytes
    ) -> Slot {
        let blank = [UInt8](repeating: 0, count: Slot.wrappedCount)
        let slot = Slot(type: type, keyID: keyID, body: parameters + nonce + blank)
        let wrapped = Self.wrap(
            fileKey, preamble: preamble.bytes, slot: [UInt8](slot.bytes.dropLast(Slot.wrappedCount)), nonce: nonce,
            key: key)
        return Slot(type: type, keyID: keyID, body: parameters + nonce + wrapped)
    }

    /// The key-encryption key of a symmetric slot.
    package static func wrappingKey(of key: SymmetricKey, preamble: [UInt8]) throws -> SecretBytes {
        try BLAKE2b.derive(label: "vaultfile1wrap-s", key: key.secret, message: preamble.span)
    }

    /// The key-encryption key of a passphrase slot.
    package static func wrappingKey(
        of passphrase: Passphrase, passes: UInt32, memoryKiB: UInt32, salt: [UInt8], preamble: [UInt8]
    ) throws -> SecretBytes {
        let stretched = try Argon2id.stretch(passphrase.secret, salt: salt, passes: passes, memoryKiB: memoryKiB)
        return try BLAKE2b.derive(label: "vaultfile1wrap-p", key: stretched, message: preamble.span)
    }

    /// The ID of a recipient's slots under a preamble, which may be none (KEY-18).
    package static func slotID(of fingerprint: [UInt8], preamble: [UInt8]) -> [UInt8] {
        BLAKE2b.digest(count: 16, label: "vaultfile1pub-id", key: fingerprint, message: preamble.span)
    }

    /// The key-encryption key of a slot of a public key, which has these first bytes (KEY-19, KEY-20); nil if the
    /// identity finds no shared secret in it.
    package static func wrappingKey(of identity: Identity, preamble: [UInt8], slot: [UInt8]) throws -> SecretBytes? {
        let isXWing = identity.publicKey.kind == .xWing
        let encapsulation = [UInt8](
            slot.dropFirst(20).prefix(isXWing ? XWing.encapsulationCount : X25519.keyCount))
        let shared =
            isXWing
            ? try XWing.available?.decapsulate(encapsulation, identity.secret)
            : try HPKE.decapsulate(encapsulation, scalar: identity.secret, publicKey: identity.publicKey.bytes)
        return try shared.map {
            try wrappingKey($0, of: identity.publicKey.kind, preamble: preamble, head: slot.prefix(20))
        }
    }

    private static func wrappingKey(
        _ shared: SecretBytes, of kind: SlotDescription.Kind, preamble: [UInt8], head: ArraySlice<UInt8>
    ) throws -> SecretBytes {
        let exported = try (kind == .xWing ? HPKE.xWing : HPKE.x25519).export(
            shared, info: [UInt8]("vaultfile1hpke-i".utf8) + preamble + head,
            context: [UInt8]("vaultfile1hpke-x".utf8))
        return try BLAKE2b.derive(label: "vaultfile1wrap-h", key: exported, message: preamble.span)
    }

    /// The key-encryption key of a slot with age stanzas, which hold this secret (KEY-23).
    package static func wrappingKey(ofStanzas secret: [UInt8], preamble: [UInt8]) throws -> SecretBytes {
        try BLAKE2b.derive(
            label: "vaultfile1wrap-a", key: SecretBytes(copying: secret.span), message: preamble.span)
    }

    /// The end of a slot with these first bytes.
    package static func wrap(
        _ fileKey: [UInt8], preamble: [UInt8], slot: [UInt8], nonce: [UInt8], key: SecretBytes
    ) -> [UInt8] {
        var buffer = preamble + slot
        let prefixCount = buffer.count
        buffer += fileKey
        buffer.pad(to: prefixCount + Slot.wrappedCount)
        var span = buffer.mutableSpan
        XChaCha20Poly1305.seal(&span, prefixCount: prefixCount, nonce: XChaChaNonce(nonce[...]), key: key)
        return [UInt8](buffer[prefixCount...])
    }

    // MARK: Parts

    package func header(_ slots: [Slot], generation: UInt32 = 1) -> [UInt8] {
        schedule.seal(
            headerBody: HeaderCopy.body(
                preamble: preamble, capacity: capacity, generation: generation, slots: slots))
    }

    package func record(_ text: [UInt8], kind: RecordHead.Kind, index: UInt64) -> [UInt8] {
        let head = RecordHead(kind: kind, length: text.count).bytes
        return Self.record(
            head: [head.0, head.1, head.2, head.3], text,
            nonce: XChaChaNonce(fileID: preamble.nonceWords, index: index), schedule)
    }

    /// A record with any first 4 bytes.
    package static func record(
        head: [UInt8], _ text: [UInt8], nonce: XChaChaNonce, _ schedule: KeySchedule
    ) -> [UInt8] {
        var record = head + text
        record.pad(to: text.count + RecordHead.overhead)
        var span = record.mutableSpan
        XChaCha20Poly1305.seal(&span, prefixCount: RecordHead.count, nonce: nonce, key: schedule.streamKey)
        return record
    }

    package func records(_ plaintext: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index: UInt64 = 0
        for start in stride(from: 0, to: plaintext.count, by: preamble.chunkSize.bytes) {
            let end = min(start + preamble.chunkSize.bytes, plaintext.count)
            bytes += record([UInt8](plaintext[start..<end]), kind: .data, index: index)
            index += 1
        }
        return bytes
    }

    /// A whole container. By default, `tail` equals the front.
    package func container(
        _ plaintext: [UInt8], front: [UInt8], tail: [UInt8]? = nil, digest: [UInt8]? = nil,
        metadata: Metadata = Metadata()
    ) throws -> [UInt8] {
        let manifest = Manifest(plaintextLength: UInt64(plaintext.count), digest: digest, metadata: metadata)
        let count = (plaintext.count + preamble.chunkSize.bytes - 1) / preamble.chunkSize.bytes
        let end = record(
            manifest.encoded(commitment: preamble.commitment), kind: .manifest, index: UInt64(count))
        return assemble(records(plaintext), end, front: front, tail: tail)
    }

    /// A container of any packed stream, with any statements of the manifest about it.
    package func container(
        packed stream: [UInt8], plaintextLength: UInt64, streamLength: UInt64? = nil, indexOffsets: [UInt64],
        digest: [UInt8]? = nil, front: [UInt8]
    ) -> [UInt8] {
        let manifest = Manifest(
            plaintextLength: plaintextLength, digest: digest, metadata: Metadata(),
            packed: .init(streamLength: streamLength ?? UInt64(stream.count), indexOffsets: indexOffsets))
        let count = (stream.count + preamble.chunkSize.bytes - 1) / preamble.chunkSize.bytes
        let end = record(
            manifest.encoded(commitment: preamble.commitment), kind: .manifest, index: UInt64(count))
        return assemble(records(stream), end, front: front)
    }

    /// Joins any parts, with the zeros and the footer for their lengths.
    package func assemble(
        _ records: [UInt8], _ manifestRecord: [UInt8], front: [UInt8], tail: [UInt8]? = nil
    ) -> [UInt8] {
        var bytes = front + records + manifestRecord
        bytes.pad(to: Int(capacity.aligned(UInt64(bytes.count))))
        bytes += tail ?? front
        let length = UInt64(bytes.count + 32)
        bytes.append(bigEndian: UInt64(capacity.bytes + records.count))
        bytes.append(bigEndian: length)
        bytes.append(bigEndian: UInt32(capacity.bytes))
        bytes.append(bigEndian: UInt32(manifestRecord.count - RecordHead.overhead))
        return bytes + Preamble.magic.reversed()
    }
}

/// Computes the checksum of a header copy again, which needs no key: an attacker does this after a change.
package func withChecksum(_ copy: [UInt8]) -> [UInt8] {
    let body = [UInt8](copy.dropLast(HeaderCopy.checksumCount))
    return body
        + BLAKE2b.digest(count: HeaderCopy.checksumCount, label: "vaultfile1chksum", message: body.span)
}
