import VaultCrypto
import VaultFormat

/// Wraps the file key into a slot with a key-encryption key, and unwraps it (Spec 4.2, 4.3). Only the key-encryption
/// key differs from kind to kind.
enum SlotWrap {
    /// Zeros in place of the nonce and the wrapped key, which end a body.
    static let blank = [UInt8](repeating: 0, count: XChaCha20Poly1305.nonceCount + Slot.wrappedCount)

    /// Makes a slot.
    ///
    /// - Parameter outline: the slot with `blank` at its end.
    static func wrap(
        _ fileKey: FileKey, into outline: Slot, key: SecretBytes, preamble: Preamble, randomness: Randomness
    ) throws(VaultError) -> Slot {
        let nonce = randomness.bytes(XChaCha20Poly1305.nonceCount)
        let prefix = preamble.bytes + outline.bytes.dropLast(blank.count) + nonce
        var buffer = try guarded { () throws(MemoryUnavailable) in
            try GuardedBuffer(count: prefix.count + Slot.wrappedCount)
        }
        let wrapped = buffer.withMutableBytes { buffer in
            buffer.replace(at: 0, with: prefix.span)
            fileKey.secret.withBytes { buffer.replace(at: prefix.count, with: $0) }
            XChaCha20Poly1305.seal(&buffer, prefixCount: prefix.count, nonce: XChaChaNonce(nonce[...]), key: key)
            return (prefix.count..<buffer.count).map { buffer[$0] }
        }
        return Slot(
            type: outline.type, keyID: outline.keyID, body: outline.body.dropLast(blank.count) + nonce + wrapped)
    }

    /// The file key in a slot, if it decrypts and the preamble commits to it (SLOT-14).
    ///
    /// If decryption fails, the commitment is still compared, with 32 zero bytes, so that timing does not show which of
    /// the two checks failed. Without a key the same work is done, and the slot does not open. Without the commitment, an attacker could make one slot that opens to different file keys
    /// under different keys.
    static func open(_ slot: HeaderSlot, key: SecretBytes?, context: Context) throws(VaultError) -> FileKey? {
        let hasKey = key != nil
        let key = if let key { key } else { try zeros() }
        let (slot, preamble) = (slot.slot, slot.preamble)
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
        // Zeros are a key that everybody has: what they decrypt is no result (KEY-22).
        return hasKey && isAuthentic && isCommitted ? FileKey(candidate) : nil
    }

    private static func zeros() throws(VaultError) -> SecretBytes {
        try guarded { () throws(MemoryUnavailable) in SecretBytes(try GuardedBuffer(count: 32)) }
    }
}
