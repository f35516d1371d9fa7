public import VaultFormat

/// The one joint: where keys come from. Implement it over a keychain, a key service, a prompt; everything else about a
/// container is fixed.
///
/// Opening asks for the symmetric keys whose IDs the header names, then for private slots, and only if none of them
/// opens for passphrases.
public protocol KeyProvider: Sendable {
    /// Those of the symmetric keys with these IDs that are at hand. Asked once for one header, with each ID once; the
    /// IDs come from a header that nobody vouches for yet, and there may be a thousand of them.
    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey]

    /// The passphrases to try: here a program may ask its user. Asked at most once for one opening, and only if the
    /// container has a passphrase slot and nothing else opened it. Rotation, re-encryption and `Inspection.trySlots`
    /// also ask, once, where something else has opened it: they have to know which slots these open.
    func passphrases() throws -> [Passphrase]

    /// Which private slots are this program's; it is shown no others.
    var privateSlots: [PrivateSlotFamily] { get }

    /// The file key out of a private slot, or nil if it does not open.
    func fileKey(for slot: PrivateSlot) throws -> FileKey?
}

extension KeyProvider {
    /// No passphrases.
    public func passphrases() throws -> [Passphrase] { [] }

    /// No private slots.
    public var privateSlots: [PrivateSlotFamily] { [] }

    /// No private slots.
    public func fileKey(for slot: PrivateSlot) throws -> FileKey? { nil }
}

/// Keys and passphrases that are at hand.
public struct KeySet: KeyProvider {
    private let keys: [KeyID: SymmetricKey]
    private let given: [Passphrase]

    /// Any one of them may open a container.
    public init(keys: [SymmetricKey] = [], passphrases: [Passphrase] = []) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        given = passphrases
    }

    /// Those of the keys that have these IDs.
    public func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { ids.compactMap { keys[$0] } }

    /// The passphrases.
    public func passphrases() -> [Passphrase] { given }
}

/// The private slots of one program: a type, and the 8 bytes that begin their IDs, which the program drew once
/// (SLOT-12).
public struct PrivateSlotFamily: Hashable, Sendable {
    /// The slots' type, 0x8000 or above.
    public let type: UInt16
    /// The first 8 bytes of the slots' IDs.
    public let idPrefix: [UInt8]

    /// Nil unless the type is a private one and there are 8 bytes.
    public init?(type: UInt16, idPrefix: [UInt8]) {
        guard type >= 0x8000, idPrefix.count == 8 else { return nil }
        self.type = type
        self.idPrefix = idPrefix
    }

    func includes(_ slot: Slot) -> Bool {
        slot.type == type && slot.keyID.bytes.starts(with: idPrefix)
    }
}

/// A slot of a type from 0x8000 on: what stands in its body is the affair of the program that wrote it.
public struct PrivateSlot: Hashable, Sendable {
    /// The slot's type, 0x8000 or above.
    public let type: UInt16
    /// The slot's ID.
    public let keyID: KeyID
    /// What the program put into the slot.
    public let body: [UInt8]
    /// The container's preamble and the slot's first 20 bytes, 84 in all. Authenticate them with the wrapped key: they
    /// bind the slot to its container.
    public let associatedData: [UInt8]

    package init(_ slot: Slot, preamble: Preamble) {
        type = slot.type
        keyID = slot.keyID
        body = [UInt8](slot.body)
        associatedData = preamble.bytes + slot.bytes.prefix(Slot.headCount)
    }
}

/// For whom a container is made: each gets a slot, and any one of them opens it.
public struct Recipient: Sendable {
    enum Kind: Sendable {
        case key(SymmetricKey)
        case passphrase(Passphrase, Argon2Parameters)
        case privateSlot(
            PrivateSlotFamily, keyID: KeyID, bodyCount: Int,
            wrap: @Sendable (_ fileKey: FileKey, _ associatedData: [UInt8]) throws -> [UInt8])
    }

    let kind: Kind

    /// Whoever has this key.
    public static func key(_ key: SymmetricKey) -> Recipient {
        Recipient(kind: .key(key))
    }

    /// Whoever knows this passphrase, at this cost for each try.
    public static func passphrase(_ passphrase: Passphrase, _ cost: Argon2Parameters = .standard) -> Recipient {
        Recipient(kind: .passphrase(passphrase, cost))
    }

    /// Whoever gets the file key out of a private slot: a key service, hardware.
    ///
    /// - Parameters:
    ///   - family: the type, and the beginning of the ID.
    ///   - idSuffix: the other 8 bytes of the ID.
    ///   - bodyCount: the length of what `wrap` returns, at most 65,535 bytes.
    ///   - wrap: gets the file key and the associated data, as `PrivateSlot` has it, and returns the slot's body.
    public static func privateSlot(
        _ family: PrivateSlotFamily, idSuffix: [UInt8], bodyCount: Int,
        wrap: @escaping @Sendable (_ fileKey: FileKey, _ associatedData: [UInt8]) throws -> [UInt8]
    ) throws(VaultError) -> Recipient {
        guard let keyID = KeyID(bytes: family.idPrefix + idSuffix), (0...65_535).contains(bodyCount) else {
            throw VaultError(
                .invalidArgument, "a private slot has 8 bytes of ID behind its prefix and at most 65,535 of body")
        }
        return Recipient(kind: .privateSlot(family, keyID: keyID, bodyCount: bodyCount, wrap: wrap))
    }

    /// A slot of the form and the cost that this recipient's will have, to be counted before anything is stretched.
    var blankSlot: Slot {
        switch kind {
        case .key(let key):
            Slot(
                type: Slot.Kind.symmetric.rawValue, keyID: key.id,
                body: [UInt8](repeating: 0, count: Slot.symmetricBodyCount))
        case .passphrase(_, let cost):
            Slot(
                type: Slot.Kind.passphrase.rawValue, keyID: KeyID(unchecked: [UInt8](repeating: 0, count: 16)[...]),
                body: cost.encoded + [UInt8](repeating: 0, count: 24 + Slot.wrappedCount))
        case .privateSlot(let family, let keyID, let bodyCount, _):
            Slot(type: family.type, keyID: keyID, body: [UInt8](repeating: 0, count: bodyCount))
        }
    }
}
