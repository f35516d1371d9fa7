import Synchronization
import VaultCrypto
public import VaultFormat

/// Slots with age stanzas (type 5): the work of a plugin, which may ask a person for a touch. So all slots of a copy go
/// to a plugin at once, and only if no key opened the container.
struct StanzaSlots: SlotKind {
    /// The most slots of each sort that a plugin gets, and the most hidden slots that a writer makes (SLOT-33, WRITE-5).
    static let most = 32

    private let limits: TrialLimits
    private var provider: (any KeyProvider)?
    /// The copies that were noted, each once.
    private var copies: [[HeaderSlot]] = []
    private var seen: Set<[HeaderSlot]> = []
    private var sessions: StanzaSessions?
    /// The sessions with one identity alone, which names slots that are to be removed.
    private var alone: [ObjectIdentifier: StanzaSessions] = [:]

    static let limitsNeedSecrets = true

    init(_ limits: TrialLimits) {
        self.limits = limits
    }

    static func includes(_ slot: Slot) -> Bool { StanzaSlot(slot) != nil }

    static func strength(of slot: Slot) -> SlotStrength? {
        guard slot.kind == .stanzas else { return nil }
        return StanzaSlot(slot)?.isPostQuantum == true ? .strong : .classical
    }

    /// A reader would not hand over more hidden slots than this, so the last ones would lock their owners out.
    static func check(adding new: [Slot], to all: [Slot]) throws(VaultError) {
        func isHidden(_ slot: Slot) -> Bool { includes(slot) && slot.isHidden }
        guard new.contains(where: isHidden), all.count(where: isHidden) > most else { return }
        throw VaultError(.doesNotFit, "a header holds at most \(most) hidden slots with stanzas")
    }

    mutating func note(_ slots: [HeaderSlot]) {
        guard !slots.isEmpty, seen.insert(slots).inserted else { return }
        copies.append(slots)
        sessions?.judge(slots)
        for identity in alone.keys { alone[identity]?.judge(slots) }
    }

    mutating func ask(_ provider: any KeyProvider) throws {
        guard sessions == nil else { return }
        self.provider = provider
        sessions = makeSessions(try provider.pluginIdentities())
    }

    private func makeSessions(_ identities: [PluginIdentity]) -> StanzaSessions {
        var sessions = StanzaSessions(identities, limits)
        for slots in copies { sessions.judge(slots) }
        return sessions
    }

    /// First the slots that are matched for each plugin, then the others (SLOT-34).
    var roundCount: Int { 2 * (sessions?.pluginCount ?? 0) }

    mutating func begin(_ round: Int, _ slots: [HeaderSlot]) throws {
        guard let provider, let count = sessions?.pluginCount, count > 0 else { return }
        try sessions?.hold(plugin: round % count, matched: round < count, slots, provider)
    }

    func secrets(for slot: HeaderSlot, in round: Int) -> [any SlotSecret] {
        guard let sessions, sessions.pluginCount > 0 else { return [] }
        return sessions.opener(of: slot, plugin: round % sessions.pluginCount).map { [$0] } ?? []
    }

    func secrets(for slot: HeaderSlot) -> [any SlotSecret] {
        (0..<(sessions?.pluginCount ?? 0)).compactMap { sessions?.opener(of: slot, plugin: $0) }
    }

    func reasonWithoutSecret(_ slot: HeaderSlot) -> SlotTrials.Reason? { sessions?.reasonNotOpened(slot) }

    /// All slots of the copy go to the plugin in one session. An identity that is the only one of its plugin has the
    /// answers that the plugin gave before.
    mutating func openers(of secret: any SlotSecret, for slot: HeaderSlot) throws -> [any SlotSecret] {
        guard let identity = secret as? PluginIdentity, let provider else { return [secret] }
        let slots = copies.first { $0.contains(slot) } ?? [slot]
        if let plugin = sessions?.plugin(ofOnly: identity) {
            return try sessions?.openers(of: slot, among: slots, plugin: plugin, provider) ?? []
        }
        let place = ObjectIdentifier(identity)
        var own = alone[place] ?? makeSessions([identity])
        defer { alone[place] = own }
        return try own.openers(of: slot, among: slots, plugin: 0, provider)
    }
}

