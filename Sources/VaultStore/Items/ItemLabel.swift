import VaultCrypto
import VaultFormat
import VaultStream

/// The label of an item: a private slot with the item's name (STORE-11). A list reads it without reading the manifest.
package enum ItemLabel {
    private static let idPrefix: [UInt8] = [0x83, 0xAB, 0x45, 0x8C, 0xEA, 0xAA, 0x93, 0xFA]
    private static let type: UInt16 = 0x8056
    private static let lengths = [64, 128, 256]

    private static func id(_ fileID: [UInt8]) -> KeyID {
        KeyID(unchecked: (idPrefix + fileID.prefix(8))[...])
    }

    /// Whether a slot is a label, of this container or of another.
    static func isLabel(_ slot: Slot) -> Bool {
        slot.type == type && slot.keyID.bytes.starts(with: idPrefix)
    }

    private static func key(_ fileKey: FileKey, _ preamble: [UInt8]) throws(VaultError) -> SecretBytes {
        try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultstore1label", key: fileKey.secret, message: preamble.span)
        }
    }

    /// The recipient that writes the label of a new item.
    static func recipient(_ name: ItemName) -> Recipient {
        let text = padded(name)
        let nonce = RandomBytes.array(count: XChaCha20Poly1305.nonceCount)
        guard let family = PrivateSlotFamily(type: type, idPrefix: idPrefix) else {
            preconditionFailure("the type is a private one")
        }
        return .privateSlot(
            family, keyID: id, bodyCount: nonce.count + text.count + XChaCha20Poly1305.tagCount
        ) { fileKey, associatedData in
            let key = try key(fileKey, Array(associatedData.prefix(Preamble.count)))
            var bytes = associatedData + text + [UInt8](repeating: 0, count: XChaCha20Poly1305.tagCount)
            var span = bytes.mutableSpan
            XChaCha20Poly1305.seal(&span, prefixCount: associatedData.count, nonce: XChaChaNonce(nonce[...]), key: key)
            return nonce + bytes.dropFirst(associatedData.count)
        }
    }

    private static func padded(_ name: ItemName) -> [UInt8] {
        let text = [UInt8(name.bytes.count)] + name.bytes
        let length = lengths.first { $0 >= text.count } ?? text.count
        return text + [UInt8](repeating: 0, count: length - text.count)
    }

    /// The name in the label of a header; nil if there is no label, or if it does not decrypt or breaks its form.
    static func name(in header: HeaderCopy, _ fileKey: FileKey) throws(VaultError) -> ItemName? {
        let id = id(header.preamble.fileID)
        guard let slot = header.slots.first(where: { $0.type == type && $0.keyID == id }),
            lengths.contains(slot.body.count - XChaCha20Poly1305.nonceCount - XChaCha20Poly1305.tagCount)
        else { return nil }
        let place = PrivateSlot(slot, preamble: header.preamble)
        let key = try key(fileKey, header.preamble.bytes)
        let nonce = XChaChaNonce(slot.body.prefix(XChaCha20Poly1305.nonceCount))
        let prefix = place.associatedData
        var bytes = prefix + slot.body.dropFirst(XChaCha20Poly1305.nonceCount)
        var span = bytes.mutableSpan
        do {
            try XChaCha20Poly1305.open(&span, prefixCount: prefix.count, nonce: nonce, key: key)
        } catch {
            return nil
        }
        return name(inText: bytes[prefix.count..<bytes.count - XChaCha20Poly1305.tagCount])
    }

    /// The name in a label that was decrypted; nil if it breaks its form.
    static func name(inText text: ArraySlice<UInt8>) -> ItemName? {
        guard let count = text.first, let name = ItemName(bytes: Array(text.dropFirst().prefix(Int(count)))),
            padded(name)[...] == text
        else { return nil }
        return name
    }

    /// The same for the fuzzer: the name's bytes, and the text that a writer makes of it.
    package static func parsed(_ text: [UInt8]) -> (name: [UInt8], written: [UInt8])? {
        name(inText: text[...]).map { ($0.bytes, padded($0)) }
    }
}
