internal import Synchronization
internal import VaultFile

/// What `--remove` names and no container had so far. To remove what is not there is no error (ROT-12), because a run
/// over many containers can then be repeated. But a mistyped ID would go unnoticed, and its key would still open.
final class NamedRemovals: Sendable {
    /// Somebody whose slots of public keys or of plugins are removed.
    private struct Person: Sendable {
        /// What messages call them.
        let name: String
        let kind: SlotDescription.Kind
        /// Whether their identity was given, which finds their hidden slots too.
        let hasIdentity: Bool
        /// The IDs of their slots that are not hidden.
        let ids: @Sendable (HeaderSummary) -> [KeyID]

        init?(_ secret: Secret) {
            if let key = secret.publicKey {
                (name, kind, hasIdentity) = (key.shortText, key.kind, secret.identity != nil)
                ids = { [key.slotID(in: $0)] }
            } else if let plugin = secret.plugin {
                (name, kind, hasIdentity) = (plugin.shortName, .stanzas, plugin.identity != nil)
                let recipients = plugin.identity?.knownRecipients ?? [plugin.recipient].compactMap(\.self)
                ids = { header in recipients.map { $0.slotID(in: header) } }
            } else {
                return nil
            }
        }

        /// Whether a removed slot was theirs, as far as that is known.
        func had(_ slot: SlotDescription, in header: HeaderSummary) -> Bool {
            slot.kind == kind && (slot.isHidden ? hasIdentity : ids(header).contains(slot.keyID))
        }
    }

    private struct State {
        var ids: Set<KeyID>
        var passphrase: Bool
        var people: [Person]
        var hasContainers = false
        var hasRemoved = false
    }

    private let missing: Mutex<State>
    /// The kinds of slots that may hide somebody who is removed by their public key.
    private let hidingKinds: Set<SlotDescription.Kind>

    /// - Parameter secrets: What `--remove` names besides.
    init(_ selection: SlotSelection, _ secrets: [Secret]) {
        let people = secrets.compactMap { Person($0) }
        hidingKinds = Set(people.filter { !$0.hasIdentity }.map(\.kind))
        missing = Mutex(State(ids: selection.ids, passphrase: !selection.passphrases.isEmpty, people: people))
    }

    /// Notes the slots that were removed from a container.
    func note(_ rotation: Rotation) {
        let removed = rotation.removed
        missing.withLock { missing in
            missing.people.removeAll { person in removed.contains { person.had($0, in: rotation.header) } }
            missing.hasContainers = true
            if !removed.isEmpty { missing.hasRemoved = true }
            missing.ids.subtract(removed.map(\.keyID))
            if removed.contains(where: { $0.kind == .passphrase }) { missing.passphrase = false }
        }
    }

    /// The hidden slots of a container that stay and may be those of somebody who is removed by their public key.
    func mayStillOpen(_ rotation: Rotation) -> [SlotDescription] {
        rotation.kept.filter { $0.isHidden && hidingKinds.contains($0.kind) }
    }

    /// Says, on a terminal, what the removal of slots cannot do.
    func tellWhatRemains(on console: Console) {
        guard missing.withLock({ $0.hasRemoved }) else { return }
        console.tell(
            "vaultfile: what was removed still opens older copies of these containers and of their headers; after a "
                + "leak, vaultfile reencrypt makes new containers that it does not open")
    }

    /// Warns of what no container had.
    func warn(on console: Console) {
        let missing = missing.withLock { $0 }
        guard missing.hasContainers else { return }
        var names = missing.ids.map { "has the ID \($0)" }.sorted()
        if missing.passphrase { names.append("opens with the passphrase") }
        for name in names {
            console.warn(.text("--remove"), "no slot \(name), so nothing was removed", hint: .inspectSlots)
        }
        for name in missing.people.map(\.name).sorted() {
            console.warn(.text("--remove"), "no slot is that of \(name), so nothing was removed", hint: .hiddenSlots)
        }
    }
}