extension StanzaSessions {
    /// What opens a slot after both sessions with a plugin, if anything does.
    ///
    /// - Throws: `pluginFailed`; `limitExceeded` if the slot is left out.
    fileprivate mutating func openers(
        of slot: HeaderSlot, among slots: [HeaderSlot], plugin: Int, _ provider: any KeyProvider
    ) throws -> [any SlotSecret] {
        for matched in [true, false] { try hold(plugin: plugin, matched: matched, slots, provider) }
        if let reason = reasonNotOpened(slot, plugin: plugin) { throw reason.error }
        return opener(of: slot, plugin: plugin).map { [$0] } ?? []
    }
}

// MARK: Recipients

/// What a plugin has made for one recipient: a secret, wrapped into stanzas. It makes one slot.
public final class WrappedStanzas: Sendable {
    /// The recipient; nil if only the plugin knows them. Then the slot is a hidden one (PLUG-6).
    public let recipient: PluginRecipient?
    /// Whether the plugin says that a quantum computer does not open the stanzas.
    public var isPostQuantum: Bool { slot.isPostQuantum }
    fileprivate let slot: StanzaSlot
    fileprivate let secret: StanzaSecret
    /// Whether a slot was made of it.
    private let isUsed = Atomic(false)

    /// The label of recipients that a quantum computer does not break.
    public static let postQuantumLabel = "postquantum"

    /// - Parameters:
    ///   - secret: what the plugin has wrapped; fresh for each container.
    ///   - stanzas: what the plugin has made, 1 to 16.
    ///   - recipient: whom the stanzas are for; nil if that is not known.
    ///   - labels: the labels that the plugin has given the recipient.
    /// - Throws: `pluginFailed` if a slot cannot hold the stanzas; `mixedRecipients` if a label is not known (PLUG-5).
    public init(
        _ secret: StanzaSecret, in stanzas: [AgeStanza], for recipient: PluginRecipient?, labels: Set<String>
    ) throws(VaultError) {
        guard labels.isSubset(of: [Self.postQuantumLabel]) else {
            throw VaultError(.mixedRecipients, "the plugin gives its recipient a label that is not known")
        }
        let bits = labels.isEmpty ? 0 : StanzaSlot.postQuantum
        guard let slot = StanzaSlot(labels: bits, text: stanzas.flatMap(\.encoded)[...]) else {
            throw VaultError(
                .pluginFailed,
                stanzas.isEmpty ? "the plugin wrapped nothing" : "the plugin made more than a slot can hold")
        }
        self.slot = slot
        self.secret = secret
        self.recipient = recipient
    }

    /// To be called before a slot is made of it. The secret is fresh for each slot (WRITE-15): otherwise what the plugin
    /// gives for one container would open all that have its stanzas.
    fileprivate func use() throws(VaultError) {
        guard !isUsed.exchange(true, ordering: .relaxed) else {
            throw VaultError(.invalidArgument, "what a plugin has wrapped makes only one slot")
        }
    }
}

extension Recipient {
    /// The recipient of a plugin, for whom it has wrapped a secret.
    ///
    /// - Parameters:
    ///   - wrapped: good for one slot.
    ///   - isHidden: whether the slot hides whose it is; it does in any case if only the plugin knows the recipient.
    public static func stanzas(_ wrapped: WrappedStanzas, isHidden: Bool = false) -> Recipient {
        Recipient(maker: StanzaSlotMaker(wrapped: wrapped, isHidden: isHidden || wrapped.recipient == nil))
    }

    /// Whether a plugin has wrapped a secret for it.
    package var isOfPlugin: Bool { maker is StanzaSlotMaker }
}

private struct StanzaSlotMaker: SlotMaker {
    let wrapped: WrappedStanzas
    let isHidden: Bool

