import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// Slots of public keys and slots with age stanzas, for the mutator.
struct RecipientSlots {
    let secrets: FuzzInput.Secrets
    /// The preamble that the IDs of slots belong to.
    let preamble: [UInt8]

    private static let xWingCount: UInt16 = 1120

    // MARK: Heads

    /// Identities that a head may get in addition, with the plugin of the vectors.
    private static let identities = [
        "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64",
        "AGE-SECRET-KEY-PQ-107WZHF8G37P86CTQG4G8VPV98MTNHQYN7MHMEZ8TRFH2E7NXAUNQSTZN4F",
        "AGE-PLUGIN-STAND-1NQUZFQM8MWMWYKFQ67J age1stand1rua0ddtcd72c5fechpw",
    ]
    private static let mostAnswers = 24

    /// The identities of keys that a change may name, as texts.
    static func texts(_ input: FuzzInput) -> [String] {
        (input.secrets.vector.values("identity") + identities).filter { !$0.hasPrefix("AGE-PLUGIN-") }
    }

    /// A head with one more identity.
    static func withIdentity(_ input: FuzzInput, _ random: inout SeededRandom) -> [UInt8] {
        let old = input.secrets.vector.values("identity")
        let new = random.pick(identities)
        guard old.count < 4, !old.contains(new) else { return input.head }
        return input.head(with: (old + [new]).map { "identity: \($0)" }, inPlaceOf: ["identity"])
    }

    /// A head in which a plugin opens all stanzas of a container, also changed ones; nil if it does so already.
    static func withAnswers(_ input: FuzzInput, _ container: UnsealedContainer, _ random: inout SeededRandom)
        -> [UInt8]?
    {
        guard let plugin = input.secrets.plugins.first?.plugin else { return nil }
        let texts = (container.front.slots + container.tail.slots).compactMap(stanzas)
        let new = Set(texts).filter { input.secrets.answer(for: $0) == nil }.map { text in
            "\(plugin) \(sha256(text).hexDigits) \(random.bytes(StanzaSecret.byteCount).hexDigits)"
        }
        guard !new.isEmpty else { return nil }
        let lines = (input.secrets.vector.values("stanza-answer") + new.sorted()).suffix(mostAnswers)
        return input.head(with: lines.map { "stanza-answer: \($0)" }, inPlaceOf: ["stanza-answer"])
    }

    // MARK: Slots

    /// The stanzas of a usable slot.
    static func stanzas(_ slot: [UInt8]) -> [UInt8]? {
        guard slot.count > 24, slot[0..<2].bigEndian() as UInt16 == 5,
            let parsed = StanzaSlot(
                Slot(type: 5, keyID: KeyID(unchecked: slot[4..<20]), body: [UInt8](slot[20...])))
        else { return nil }
        return parsed.stanzas.flatMap(\.encoded)
    }

    /// A slot for one of the identities. Its end is sealed later.
    func made(_ random: inout SeededRandom) -> [UInt8] {
        let type = random.pick([3, 3, 4, 5, 5] as [UInt16])
        let body: [UInt8]
        switch type {
        case 3: body = random.bytes(32)
        case 4: body = random.bytes(Int(Self.xWingCount))
        default: body = Self.lead(random.pick([0, 0, 1]), random.pick(Self.texts))
        }
        return Self.slot(type, id(&random), body + random.bytes(72))
    }

    private static func slot(_ type: UInt16, _ id: [UInt8], _ body: [UInt8]) -> [UInt8] {
        type.bigEndianBytes + UInt16(min(body.count, 0xFFFF)).bigEndianBytes + id + body.prefix(0xFFFF)
    }

    /// Labels, length and text of stanzas.
    private static func lead(_ labels: UInt16, _ text: [UInt8]) -> [UInt8] {
        labels.bigEndianBytes + UInt16(min(text.count, 0xFFFF)).bigEndianBytes + text.prefix(0xFFFF)
    }

    private static let texts = [
        "-> x\n\n", "-> X25519 abc\nAAECAw\n", "-> a b c\n" + String(repeating: "QUFB", count: 16) + "\n\n",
        String(repeating: "-> a\nQQ\n", count: 2), String(repeating: "-> a\n\n", count: 16),
        String(repeating: "-> a\n\n", count: 17), "-> a\nQR\n",
    ].map { [UInt8]($0.utf8) }

    private func id(_ random: inout SeededRandom) -> [UInt8] {
        let named = secrets.recipients.map { Forge.slotID(of: $0, preamble: preamble) }
        return random.pick(named + named + [[UInt8](repeating: 0, count: 8) + random.bytes(8), random.bytes(16)])
    }

    /// Another slot out of one, mostly of the right lengths.
    func altered(_ slot: [UInt8], _ random: inout SeededRandom, _ change: ByteChange) -> [UInt8] {
        guard slot.count > 100 else { return made(&random) }
        var slot = slot
        let type: UInt16 = slot[0..<2].bigEndian()
        switch random.below(7) {
        case 0: slot.replaceSubrange(4..<20, with: id(&random))
        case 1: slot[1] = random.pick([3, 4, 5])
        case 2 where type == 5:
            let text = change([UInt8](slot[24..<slot.count - 72]), slot.count + 100)
            return Self.slot(5, [UInt8](slot[4..<20]), Self.lead(0, text) + slot.suffix(72))
        case 3 where type == 5: slot[21] = random.pick([0, 1, 2, 3])
        case 4 where slot.count >= 104 + 20:
            // A share of low order, which gives zeros.
            let share = [random.pick([0, 1, 0xEC] as [UInt8])] + [UInt8](repeating: 0, count: 31)
            slot.replaceSubrange(slot.count - 104..<slot.count - 72, with: share)
        case 5:
            let body = change([UInt8](slot[20...]), slot.count + 40)
            return Self.slot(type, [UInt8](slot[4..<20]), body)
        default: return made(&random)
        }
        return slot
    }

    // MARK: Sealing

    /// The ID that a slot has to have under another preamble, if it has that of a known recipient.
    func renewedID(_ slot: [UInt8], under new: [UInt8]) -> [UInt8]? {
        guard new != preamble, (3...5).contains(slot[0..<2].bigEndian() as UInt16) else { return nil }
        let id = [UInt8](slot[4..<20])
        return secrets.recipients.first { Forge.slotID(of: $0, preamble: preamble) == id }
            .map { Forge.slotID(of: $0, preamble: new) }
    }

    /// What wraps the file key in a slot that one of the identities opens, or a plugin.
    static func wrappingKey(_ slot: [UInt8], _ preamble: [UInt8], _ secrets: FuzzInput.Secrets) throws -> SecretBytes? {
        if let text = stanzas(slot) {
            return try secrets.answer(for: text).map { try Forge.wrappingKey(ofStanzas: $0, preamble: preamble) }
        }
        let kind: SlotDescription.Kind
        switch (slot[0..<2].bigEndian() as UInt16, slot.count) {
        case (3, 124): kind = .x25519
        case (4, 1212): kind = .xWing
        default: return nil
        }
        let isHidden = slot[4..<12].allSatisfy { $0 == 0 }
        let identity = secrets.identities.first { identity in
            identity.publicKey.kind == kind
                && (isHidden
                    || Forge.slotID(of: identity.publicKey.fingerprint, preamble: preamble)[...] == slot[4..<20])
        }
        return try identity.flatMap { try Forge.wrappingKey(of: $0, preamble: preamble, slot: slot) }
    }
}
