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

        init?(_ secret: Secret, _ word: String) {
            // An option alone says nothing.
            let isWord = !word.hasPrefix("-")
            if let key = secret.publicKey {
                name = isWord ? "\(word) (\(key.shortText))" : key.shortText
                (kind, hasIdentity) = (key.kind, secret.identity != nil)
                ids = { [key.slotID(in: $0)] }
            } else if let plugin = secret.plugin {
                name = isWord && word != plugin.shortName ? "\(word) (\(plugin.shortName))" : plugin.shortName
                (kind, hasIdentity) = (.stanzas, plugin.identity != nil)
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
    /// The words for keys.
    private let words: [KeyID: String]
    /// The kinds of slots that may hide somebody who is removed by their public key.
    private let hidingKinds: Set<SlotDescription.Kind>

    /// - Parameters:
    ///   - secrets: What `--remove` names besides.
    ///   - typed: What messages call each of these secrets.
    init(_ selection: SlotSelection, _ secrets: [Secret], _ typed: [String]) {
        let people = zip(secrets, typed).compactMap { Person($0, $1) }
        words = Dictionary(
            zip(secrets, typed).compactMap { secret, word in secret.key.map { ($0.id, word) } },
            uniquingKeysWith: { first, _ in first })
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

    private static let isNoError = "that is no error, so that a run can be repeated"

    /// Warns of what no container had.
    func warn(on console: Console) {
        let missing = missing.withLock { $0 }
        guard missing.hasContainers else { return }
        var names = missing.ids.map { id in
            words[id].map { $0.hasPrefix("-") ? "has the ID \(id)" : "is that of \($0), the ID \(id)" }
                ?? "has the ID \(id)"
        }.sorted()
        if missing.passphrase { names.append("opens with the passphrase") }
        for name in names {
            console.warn(
                .text("--remove"), "no slot \(name), so nothing was removed; \(Self.isNoError)", hint: .inspectSlots)
        }
        for name in missing.people.map(\.name).sorted() {
            console.warn(
                .text("--remove"), "no slot is that of \(name), so nothing was removed; \(Self.isNoError)",
                hint: .hiddenSlots)
        }
    }
}
