import VaultCrypto
import VaultFile
import VaultStream
import VaultTestSupport

/// The secrets in an input's head, and private slots in the form that a program could have (SLOT-15): a nonce, and the
/// file key wrapped by the first symmetric key.
struct FuzzKeys: KeyProvider {
    static let privateType: UInt16 = 0x8005
    static let idPrefix = [UInt8]("fuzzslot".utf8)
    /// The length of a whole slot.
    static let privateSlotCount = 92
    private static let family = PrivateSlotFamily(type: privateType, idPrefix: idPrefix)

    private let set: KeySet
    private let wrapping: SymmetricKey?

    init(_ keys: [SymmetricKey], _ passphrases: [Passphrase]) {
        set = KeySet(keys: keys, passphrases: passphrases)
        wrapping = keys.first
    }

    /// The first 20 bytes of such a slot.
    static func privateHead(_ idSuffix: [UInt8]) -> [UInt8] {
        privateType.bigEndianBytes + [0, 72] + idPrefix + idSuffix
    }

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { set.symmetricKeys(for: ids) }

    func passphrases() -> [Passphrase] { set.passphrases() }

    var privateSlots: [PrivateSlotFamily] { [Self.family].compactMap { wrapping == nil ? nil : $0 } }

    func fileKey(for slot: PrivateSlot) -> FileKey? {
        guard let wrapping, slot.body.count == 72 else { return nil }
        let nonce = slot.body.prefix(24)
        let prefix = slot.associatedData + nonce
        var bytes = prefix + slot.body.dropFirst(24)
        var span = bytes.mutableSpan
        do {
            try XChaCha20Poly1305.open(
                &span, prefixCount: prefix.count, nonce: XChaChaNonce(nonce), key: wrapping.secret)
        } catch {
            return nil
        }
        return FileKey(secret([UInt8](bytes[prefix.count...].prefix(32))))
    }
}
