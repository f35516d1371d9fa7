import VaultCrypto
package import VaultFile

/// The symmetric key of 32 equal bytes. 0 gives no valid key.
package func testKey(_ byte: UInt8) -> SymmetricKey {
    testKey([UInt8](repeating: byte, count: 32))
}

package func testKey(_ bytes: [UInt8]) -> SymmetricKey {
    do {
        return try SymmetricKey(bytes: bytes.span)
    } catch {
        fatalError("\(error)")
    }
}

/// The identity of 32 equal bytes.
package func testIdentity(_ kind: SlotDescription.Kind, _ byte: UInt8) throws -> Identity {
    try Identity(kind, SecretBytes(copying: [UInt8](repeating: byte, count: Identity.byteCount).span))
}

package func testPassphrase(_ text: String) -> Passphrase {
    do {
        return try Passphrase(text)
    } catch {
        fatalError("\(error)")
    }
}

package func testContext(_ text: String) -> Context {
    do {
        return try Context(text)
    } catch {
        fatalError("\(error)")
    }
}

extension HeaderCapacity {
    /// The smallest capacity, 512 bytes.
    package static var least: HeaderCapacity { capacity(512) }

    package static func capacity(_ bytes: Int) -> HeaderCapacity {
        guard let capacity = HeaderCapacity(bytes: bytes) else { fatalError("\(bytes) is no capacity") }
        return capacity
    }
}

/// The container that a writer makes from a plaintext, pushed in pieces of `piece` bytes.
package func sealed(
    _ plaintext: [UInt8], for recipients: [Recipient] = [.key(testKey(1))], options: SealOptions = SealOptions(),
    piece: Int = .max, randomness: Randomness = .system
) throws -> [UInt8] {
    var container: [UInt8] = []
    var writer = try VaultWriter(for: recipients, options: options, randomness: randomness)
    var start = 0
    while start < plaintext.count {
        let end = start + min(piece, plaintext.count - start)
        try writer.write(plaintext.span.extracting(start..<end)) { container.append(copying: $0) }
        start = end
    }
    try writer.finish { container.append(copying: $0) }
    return container
}

extension SealOptions {
    package init(
        chunk: ChunkSize, capacity: HeaderCapacity? = nil, digest: Bool = false, context: Context = .none,
        compression: Compression = .none
    ) {
        self.init()
        self.compression = compression
        chunkSize = chunk
        headerCapacity = capacity
        self.digest = digest
        self.context = context
    }
}

extension KeyringEntry {
    /// The ID of an entry that has one.
    package var keyID: KeyID {
        guard let id else { preconditionFailure("\(name) has no ID") }
        return id
    }
}
