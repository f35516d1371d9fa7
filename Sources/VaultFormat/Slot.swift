/// One way into a container: the file key, wrapped for one key (Spec 4.1).
///
///     0   type u16
///     2   length of the body u16
///     4   key ID (16)
///     20  body
///
/// It keeps its bytes. A rotation must keep a slot of an unknown type byte for byte, and two slots are
/// the same if and only if their bytes are.
package struct Slot: Hashable, Sendable {
    package static let headCount = 20
    /// Wrapped file key and tag, the last bytes of a body that this library wraps.
    package static let wrappedCount = 48
    static let maximumCount = 1024

    package let bytes: [UInt8]

    package init(type: UInt16, keyID: KeyID, body: [UInt8]) {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: type)
        bytes.append(bigEndian: UInt16(body.count))
        bytes += keyID.bytes
        bytes += body
        self.bytes = bytes
    }

    /// The mark that a body's header copy has in place of slots (DET-1).
    package static let mark = Slot(
        type: SlotDescription.Kind.mark.type, keyID: KeyID(unchecked: [UInt8](repeating: 0, count: 16)[...]), body: [])

    /// Takes one slot and checks its type and length (SLOT-4 to SLOT-6).
    init(parsing reader: inout ByteReader) throws(VaultError) {
        var head = reader
        guard let type: UInt16 = head.integer(), let bodyCount: UInt16 = head.integer(),
            let bytes = reader.take(Self.headCount + Int(bodyCount))
        else { throw VaultError(.headerMalformed, "a slot reaches into the header's last 64 bytes") }
        guard type != 0 else { throw VaultError(.headerMalformed, "a slot has type 0") }
        let kind = SlotDescription.Kind(type: type)
        if let expected = kind.enforcedBodyCount, bodyCount != expected {
            throw VaultError(
                .headerMalformed, "the body of a \(kind.name) slot has \(bodyCount) bytes instead of \(expected)")
        }
        self.bytes = [UInt8](bytes)
    }

    package var type: UInt16 { bytes[0..<2].bigEndian() }
    package var kind: SlotDescription.Kind { SlotDescription.Kind(type: type) }
    /// Type and key ID. A reader could mistake two slots for each other only if these are equal.
    package var identity: ArraySlice<UInt8> { bytes[0..<2] + bytes[4..<20] }
    package var keyID: KeyID { KeyID(unchecked: bytes[4..<20]) }
    package var body: ArraySlice<UInt8> { bytes[Self.headCount...] }

    /// The nonce of a slot that this library wraps. It is right before the wrapped key.
    package var nonce: ArraySlice<UInt8> { bytes.dropLast(Self.wrappedCount).suffix(24) }
}

/// What a header shows of a slot to everybody.
public struct SlotDescription: Hashable, Sendable {
    /// The slot's type as it is written.
    public let type: UInt16
    /// The ID; of a passphrase slot it is the salt.
    public let keyID: KeyID
    /// The cost of a try, for a passphrase slot.
    public let argon2: Argon2Parameters?

    package init(_ slot: Slot) {
        type = slot.type
        keyID = slot.keyID
        argon2 = slot.argon2
    }

    /// What opens the slot.
    public var kind: Kind { Kind(type: type) }

    /// Whether the slot of a public key or of a plugin hides whose it is (SLOT-26): only a try with an identity tells.
    public var isHidden: Bool {
        (kind == .x25519 || kind == .xWing || kind == .stanzas) && keyID.bytes.prefix(8).allSatisfy { $0 == 0 }
    }
}
