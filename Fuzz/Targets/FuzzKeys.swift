import VaultCrypto
import VaultFile
import VaultStream
import VaultTestSupport

/// The secrets in an input's head; plugins that answer what the head says; and private slots in the form that a program
/// could have (SLOT-15): a nonce, and the file key wrapped by the first symmetric key.
struct FuzzKeys: KeyProvider {
    static let privateType: UInt16 = 0x8005
    static let idPrefix = [UInt8]("fuzzslot".utf8)
    /// The length of a whole slot.
    static let privateSlotCount = 92
    private static let family = PrivateSlotFamily(type: privateType, idPrefix: idPrefix)

    private let set: KeySet
    private let plugins: [PluginIdentity]
    private let standIn: StandInPlugins?
    /// Nil for a caller without private slots.
    var wrapping: SymmetricKey?

    init(
        keys: [SymmetricKey] = [], passphrases: [Passphrase] = [], identities: [Identity] = [],
        plugins: [PluginIdentity] = [], standIn: StandInPlugins? = nil
    ) {
        set = KeySet(keys: keys, passphrases: passphrases, identities: identities)
        (self.plugins, self.standIn) = (plugins, standIn)
        wrapping = keys.first
    }

    init(_ secrets: FuzzInput.Secrets) {
        self.init(
            keys: secrets.symmetric, passphrases: secrets.passphrases, identities: secrets.identities,
            plugins: secrets.plugins, standIn: secrets.standIn)
    }

    /// The first 20 bytes of such a slot.
    static func privateHead(_ idSuffix: [UInt8]) -> [UInt8] {
        privateType.bigEndianBytes + [0, 72] + idPrefix + idSuffix
    }

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { set.symmetricKeys(for: ids) }

    func passphrases() -> [Passphrase] { set.passphrases() }

    func identities() -> [Identity] { set.identities() }

    func pluginIdentities() -> [PluginIdentity] { plugins }

    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try standIn?.secrets(in: slots, by: plugin) ?? slots.map { _ in nil }
    }

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