    /// None: only a plugin opens these slots, and a change of slots does not start it to find out whose they are.
    var secret: (any SlotSecret)? { nil }

    func isOpened(by secret: any SlotSecret) -> Bool {
        // mutant: a session has identities
        guard let opener = secret as? StanzaOpener, let recipient = wrapped.recipient, !opener.identities.isEmpty else {
            return false
        }
        // The plugin does not say which of its identities opened the slot. If one of them is another person's, the slot
        // can be theirs.
        return opener.identities.allSatisfy { $0.knownRecipients.contains(recipient) }
    }

    func identity(under preamble: Preamble) -> ArraySlice<UInt8>? {
        wrapped.recipient?.slotIdentity(under: preamble)
    }

    func opener(of slot: HeaderSlot) -> SlotTrials.Opener? { nil }

    func predecessorOpener(of slot: HeaderSlot) -> SlotTrials.Opener? {
        guard let recipient = wrapped.recipient, slot.slot.kind == StanzaSlots.kind else { return nil }
        if slot.slot.isHidden { return .ofRecipient(self) }
        return recipient.names(slot) ? .atHand : nil
    }

    func outline(under preamble: Preamble) -> Slot { outline(id(under: preamble, nil)) }

    private func id(under preamble: Preamble, _ randomness: Randomness?) -> KeyID {
        guard let recipient = wrapped.recipient, !isHidden else { return Slot.hiddenID(randomness) }
        return recipient.id(under: preamble)
    }

    private func outline(_ id: KeyID) -> Slot {
        Slot(type: StanzaSlots.kind.type, keyID: id, body: wrapped.slot.encoded + SlotWrap.blank)
    }

    func make(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> MadeSlot {
        try wrapped.use()
        let slot = try SlotWrap.wrap(
            fileKey, into: outline(id(under: preamble, randomness)), key: wrapped.secret.wrappingKey(preamble),
            preamble: preamble, randomness: randomness)
        return MadeSlot(
            slot: slot, opener: StanzaOpener(wrapped.secret, HeaderSlot(slot, preamble), identities: []))
    }
}

// MARK: Choosing slots, and the secrets of a change

extension StanzaSlots {
    static let kind = SlotDescription.Kind.stanzas
}

extension PluginRecipient: SlotName {
    fileprivate func slotIdentity(under preamble: Preamble) -> ArraySlice<UInt8> {
        Slot(type: StanzaSlots.kind.type, keyID: id(under: preamble), body: []).identity
    }

    func names(_ slot: HeaderSlot) -> Bool { slot.slot.identity == slotIdentity(under: slot.preamble) }
}

/// A name for slots that are to be removed. What opens slots is what the plugin gives for them.
extension PluginIdentity: SlotSecret {
    func mayOpen(_ slot: HeaderSlot) -> Bool { StanzaSlots.includes(slot.slot) }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict { .noSecret }

    func recipient(like slot: Slot) -> Recipient? { nil }

    func names(_ slot: HeaderSlot) -> Bool { knownRecipients.contains { $0.names(slot) } }
}

extension SlotSelection {
    /// The slots with the IDs of these recipients. Hidden slots are not among them.
    public var pluginRecipients: [PluginRecipient] {
        get { names.compactMap { $0 as? PluginRecipient } }
        set { names = names.filter { !($0 is PluginRecipient) } + newValue }
    }

    /// The slots with the IDs of the known recipients of these identities, and those that their plugin opens with one
    /// of them.
    public var pluginIdentities: [PluginIdentity] {
        get { secrets.compactMap { $0 as? PluginIdentity } }
        set { secrets = secrets.filter { !($0 is PluginIdentity) } + newValue }
    }
}

extension SecretsAtHand {
    package func pluginIdentities() throws -> [PluginIdentity] {
        try keys.pluginIdentities() + secrets.compactMap { $0 as? PluginIdentity }
    }

    package func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try keys.secrets(in: slots, by: plugin, with: identities)
    }
}
