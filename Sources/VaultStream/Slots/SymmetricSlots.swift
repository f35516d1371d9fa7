import VaultCrypto
public import VaultFormat

/// Slots of symmetric keys (type 1): a hash and one decryption each, so they are tried first.
struct SymmetricSlots: SlotKind {
    static let kind = SlotDescription.Kind.symmetric

    static func includes(_ slot: Slot) -> Bool { slot.kind == kind }

    /// A slot can have a key's ID and not open with that key. The key would count as present, and its holder would be
    /// locked out for good. Any holder of another key of the container could put such a slot there.
    static let replacesDeadSlots = true

    /// The IDs in headers that the caller was not asked for yet.
    private var wanted: [KeyID] = []
    private var keys: [KeyID: SymmetricKey?] = [:]

    init(_ limits: TrialLimits) {}

    mutating func note(_ slots: [HeaderSlot]) {
        for slot in slots where keys[slot.slot.keyID] == nil { wanted.append(slot.slot.keyID) }
    }

    /// Asks once for all keys that the header names: untrusted bytes must not decide how often a key service is called.
    mutating func ask(_ provider: any KeyProvider) throws {
        var seen: Set<KeyID> = []
        let ids = wanted.filter { seen.insert($0).inserted }
        guard !ids.isEmpty else { return }
        let given = try provider.symmetricKeys(for: ids)
        wanted = []
        for id in ids { keys[id] = .some(nil) }
        // A key counts only for the slots with its own ID, whatever it was given for (SLOT-16).
        for key in given where seen.contains(key.id) { keys[key.id] = key }
    }

    func secrets(for slot: HeaderSlot) -> [any SlotSecret] {
        (keys[slot.slot.keyID] ?? nil).map { [$0] } ?? []
    }

    /// Does the work of one failed try. A caller who has no secret for any slot then takes as long as one whose secret
    /// was refused (SLOT-19).
    static func openNothing(preamble: Preamble, context: Context) throws(VaultError) {
        let zero = try guarded { () throws(MemoryUnavailable) in SecretBytes(try GuardedBuffer(count: 32)) }
        let slot = HeaderSlot(outline(KeySchedule.id(of: zero)), preamble)
        _ = try SlotWrap.open(slot, key: zero, context: context)
    }

    fileprivate static func outline(_ id: KeyID) -> Slot {
        Slot(type: kind.type, keyID: id, body: SlotWrap.blank)
    }
}

extension SymmetricKey: SlotSecret {
    func mayOpen(_ slot: HeaderSlot) -> Bool { slot.slot.kind == SymmetricSlots.kind && slot.slot.keyID == id }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        let fileKey = try SlotWrap.open(slot, key: wrappingKey(slot.preamble), context: context)
        return fileKey.map { .opened($0, by: self) } ?? .refused
    }

    func recipient(like slot: Slot) -> Recipient? { .key(self) }

    fileprivate func wrappingKey(_ preamble: Preamble) throws(VaultError) -> SecretBytes {
        try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1wrap-s", key: secret, message: preamble.bytes.span)
        }
    }
}

extension Recipient {
    /// The holders of this key.
    public static func key(_ key: SymmetricKey) -> Recipient {
        Recipient(maker: SymmetricSlotMaker(key: key))
    }
}

extension Credentials {
    /// One symmetric key.
    public static func key(
        _ key: SymmetricKey, context: Context = .none, limits: OpenLimits = .standard
    ) -> Credentials {
        Credentials(KeySet(keys: [key]), context: context, limits: limits)
    }
}

private struct SymmetricSlotMaker: SlotMaker {
    let key: SymmetricKey

    var secret: (any SlotSecret)? { key }

    func outline(under preamble: Preamble) -> Slot { SymmetricSlots.outline(key.id) }

    func make(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> MadeSlot {
        let slot = try SlotWrap.wrap(
            fileKey, into: outline(under: preamble), key: key.wrappingKey(preamble), preamble: preamble,
            randomness: randomness)
        return MadeSlot(slot: slot, opener: nil)
    }
}

extension SecretsAtHand {
    package func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let wanted = Set(ids)
        return try keys.symmetricKeys(for: ids)
            + secrets.compactMap { $0 as? SymmetricKey }.filter { wanted.contains($0.id) }
    }
}
