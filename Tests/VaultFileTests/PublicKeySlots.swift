import VaultFile
import VaultFormat
import VaultTestSupport

/// Identities that tests share.
enum People {
    static let alice = identity(1)
    static let bob = identity(2)
    static let carol = identity(3)

    /// An X25519 identity of 32 equal bytes.
    static func identity(_ byte: UInt8) -> Identity {
        do {
            return try Identity(.x25519, secret([UInt8](repeating: byte, count: 32)))
        } catch {
            fatalError("\(error)")
        }
    }
}

extension [UInt8] {
    /// The slots of the front copy.
    var slots: [Slot] { get throws { try header.slots } }

    var header: HeaderCopy {
        get throws {
            let capacity = HeaderCopy.claimedCapacity(self[...])?.bytes ?? 0
            return try HeaderCopy(parsing: [UInt8](self[..<capacity]))
        }
    }
}

/// The same slot with a wrong tag. Nobody can open it.
func dead(_ slot: Slot) -> Slot {
    var body = [UInt8](slot.body)
    body[body.count - 1] ^= 1
    return Slot(type: slot.type, keyID: slot.keyID, body: body)
}

/// Several different slots with the same ID. Nobody can open them.
func dead(_ slot: Slot, count: Int) -> [Slot] {
    (0..<count).map { index in
        var body = [UInt8](slot.body)
        body[body.count - 1] ^= 1
        body[body.count - 60] = UInt8(truncatingIfNeeded: index)
        body[body.count - 61] = UInt8(truncatingIfNeeded: index >> 8)
        return Slot(type: slot.type, keyID: slot.keyID, body: body)
    }
}
