import VaultCrypto
public import VaultFormat

/// Slots of passphrases (type 2): Argon2id for each passphrase and slot, so they are tried last.
struct PassphraseSlots: SlotKind {
    static let kind = SlotDescription.Kind.passphrase

    static func includes(_ slot: Slot) -> Bool { slot.kind == kind }

    private let limits: OpenLimits
    /// What is left of the limit of RECOV-4, in KiB.
    private var stretchingLeft: UInt64
    /// The slots whose cost was counted. Each counts once, however many passphrases are tried on it.
    private var counted: Set<HeaderSlot> = []
    /// The slots that are within the caller's limits in some intact copy.
    private var within: Set<HeaderSlot> = []
    private var given: [Passphrase]?

    init(_ limits: TrialLimits) {
        self.limits = limits.ofCopy
        stretchingLeft = limits.stretchingKiB
    }

    /// Checks each copy by itself. If both copies counted together, an interrupted change of one of four passphrases
    /// would exceed the limits and lock out every key. A slot that is within the limits in one copy may be tried in all
    /// (SLOT-20).
    mutating func note(_ slots: [HeaderSlot]) {
        for index in limits.slotsWithin(slots.map(\.slot)) { within.insert(slots[index]) }
    }

    mutating func ask(_ provider: any KeyProvider) throws {
        guard given == nil else { return }
        given = try provider.passphrases()
    }

    func secrets(for slot: HeaderSlot) -> [any SlotSecret] { given ?? [] }

    mutating func mayTry(_ slot: HeaderSlot) -> Bool {
        guard within.contains(slot), let cost = slot.slot.argon2?.stretchingKiB else { return false }
        guard !counted.contains(slot) else { return true }
        guard cost <= stretchingLeft else { return false }
        stretchingLeft -= cost
        counted.insert(slot)
        return true
    }
}

extension Passphrase: SlotSecret {
    func mayOpen(_ slot: HeaderSlot) -> Bool { slot.slot.kind == PassphraseSlots.kind }

    /// - Returns: `leftOut` if there is no memory for Argon2id.
    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        guard let cost = slot.slot.argon2 else { return .noSecret }
        let key: SecretBytes
        do {
            key = try wrappingKey(salt: slot.slot.keyID, cost: cost, preamble: slot.preamble)
        } catch {
            return .leftOut(.memory)
        }
        let fileKey = try SlotWrap.open(slot, key: key, context: context)
        return fileKey.map { .opened($0, by: self) } ?? .refused
    }

    func recipient(like slot: Slot) -> Recipient? { slot.argon2.map { .passphrase(self, $0) } }

    func isSame(as other: any SlotSecret) -> Bool { self == other as? Passphrase }

    fileprivate func wrappingKey(
        salt: KeyID, cost: Argon2Parameters, preamble: Preamble
    ) throws(MemoryUnavailable) -> SecretBytes {
        let stretched = try Argon2id.stretch(
            secret, salt: salt.bytes, passes: cost.passes, memoryKiB: cost.memoryKiB)
        return try BLAKE2b.derive(label: "vaultfile1wrap-p", key: stretched, message: preamble.bytes.span)
    }
}

extension Recipient {
    /// The people or programs that know this passphrase. `cost` is the cost of each try.
    public static func passphrase(_ passphrase: Passphrase, _ cost: Argon2Parameters = .standard) -> Recipient {
        Recipient(maker: PassphraseSlotMaker(passphrase: passphrase, cost: cost))
    }

    /// The cost of a passphrase's slot; nil for any other recipient.
    package var passphraseCost: Argon2Parameters? { (maker as? PassphraseSlotMaker)?.cost }
}

extension Credentials {
    /// One passphrase. Each try costs what the container's slot says, within the limits.
    public static func passphrase(
        _ passphrase: Passphrase, context: Context = .none, limits: OpenLimits = .standard
    ) -> Credentials {
        Credentials(KeySet(passphrases: [passphrase]), context: context, limits: limits)
    }
}

private struct PassphraseSlotMaker: SlotMaker {
    let passphrase: Passphrase
    let cost: Argon2Parameters

    var secret: (any SlotSecret)? { passphrase }

    func check() throws(VaultError) {
        guard cost.isAllowedForWriting else {
            throw VaultError(
                .invalidArgument,
                "a passphrase is stretched by 2 to 64 passes over 19 MiB to 2 GiB, not \(cost.passes) over "
                    + "\(cost.memoryKiB) KiB")
        }
    }

    /// None: the ID is a random salt.
    func identity(under preamble: Preamble) -> ArraySlice<UInt8>? { nil }

    func outline(under preamble: Preamble) -> Slot { outline(KeyID(unchecked: [UInt8](repeating: 0, count: 16)[...])) }

    private func outline(_ salt: KeyID) -> Slot {
        Slot(type: PassphraseSlots.kind.type, keyID: salt, body: cost.encoded + SlotWrap.blank)
    }

    func make(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> MadeSlot {
        let salt = KeyID(unchecked: randomness.bytes(16)[...])
        let key = try guarded { () throws(MemoryUnavailable) in
            try passphrase.wrappingKey(salt: salt, cost: cost, preamble: preamble)
        }
        let slot = try SlotWrap.wrap(
            fileKey, into: outline(salt), key: key, preamble: preamble, randomness: randomness)
        return MadeSlot(slot: slot, opener: nil)
    }
}

extension SlotSelection {
    /// Slots that one of these passphrases opens; the ID of such a slot is a random salt.
    public var passphrases: [Passphrase] {
        get { secrets.compactMap { $0 as? Passphrase } }
        set { secrets = secrets.filter { !($0 is Passphrase) } + newValue }
    }
}

extension SecretsAtHand {
    package func passphrases() throws -> [Passphrase] {
        try keys.passphrases() + secrets.compactMap { $0 as? Passphrase }
    }
}
