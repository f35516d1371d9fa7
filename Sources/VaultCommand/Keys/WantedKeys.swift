internal import VaultFile

/// What has slots in a container that did not open, for the message. The header says this, unauthenticated.
struct WantedKeys: Sendable {
    /// The keys with slots that are not among the secrets of a change.
    var keys: Set<KeyID> = []
    /// Whether a passphrase was asked for.
    var passphrase = false
    /// Whether identities were asked for.
    var identity = false
    /// What the container shows; nil if it cannot be read twice.
    var seen: Inspection?

    /// Whether it has a slot for the key with this ID.
    func has(_ id: KeyID?) -> Bool { id.map(keys.contains) ?? false }

    private var kindsOfIdentities: [SlotDescription.Kind] {
        let kinds = Set(seen?.slots.map(\.kind) ?? [])
        return [.x25519, .xWing, .stanzas].filter(kinds.contains)
    }

    /// Whether only identities open it.
    var isOnlyOfIdentities: Bool { keys.isEmpty && !passphrase && !identities().isEmpty }

    /// The identities that it has slots for, in words.
    ///
    /// - Parameter tried: The kinds of which an identity was tried.
    func identities(tried: Set<SlotDescription.Kind> = []) -> [String] {
        guard seen != nil else { return identity ? [tried.isEmpty ? "an identity" : "another identity"] : [] }
        return kindsOfIdentities.map { (tried.contains($0) ? "another " : "an ") + $0.nounOfIdentity }
    }

    /// Whether it has a slot that is not hidden for the owner of a public key.
    func hasSlot(of key: PublicKey) -> Bool {
        [seen?.front.summary, seen?.tail.summary].compactMap(\.self).contains { header in
            header.slots.contains { $0.kind == key.kind && $0.keyID == key.slotID(in: header) }
        }
    }
}
