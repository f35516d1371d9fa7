import VaultCrypto
public import VaultFormat
import VaultXWing

/// Slots of public keys (types 3 and 4): one decapsulation for each slot and identity.
///
/// The ID of a slot is a hash of its public key and its container's preamble (KEY-18), so only a person who has the
/// public key can tell whose slot it is. A hidden slot does not tell even that: its ID begins with 8 zeros.
struct PublicKeySlots: SlotKind {
    /// The most slots of each sort that are tried, and the most hidden slots that a writer makes (SLOT-27, WRITE-5).
    static let most = 64

    private let limits: TrialLimits
    private var identities: [Identity]?
    /// The slots of the copies that were noted before the caller was asked.
    private var waiting: [[HeaderSlot]] = []
    /// The identities by the IDs of their slots, for each preamble.
    private var owners: [Preamble: [KeyID: [Identity]]] = [:]
    /// The slots that are within the limits in some intact copy.
    private var within: Set<HeaderSlot> = []
    /// In a recovery: the counts so far, and the slots of the copies that they are about.
    private var counted = Counts()
    private var seen: Set<HeaderSlot> = []

    private struct Counts {
        var matched = 0
        var hidden = 0
    }

    static let limitsNeedSecrets = true

    init(_ limits: TrialLimits) {
        self.limits = limits
    }

    static func includes(_ slot: Slot) -> Bool {
        switch slot.kind {
        case .x25519: slot.body.count == X25519.keyCount + SlotWrap.blank.count
        case .xWing: XWing.available != nil && slot.body.count == XWing.encapsulationCount + SlotWrap.blank.count
        default: false
        }
    }

    static func strength(of slot: Slot) -> SlotStrength? {
        switch slot.kind {
        case .x25519: .classical
        case .xWing: .strong
        default: nil
        }
    }

    /// A reader would not try more hidden slots than this, so the last ones would lock their owners out.
    static func check(adding new: [Slot], to all: [Slot]) throws(VaultError) {
        func isHidden(_ slot: Slot) -> Bool { includes(slot) && slot.isHidden }
        guard new.contains(where: isHidden), all.count(where: isHidden) > most else { return }
        throw VaultError(.doesNotFit, "a header holds at most \(most) hidden slots of public keys")
    }

    mutating func note(_ slots: [HeaderSlot]) {
        guard !slots.isEmpty else { return }
        if identities == nil { waiting.append(slots) } else { count(slots) }
    }

    mutating func ask(_ provider: any KeyProvider) throws {
        if identities == nil { identities = try provider.identities() }
        for slots in waiting { count(slots) }
        waiting = []
    }

    /// Finds the slots that may be tried: the first that an identity matches, and the first hidden ones (SLOT-27). Both
    /// are counted for each copy by itself; in a recovery, over all candidates, and a slot of an earlier one not again
    /// (RECOV-3).
    private mutating func count(_ slots: [HeaderSlot]) {
        let most = min(Self.most, limits.ofCopy.maximumPublicKeySlots)
        var counts = limits.areOfAllCopies ? counted : Counts()
        for slot in slots {
            findOwners(slot.preamble)
            if seen.contains(slot) { continue }
            let place = slot.slot.isHidden ? \Counts.hidden : \.matched
            guard counts[keyPath: place] < most, !secrets(for: slot).isEmpty else { continue }
            counts[keyPath: place] += 1
            within.insert(slot)
        }
        guard limits.areOfAllCopies else { return }
        counted = counts
        seen.formUnion(slots)
    }

    private mutating func findOwners(_ preamble: Preamble) {
        guard owners[preamble] == nil, let identities else { return }
        owners[preamble] = Dictionary(grouping: identities) { $0.publicKey.id(under: preamble) }
    }

    func secrets(for slot: HeaderSlot) -> [any SlotSecret] {
        let candidates: [Identity]?
        if slot.slot.isHidden {
            candidates = identities
        } else if let owners = owners[slot.preamble] {
            candidates = owners[slot.slot.keyID]
        } else {
            // A new slot in a header that has none of this kind.
            candidates = identities?.filter { $0.publicKey.id(under: slot.preamble) == slot.slot.keyID }
        }
        return candidates?.filter { $0.publicKey.kind == slot.slot.kind } ?? []
    }

    func mayTry(_ slot: HeaderSlot) -> Bool { within.contains(slot) }
}

extension Slot {
    private static let hiddenMark = [UInt8](repeating: 0, count: 8)

