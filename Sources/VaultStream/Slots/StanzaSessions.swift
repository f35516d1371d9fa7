import VaultCrypto
import VaultFormat

/// Which plugin gets which slots with age stanzas, and what it has given for them (SLOT-32 to SLOT-34). One value serves
/// one opening.
struct StanzaSessions {
    private struct Plugin {
        let name: String
        var identities: [PluginIdentity]
        /// The slots that may be handed over, by the limits for some copy.
        var within: Set<HeaderSlot> = []
        /// The slots that are left out in some copy.
        var beyond: Set<HeaderSlot> = []
        /// What the plugin has given for the slots that it got; nil for nothing.
        var answers: [HeaderSlot: StanzaOpener?] = [:]
        /// Why a session for a slot failed.
        var failures: [HeaderSlot: VaultError] = [:]
        /// The IDs of the known recipients under the preambles seen so far.
        var ids: [Preamble: Set<KeyID>] = [:]
        /// In a recovery: the counts so far, and the slots that they are about.
        var counts = Counts()
        var seen: Set<HeaderSlot> = []

        func isMatched(_ slot: HeaderSlot) -> Bool { ids[slot.preamble]?.contains(slot.slot.keyID) == true }
    }

    private struct Counts {
        var matched = 0
        var others = 0
    }

    private let limits: TrialLimits
    /// In the order in which their first identities are given.
    private var plugins: [Plugin] = []

    init(_ identities: [PluginIdentity], _ limits: TrialLimits) {
        self.limits = limits
        for identity in identities {
            guard let place = plugins.firstIndex(where: { $0.name == identity.plugin }) else {
                plugins.append(Plugin(name: identity.plugin, identities: [identity]))
                continue
            }
            if let same = plugins[place].identities.firstIndex(where: { $0.mark == identity.mark }) {
                let known = plugins[place].identities[same]
                plugins[place].identities[same] = known.knowing(identity.knownRecipients)
            } else {
                plugins[place].identities.append(identity)
            }
        }
    }

    var pluginCount: Int { plugins.count }

    /// The plugin whose only identity this one is.
    func plugin(ofOnly identity: PluginIdentity) -> Int? {
        plugins.firstIndex { $0.name == identity.plugin && $0.identities.map(\.mark) == [identity.mark] }
    }

    /// Finds the slots of one copy that may be handed over: for each plugin the first that are matched, and the first
    /// that are not (SLOT-33). In a recovery the counts are over all candidates (RECOV-3).
    mutating func judge(_ slots: [HeaderSlot]) {
        for place in plugins.indices { judge(slots, by: &plugins[place]) }
    }

    private func judge(_ slots: [HeaderSlot], by plugin: inout Plugin) {
        let most = min(StanzaSlots.most, limits.ofCopy.maximumStanzaSlots)
        var counts = limits.areOfAllCopies ? plugin.counts : Counts()
        var seen = limits.areOfAllCopies ? plugin.seen : []
        for slot in slots where seen.insert(slot).inserted {
            if plugin.ids[slot.preamble] == nil {
                let known = plugin.identities.flatMap(\.knownRecipients)
                plugin.ids[slot.preamble] = Set(known.map { $0.id(under: slot.preamble) })
            }
            let place = plugin.isMatched(slot) ? \Counts.matched : \.others
            counts[keyPath: place] += 1
            if counts[keyPath: place] <= most { plugin.within.insert(slot) } else { plugin.beyond.insert(slot) }
        }
        guard limits.areOfAllCopies else { return }
        plugin.counts = counts
        plugin.seen = seen
    }

    /// Hands slots to a plugin: those of one sort that it may get and did not get before. If there are none, there is no
    /// session.
    mutating func hold(plugin place: Int, matched: Bool, _ slots: [HeaderSlot], _ provider: any KeyProvider) throws {
        let plugin = plugins[place]
        var seen: Set<HeaderSlot> = []
        let wanted = slots.filter {
            plugin.within.contains($0) && plugin.answers[$0] == nil && plugin.isMatched($0) == matched
                && seen.insert($0).inserted
        }
        guard !wanted.isEmpty else { return }
        var given = [StanzaSecret?](repeating: nil, count: wanted.count)
        do {
            given = try provider.secrets(
                in: wanted.map { StanzaSlot($0.slot)?.stanzas ?? [] }, by: plugin.name, with: plugin.identities)
            guard given.count == wanted.count else {
                throw VaultError(.pluginFailed, "not as many answers came from the plugin as slots went to it")
            }
        } catch let error as VaultError where error.code == .pluginFailed {
            for slot in wanted { plugins[place].failures[slot] = error }
            given = [StanzaSecret?](repeating: nil, count: wanted.count)
        }
        for (slot, secret) in zip(wanted, given) {
            let opener = secret.map { StanzaOpener($0, slot, identities: plugin.identities) }
            plugins[place].answers.updateValue(opener, forKey: slot)
        }
    }

    /// What a plugin has given for a slot.
    func opener(of slot: HeaderSlot, plugin: Int) -> StanzaOpener? { plugins[plugin].answers[slot] ?? nil }

    /// Why a plugin did not open a slot, if that is not the plugin's answer.
    ///
    /// - Parameter plugin: nil for any of them.
    func reasonNotOpened(_ slot: HeaderSlot, plugin: Int? = nil) -> SlotTrials.Reason? {
        let asked = plugin.map { [plugins[$0]] } ?? plugins
        if asked.contains(where: { $0.beyond.contains(slot) && !$0.within.contains(slot) }) { return .limits }
        return asked.lazy.compactMap { $0.failures[slot] }.first.map { .plugin($0) }
    }
}

/// What a plugin has given for one slot.
final class StanzaOpener: SlotSecret {
    /// The identities that the plugin had.
    let identities: [PluginIdentity]
    private let secret: StanzaSecret
    private let slot: HeaderSlot

    init(_ secret: StanzaSecret, _ slot: HeaderSlot, identities: [PluginIdentity]) {
        self.secret = secret
        self.slot = slot
        self.identities = identities
    }

    // mutant: another slot does not open with this secret; the check saves a try
    func mayOpen(_ slot: HeaderSlot) -> Bool { slot == self.slot }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        let fileKey = try SlotWrap.open(slot, key: secret.wrappingKey(slot.preamble), context: context)
        return fileKey.map { .opened($0, by: self) } ?? .refused
    }

    /// Only a new session of the plugin makes a slot.
    func recipient(like slot: Slot) -> Recipient? { nil }
}

extension StanzaSecret {
    /// The key-encryption key (KEY-23).
    func wrappingKey(_ preamble: Preamble) throws(VaultError) -> SecretBytes {
        try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1wrap-a", key: secret, message: preamble.bytes.span)
        }
    }
}
