/// One way into a container: the file key, wrapped for one key (Spec 4.1).
///
///     0   type u16
///     2   length of the body u16
///     4   key ID (16)
///     20  body
///
/// Kept as the bytes that it came as: a slot of a type that is not known must come out of a rotation byte for byte, and
/// two slots are the same if and only if their bytes are.
package struct Slot: Hashable, Sendable {
    package static let headCount = 20
    package static let symmetricBodyCount = 72
    package static let passphraseBodyCount = 84
    /// Wrapped file key and tag, the last bytes of a symmetric or passphrase body.
    package static let wrappedCount = 48
    static let maximumCount = 1024
    static let maximumPassphraseSlots = 4

    package enum Kind: UInt16, Sendable {
        case symmetric = 1
        case passphrase = 2
    }

    package let bytes: [UInt8]

    package init(type: UInt16, keyID: KeyID, body: [UInt8]) {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: type)
        bytes.append(bigEndian: UInt16(body.count))
        bytes += keyID.bytes
        bytes += body
        self.bytes = bytes
    }

    /// Takes one slot, and checks what it says of itself (SLOT-1 to SLOT-3).
    init(parsing reader: inout ByteReader) throws(VaultError) {
        var head = reader
        guard let type: UInt16 = head.integer(), let bodyCount: UInt16 = head.integer(),
            let bytes = reader.take(Self.headCount + Int(bodyCount))
        else { throw VaultError(.headerMalformed, "a slot reaches into the header's last 64 bytes") }
        guard type != 0 else { throw VaultError(.headerMalformed, "a slot has type 0") }
        switch Kind(rawValue: type) {
        case .symmetric where bodyCount != Self.symmetricBodyCount:
            throw VaultError(.headerMalformed, "the body of a symmetric slot has \(bodyCount) bytes instead of 72")
        case .passphrase where bodyCount != Self.passphraseBodyCount:
            throw VaultError(.headerMalformed, "the body of a passphrase slot has \(bodyCount) bytes instead of 84")
        default:
            self.bytes = [UInt8](bytes)
        }
    }

    package var type: UInt16 { bytes[0..<2].bigEndian() }
    package var kind: Kind? { Kind(rawValue: type) }
    package var isPrivate: Bool { type >= 0x8000 }
    /// Type and key ID: what tells two slots apart that their readers could mistake for each other.
    package var identity: ArraySlice<UInt8> { bytes[0..<2] + bytes[4..<20] }
    package var keyID: KeyID { KeyID(unchecked: bytes[4..<20]) }
    package var body: ArraySlice<UInt8> { bytes[Self.headCount...] }

    /// The cost of a passphrase slot. Parsing has seen to it that such a body has its 84 bytes.
    package var argon2: Argon2Parameters? {
        guard kind == .passphrase else { return nil }
        return Argon2Parameters(passes: body.prefix(4).bigEndian(), memoryKiB: body.dropFirst(4).prefix(4).bigEndian())
    }

    private var lanes: UInt32 { body.dropFirst(8).prefix(4).bigEndian() }

    /// The nonce of a symmetric or passphrase slot; it stands right before the wrapped key.
    package var nonce: ArraySlice<UInt8> { bytes.dropLast(Self.wrappedCount).suffix(24) }

    /// The caps of a header copy: what opening may cost at most, whoever asks (SLOT-5 to SLOT-8). Each factor is
    /// checked before the sum, so that no product can overflow.
    static func checkCaps(_ slots: [Slot]) throws(VaultError) {
        var count = 0
        var sum: UInt64 = 0
        for slot in slots {
            guard let cost = slot.argon2 else { continue }
            count += 1
            guard count <= maximumPassphraseSlots else {
                throw VaultError(.headerMalformed, "there are more than 4 passphrase slots")
            }
            guard slot.lanes == 1 else {
                throw VaultError(.headerMalformed, "a passphrase slot asks for \(slot.lanes) lanes instead of 1")
            }
            guard cost.isAllowedForReading else {
                throw VaultError(
                    .headerMalformed,
                    "a passphrase slot asks for \(cost.passes) passes over \(cost.memoryKiB) KiB, beyond the caps")
            }
            sum += cost.stretchingKiB
            guard sum <= Argon2Parameters.stretchingAllowed else {
                throw VaultError(.headerMalformed, "the passphrase slots together ask for more than 2^22 KiB")
            }
        }
    }
}

/// What a header shows of a slot to everybody.
public struct SlotDescription: Hashable, Sendable {
    /// What opens a slot.
    public struct Kind: Hashable, Sendable {
        private let name: String

        /// A symmetric key with this slot's ID.
        public static let symmetric = Kind(name: "symmetric")
        /// A passphrase.
        public static let passphrase = Kind(name: "passphrase")
        /// A type that programs may define for themselves (0x8000 and above).
        public static let privateType = Kind(name: "private")
        /// A type that this library does not know.
        public static let unknown = Kind(name: "unknown")
    }

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
    public var kind: Kind {
        switch type {
        case Slot.Kind.symmetric.rawValue: .symmetric
        case Slot.Kind.passphrase.rawValue: .passphrase
        case 0x8000...: .privateType
        default: .unknown
        }
    }
}