    /// Whether a slot of types 3 to 5 hides whose it is (SLOT-26).
    var isHidden: Bool { bytes[4..<12].elementsEqual(Self.hiddenMark) }

    /// The ID of a hidden slot.
    static func hiddenID(_ randomness: Randomness?) -> KeyID {
        KeyID(unchecked: (hiddenMark + (randomness?.bytes(8) ?? hiddenMark))[...])
    }

    /// The encapsulation in a slot of a public key, before its nonce and the wrapped key.
    fileprivate var encapsulation: [UInt8] { [UInt8](body.dropLast(SlotWrap.blank.count)) }
}

// MARK: Key-encryption keys

extension PublicKey {
    /// The type and the ID of this key's slots.
    fileprivate func slotIdentity(under preamble: Preamble) -> ArraySlice<UInt8> {
        outline(id(under: preamble)).identity
    }

    fileprivate func outline(_ id: KeyID) -> Slot {
        let count = kind == .xWing ? XWing.encapsulationCount : X25519.keyCount
        return Slot(type: kind.type, keyID: id, body: [UInt8](repeating: 0, count: count) + SlotWrap.blank)
    }
}

extension SecretBytes {
    /// What HPKE exports from this shared secret for a slot (KEY-19). The slot's head and the preamble are bound, so a
    /// slot is of no use in another container, under another ID or as another type.
    fileprivate func exported(for slot: Slot, _ preamble: Preamble) throws(VaultError) -> SecretBytes {
        let hpke = slot.kind == .xWing ? HPKE.xWing : HPKE.x25519
        let info = [UInt8]("vaultfile1hpke-i".utf8) + preamble.bytes + slot.bytes.prefix(Slot.headCount)
        return try guarded { () throws(MemoryUnavailable) in
            try hpke.export(self, info: info, context: [UInt8]("vaultfile1hpke-x".utf8))
        }
    }

    /// The key-encryption key from an exported secret (KEY-20).
    fileprivate func wrappingKey(_ preamble: Preamble) throws(VaultError) -> SecretBytes {
        try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1wrap-h", key: self, message: preamble.bytes.span)
        }
    }
}

extension Identity: SlotSecret {
    func mayOpen(_ slot: HeaderSlot) -> Bool {
        // mutant: only slots of this kind get here, and only usable ones are of a kind
        guard PublicKeySlots.includes(slot.slot) else { return false }
        guard slot.slot.kind == publicKey.kind else { return false }
        return slot.slot.isHidden || slot.slot.keyID == publicKey.id(under: slot.preamble)
    }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        // Without a result the work goes on, and ends with a refusal (KEY-22).
        let key = try sharedSecret(in: slot.slot.encapsulation)?.exported(for: slot.slot, slot.preamble)
            .wrappingKey(slot.preamble)
        return try SlotWrap.open(slot, key: key, context: context).map { .opened($0, by: self) } ?? .refused
    }

    private func sharedSecret(in encapsulation: [UInt8]) throws(VaultError) -> SecretBytes? {
        try guarded { () throws(MemoryUnavailable) in
            guard publicKey.kind == .xWing else {
                return try HPKE.decapsulate(encapsulation, scalar: secret, publicKey: publicKey.bytes)
            }
            // Not every library checks its X25519 half, and two readers must not differ.
            // mutant: swift-crypto checks it
            guard !X25519.givesZeros([UInt8](encapsulation.suffix(X25519.keyCount))) else { return nil }
            return try XWing.available?.decapsulate(encapsulation, secret)
        }
    }

    func recipient(like slot: Slot) -> Recipient? { .identity(self, isHidden: slot.isHidden) }

    func names(_ slot: HeaderSlot) -> Bool { publicKey.names(slot) }
}

// MARK: Recipients

extension Recipient {
    /// The owner of a public key. Nothing here can tell whether they still have its identity.
    ///
    /// - Parameters:
    ///   - key: the public key.
    ///   - isHidden: whether the slot hides whose it is. A hidden slot is tried with every identity of its kind, and a
    ///     header holds at most 64 of them.
    public static func publicKey(_ key: PublicKey, isHidden: Bool = false) -> Recipient {
        Recipient(maker: PublicKeySlotMaker(publicKey: key, identity: nil, isHidden: isHidden))
    }

    /// Whether its slots are for a public key.
    package var isPublicKey: Bool { maker is PublicKeySlotMaker }

    /// The owner of an identity, which the caller has: the same slots as for its public key, and the identity counts as
    /// a secret at hand.
    public static func identity(_ identity: Identity, isHidden: Bool = false) -> Recipient {
        Recipient(maker: PublicKeySlotMaker(publicKey: identity.publicKey, identity: identity, isHidden: isHidden))
    }
}

