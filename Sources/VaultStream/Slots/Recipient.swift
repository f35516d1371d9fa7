import VaultFormat

/// Someone who can open a container. Each recipient gets a slot, and any one of them opens the container.
public struct Recipient: Sendable {
    let maker: any SlotMaker
}

extension Recipient {
    /// A recipient that is named twice needs one slot (WRITE-5). Readers refuse two slots with the same key (SLOT-7). A
    /// second slot for a passphrase would take one of the four (SLOT-8), and stretching for it would buy nothing.
    static func distinct(_ recipients: [Recipient], under preamble: Preamble) -> [Recipient] {
        guard recipients.count > 1 else { return recipients }
        var identities: Set<ArraySlice<UInt8>> = []
        var secrets: [any SlotSecret] = []
        return recipients.filter { recipient in
            guard recipient.maker.idNamesOne else { return true }
            if let identity = recipient.maker.identity(under: preamble) { return identities.insert(identity).inserted }
            guard let secret = recipient.maker.secret else { return true }
            guard !secrets.contains(where: { $0.isSame(as: secret) }) else { return false }
            secrets.append(secret)
            return true
        }
    }
}
