public import VaultFormat

/// The one joint: where keys come from. Implement it over a keychain, a key service, a prompt; everything else about a
/// container is fixed.
///
/// Opening asks for the symmetric keys by the IDs that the header names, then for private slots, and only if none of
/// them opens for passphrases.
public protocol KeyProvider: Sendable {
    /// The symmetric key with this ID, or nil if it is not at hand.
    func symmetricKey(for id: KeyID) throws -> SymmetricKey?

    /// The passphrases to try. Asked at most once for one opening, and only if the container has a passphrase slot and
    /// nothing else opened it: here a program may ask its user.
    func passphrases() throws -> [Passphrase]

    /// The file key out of a slot of a type that programs define for themselves, or nil if the slot is not for this
    /// program or does not open.
    func fileKey(for slot: PrivateSlot) throws -> FileKey?
}

extension KeyProvider {
    /// No passphrases.
    public func passphrases() throws -> [Passphrase] { [] }

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

    /// The key with this ID, if it is one of them.
    public func symmetricKey(for id: KeyID) -> SymmetricKey? { keys[id] }

    /// The passphrases.
    public func passphrases() -> [Passphrase] { given }
}

/// A slot of a type from 0x8000 on: what stands in its body is the affair of the program that wrote it.
public struct PrivateSlot: Hashable, Sendable {
    /// The slot's type, 0x8000 or above.
    public let type: UInt16
    /// The slot's ID. A program begins the IDs of all its private slots with 8 bytes that it drew once, so that it
    /// knows its own.
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
public enum Recipient: Sendable {
    /// Whoever has this key.
    case key(SymmetricKey)
    /// Whoever knows this passphrase, at this cost for each try.
    case passphrase(Passphrase, Argon2Parameters = .standard)
    /// A slot of a type from 0x8000 on, for key services and hardware. `wrap` gets the file key and the associated data
    /// (as `PrivateSlot` has it) and returns the slot's body, `bodyCount` bytes, at most 65,535.
    case privateSlot(
        type: UInt16, keyID: KeyID, bodyCount: Int,
        wrap: @Sendable (_ fileKey: FileKey, _ associatedData: [UInt8]) throws -> [UInt8])
}
