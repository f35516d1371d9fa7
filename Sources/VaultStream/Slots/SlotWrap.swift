import VaultCrypto
import VaultFormat

/// Wraps the file key into slots and gets it out again (Spec 4.2, 4.3).
enum SlotWrap {
    /// Makes the slot for one recipient.
    static func slot(
        for recipient: Recipient, fileKey: FileKey, preamble: Preamble, randomness: Randomness
    ) throws -> Slot {
        switch recipient.kind {
        case .key(let key):
            let wrapping = try guarded { () throws(MemoryUnavailable) in
                try BLAKE2b.derive(label: "vaultfile1wrap-s", key: key.secret, message: preamble.bytes.span)
            }
            return try wrap(
                fileKey, kind: .symmetric, keyID: key.id, parameters: [], key: wrapping, preamble: preamble,
                randomness: randomness)
        case .passphrase(let passphrase, let cost):
            let salt = KeyID(unchecked: randomness.bytes(16)[...])
            let wrapping = try guarded { () throws(MemoryUnavailable) in
                try wrappingKey(passphrase, salt: salt, cost: cost, preamble: preamble)
            }
            return try wrap(
                fileKey, kind: .passphrase, keyID: salt, parameters: cost.encoded, key: wrapping, preamble: preamble,
                randomness: randomness)
        case .privateSlot(let family, let keyID, let bodyCount, let wrap):
            let associatedData = PrivateSlot(recipient.blankSlot, preamble: preamble).associatedData
            let body = try wrap(fileKey, associatedData)
            guard body.count == bodyCount else {
                throw VaultError(
                    .invalidArgument, "the private slot's body has \(body.count) bytes instead of \(bodyCount)")
            }
            return Slot(type: family.type, keyID: keyID, body: body)
        }
    }

    private static func wrap(
        _ fileKey: FileKey, kind: Slot.Kind, keyID: KeyID, parameters: [UInt8], key: SecretBytes, preamble: Preamble,
        randomness: Randomness
    ) throws(VaultError) -> Slot {
        let nonce = randomness.bytes(XChaCha20Poly1305.nonceCount)
        let blank = [UInt8](repeating: 0, count: Slot.wrappedCount)
        let prefix =
            preamble.bytes
            + Slot(type: kind.rawValue, keyID: keyID, body: parameters + nonce + blank).bytes
            .dropLast(Slot.wrappedCount)
        var buffer = try guarded { () throws(MemoryUnavailable) in
            try GuardedBuffer(count: prefix.count + Slot.wrappedCount)
        }
        let wrapped = buffer.withMutableBytes { buffer in
            buffer.replace(at: 0, with: prefix.span)
            fileKey.secret.withBytes { buffer.replace(at: prefix.count, with: $0) }
            XChaCha20Poly1305.seal(&buffer, prefixCount: prefix.count, nonce: XChaChaNonce(nonce[...]), key: key)
            return (prefix.count..<buffer.count).map { buffer[$0] }
        }
        return Slot(type: kind.rawValue, keyID: keyID, body: parameters + nonce + wrapped)
    }

    /// The file key that a symmetric key finds in a slot, if the preamble commits to it (SLOT-11).
    static func open(
        _ slot: Slot, with key: SymmetricKey, preamble: Preamble, context: Context
    ) throws(VaultError) -> FileKey? {
        let wrapping = try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1wrap-s", key: key.secret, message: preamble.bytes.span)
        }
        return try unwrap(slot, key: wrapping, preamble: preamble, context: context)
    }

    /// The file key that a passphrase finds in a slot, if the preamble commits to it.
    ///
    /// - Throws: `limitExceeded` if there is no memory for Argon2.
    static func open(
        _ slot: Slot, with passphrase: Passphrase, cost: Argon2Parameters, preamble: Preamble, context: Context
    ) throws(VaultError) -> FileKey? {
        let wrapping: SecretBytes
        do {
            wrapping = try wrappingKey(passphrase, salt: slot.keyID, cost: cost, preamble: preamble)
        } catch {
            throw VaultError(.limitExceeded, "there is no memory of \(cost.memoryKiB) KiB to stretch a passphrase")
        }
        return try unwrap(slot, key: wrapping, preamble: preamble, context: context)
    }

    /// Whether a slot opens for the one that it was made for; nil where only his program can tell.
    static func opens(
        _ slot: Slot, for recipient: Recipient, preamble: Preamble, context: Context
    ) throws(VaultError) -> Bool? {
        switch recipient.kind {
        case .key(let key):
            try open(slot, with: key, preamble: preamble, context: context) != nil
        case .passphrase(let passphrase, let cost):
            try open(slot, with: passphrase, cost: cost, preamble: preamble, context: context) != nil
        case .privateSlot:
            nil
        }
    }

    /// The work of one failed try, for a caller whom no slot matched, so that he looks like one whom a slot refused
    /// (SLOT-16).
    static func openNothing(preamble: Preamble, context: Context) throws(VaultError) {
        let zero = try guarded { () throws(MemoryUnavailable) in SecretBytes(try GuardedBuffer(count: 32)) }
        let body = [UInt8](repeating: 0, count: Slot.symmetricBodyCount)
        let slot = Slot(type: Slot.Kind.symmetric.rawValue, keyID: KeySchedule.id(of: zero), body: body)
        _ = try unwrap(slot, key: zero, preamble: preamble, context: context)
    }

    private static func wrappingKey(
        _ passphrase: Passphrase, salt: KeyID, cost: Argon2Parameters, preamble: Preamble
    ) throws(MemoryUnavailable) -> SecretBytes {
        let stretched = try Argon2id.stretch(
            passphrase.secret, salt: salt.bytes, passes: cost.passes, memoryKiB: cost.memoryKiB)
        return try BLAKE2b.derive(label: "vaultfile1wrap-p", key: stretched, message: preamble.bytes.span)
    }

    /// Unwraps, goes on with 32 zero bytes where that failed, and compares the commitment in either case: which of the
    /// two it was that failed does not show, and a slot counts only if both succeeded. Without the comparison one slot
    /// could be made that opens to different file keys under different keys.
    private static func unwrap(
        _ slot: Slot, key: SecretBytes, preamble: Preamble, context: Context
    ) throws(VaultError) -> FileKey? {
        let prefixCount = Preamble.count + slot.bytes.count - Slot.wrappedCount
        let input = preamble.bytes + slot.bytes
        let nonce = XChaChaNonce(slot.nonce)
        var buffer = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(copying: input.span) }
        let isAuthentic = buffer.withMutableBytes { buffer in
            do {
                try XChaCha20Poly1305.open(&buffer, prefixCount: prefixCount, nonce: nonce, key: key)
                return true
            } catch {
                return false
            }
        }
        let candidate = try guarded { () throws(MemoryUnavailable) in
            try buffer.withBytes { bytes throws(MemoryUnavailable) in
                try SecretBytes(copying: bytes.extracting(prefixCount..<prefixCount + FileKey.byteCount))
            }
        }
        let isCommitted = KeySchedule.fits(candidate, preamble: preamble, context: context)
        return isAuthentic && isCommitted ? FileKey(candidate) : nil
    }
}
