import Synchronization
import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultStream

/// What the dearest headers cost: as many slots as fit, none of which opens (SLOT-27, SLOT-33). Counts tries, not time.
@Suite struct DearestHeaders {
    private static let capacity = HeaderCapacity.capacity(1 << 20)

    /// A caller with identities, and with a plugin that counts what it gets and opens nothing.
    private final class Counting: KeyProvider {
        private let own: [Identity]
        private let plugins: [PluginIdentity]
        private let counts = Mutex<[Int]>([])

        init(_ own: [Identity] = [], _ plugins: [PluginIdentity] = []) {
            (self.own, self.plugins) = (own, plugins)
        }

        /// The number of slots in each session.
        var sessions: [Int] { counts.withLock { $0 } }

        func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [] }
        func identities() -> [Identity] { own }
        func pluginIdentities() -> [PluginIdentity] { plugins }

        func secrets(
            in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
        ) -> [StanzaSecret?] {
            counts.withLock { $0.append(slots.count) }
            return slots.map { _ in nil }
        }
    }

    private static let kinds: [SlotDescription.Kind] = {
        #if PublicKeys
        [.x25519, .xWing]
        #else
        [.x25519]
        #endif
    }()

    /// A copy that is full of slots of one kind: every other one is hidden, the others have an ID.
    private func copy(_ forge: Forge, _ kind: SlotDescription.Kind, _ id: KeyID, _ body: [UInt8]) throws -> HeaderCopy {
        let count = min(1024, (Self.capacity.bytes - 140) / (20 + body.count))
        let slots = (0..<count).map { number in
            // The last bytes tell the slots apart.
            let mark = bigEndian(UInt64(number))
            let hidden = KeyID(unchecked: ([UInt8](repeating: 0, count: 8) + mark)[...])
            return Slot(type: kind.type, keyID: number % 2 == 0 ? hidden : id, body: body.dropLast(8) + mark)
        }
        return try HeaderCopy(parsing: forge.header(slots))
    }

    private func bigEndian(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        return bytes
    }

    @Test(arguments: kinds) func publicKeys(_ kind: SlotDescription.Kind) throws {
        let forge = try Forge(seed: 130, capacity: Self.capacity)
        let identities = try (1...3).map { try testIdentity(kind, $0) }
        let others = kind == .x25519 ? [] : [try testIdentity(.x25519, 4)]
        let body = randomBytes(kind == .x25519 ? 104 : 1192, seed: 131)
        let copy = try copy(forge, kind, identities[1].publicKey.id(under: forge.preamble), body)
        for (limits, most) in [(OpenLimits.standard, 64), (.service, 8)] {
            var trials = SlotTrials(Credentials(Counting(others + identities), limits: limits))
            let slots = trials.slots(of: copy)
            #expect(slots.count > 800)
            var tries = 0
            for slot in slots {
                var secrets = 0
                for identity in others + identities {
                    guard case .refused = try trials.attempt(slot, by: .secret(identity)) else { continue }
                    secrets += 1
                }
                // A slot with an ID is tried with its owner alone.
                #expect([0, slot.slot.isHidden ? 3 : 1].contains(secrets))
                tries += secrets
            }
            #expect(tries == most * 3 + most)
            #expect(try trials.openEvery(copy).count { $0 == .refused } == 2 * most)
            #expect(try StoredContainer.code { try trials.open(slots) } == .limitExceeded)
        }
    }

    @Test func stanzas() throws {
        let forge = try Forge(seed: 132, capacity: Self.capacity)
        let recipient = try PluginRecipient(StandIn.texts[0].0)
        let identity = try PluginIdentity(
            text: [UInt8](StandIn.texts[0].1.utf8).span, knownRecipients: [recipient])
        let text = try #require(AgeStanza(["x"], body: randomBytes(700, seed: 133))).encoded
        let lead = try #require(StanzaSlot(labels: 0, text: text[...])).encoded
        let copy = try copy(
            forge, .stanzas, recipient.id(under: forge.preamble), lead + [UInt8](repeating: 0, count: 72))
        for (limits, sessions) in [(OpenLimits.standard, [32, 32]), (.service, [])] {
            let counting = Counting([], [identity])
            var trials = SlotTrials(Credentials(counting, limits: limits))
            let slots = trials.slots(of: copy)
            #expect(slots.count > 800)
            #expect(try StoredContainer.code { try trials.open(slots) } == .limitExceeded)
            #expect(counting.sessions == sessions)
        }
    }
}

extension SlotTrials {
    /// Tries slots as a reader does.
    fileprivate mutating func open(_ slots: [HeaderSlot]) throws {
        var failures = Failures()
        if try firstThatOpens(slots, &failures) != nil { return }
        throw try failures.error(preamble: slots[0].preamble, context: context)
    }
}