extension Credentials {
    /// One identity.
    public static func identity(
        _ identity: Identity, context: Context = .none, limits: OpenLimits = .standard
    ) -> Credentials {
        Credentials(KeySet(identities: [identity]), context: context, limits: limits)
    }
}

private struct PublicKeySlotMaker: SlotMaker {
    let publicKey: PublicKey
    let identity: Identity?
    let isHidden: Bool

    var secret: (any SlotSecret)? { identity }

    func isOpened(by secret: any SlotSecret) -> Bool { (secret as? Identity)?.publicKey == publicKey }

    func check() throws(VaultError) {
        // mutant: the build that is tested has X-Wing
        guard publicKey.kind != .xWing || XWing.available != nil else { throw Identity.noXWing }
    }

    /// That of slots that are not hidden, also for a recipient whose new slot is: a slot that they have counts.
    func identity(under preamble: Preamble) -> ArraySlice<UInt8>? { publicKey.slotIdentity(under: preamble) }

    /// A hidden slot is theirs if their identity at hand opens it.
    func opener(of slot: HeaderSlot) -> SlotTrials.Opener? {
        // mutant: the ID and the identity tell the kind, too; without this check a try is wasted
        guard slot.slot.kind == publicKey.kind else { return nil }
        if slot.slot.isHidden { return .ofRecipient(self) }
        return slot.slot.keyID == publicKey.id(under: slot.preamble) ? .atHand : nil
    }

    func outline(under preamble: Preamble) -> Slot {
        publicKey.outline(isHidden ? Slot.hiddenID(nil) : publicKey.id(under: preamble))
    }

    func make(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> MadeSlot {
        let blank = publicKey.outline(isHidden ? Slot.hiddenID(randomness) : publicKey.id(under: preamble))
        let (encapsulation, shared) = try encapsulate(randomness)
        let exported = try shared.exported(for: blank, preamble)
        let slot = try SlotWrap.wrap(
            fileKey, into: Slot(type: blank.type, keyID: blank.keyID, body: encapsulation + SlotWrap.blank),
            key: exported.wrappingKey(preamble), preamble: preamble, randomness: randomness)
        return MadeSlot(slot: slot, opener: ExportedSecret(exported))
    }

    private func encapsulate(_ randomness: Randomness) throws(VaultError) -> ([UInt8], SecretBytes) {
        let ephemeral = publicKey.kind == .xWing ? nil : try randomness.secret(X25519.keyCount)
        let made = try guarded { () throws(MemoryUnavailable) in
            guard let ephemeral else { return try randomness.xWing?.encapsulate(publicKey.bytes) }
            return try HPKE.encapsulate(to: publicKey.bytes, ephemeral: ephemeral)
        }
        // No key of these is a `PublicKey`; a library may still refuse one.
        guard let made else { throw VaultError(.badKey, "nothing can be encrypted for this public key") }
        return made
    }
}

/// The writer's own secret for one new slot. It opens the slot once more before the header is written (ROT-18), and
/// proves everything but that somebody has the identity.
private final class ExportedSecret: SlotSecret {
    private let exported: SecretBytes

    init(_ exported: SecretBytes) {
        self.exported = exported
    }

    func mayOpen(_ slot: HeaderSlot) -> Bool { true }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        let fileKey = try SlotWrap.open(slot, key: exported.wrappingKey(slot.preamble), context: context)
        return fileKey.map { .opened($0, by: self) } ?? .refused
    }

    func recipient(like slot: Slot) -> Recipient? { nil }
}

// MARK: Choosing slots, and the secrets of a change

extension PublicKey: SlotName {
    func names(_ slot: HeaderSlot) -> Bool { slot.slot.identity == slotIdentity(under: slot.preamble) }
}

extension SlotSelection {
    /// The slots with the IDs of these public keys. Hidden slots are not among them.
    public var publicKeys: [PublicKey] {
        get { names.compactMap { $0 as? PublicKey } }
        set { names = names.filter { !($0 is PublicKey) } + newValue }
    }

    /// The slots with the IDs of these identities, and the hidden slots that one of them opens.
    public var identities: [Identity] {
        get { secrets.compactMap { $0 as? Identity } }
        set { secrets = secrets.filter { !($0 is Identity) } + newValue }
    }
}

extension SecretsAtHand {
    package func identities() throws -> [Identity] {
        try keys.identities() + secrets.compactMap { $0 as? Identity }
    }
}
