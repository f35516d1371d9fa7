internal import Synchronization
internal import VaultFile

/// A recipient or an identity of an age plugin, and what the plugin has wrapped for it.
final class LoadedPlugin: Sendable {
    /// What messages call it.
    let name: String
    /// Nil for a recipient, which opens nothing.
    let identity: PluginIdentity?
    /// Nil if only the plugin knows whom the identity belongs to.
    let recipient: PluginRecipient?
    let plugins: AgePlugins
    private let state = Mutex(State())

    private struct State {
        var wrapped: [WrappedStanzas] = []
        /// How many more containers get a slot, as far as they were counted.
        var expected = 0
        /// For how many containers the next session wraps if they were not counted.
        var guess = 1

        /// For how many containers the next session wraps.
        var count: Int { expected > 0 ? min(expected, mostAhead) : guess }

        mutating func noteSession(of count: Int) {
            guard expected == 0 else { return expected -= count }
            // Each further session wraps for more of them.
            guess = min(2 * guess, mostGuessed)
        }
    }

    /// The most that one session wraps. Each is in guarded memory until it is used.
    static let mostAhead = 1024
    /// The same for containers that were not counted.
    private static let mostGuessed = 64

    init(_ recipient: PluginRecipient, name: String, _ plugins: AgePlugins) {
        (self.recipient, self.name, self.plugins) = (recipient, name, plugins)
        identity = nil
    }

    init(_ identity: PluginIdentity, name: String, _ plugins: AgePlugins) {
        (self.identity, self.name, self.plugins) = (identity, name, plugins)
        recipient = identity.knownRecipients.first
    }

    /// Says how many containers get a slot, so that one session wraps for all of them.
    func expect(_ count: Int) {
        state.withLock { $0.expected = count }
    }

    /// What makes the slot of the next container.
    func next() throws -> WrappedStanzas {
        try state.withLock { state in
            if state.wrapped.isEmpty {
                let count = state.count
                state.wrapped =
                    if let recipient { try plugins.wrap(for: recipient, count: count) } else if let identity {
                        try plugins.wrap(for: identity, count: count)
                    } else { [] }
                state.noteSession(of: count)
            }
            guard let next = state.wrapped.popLast() else {
                throw Failure(.noKey, .text(name), "its plugin wrapped nothing")
            }
            return next
        }
    }

    /// Its name without the end of a long recipient.
    var shortName: String { name.count <= 80 ? name : name.prefix(24) + "…" }

    /// Tells recipients apart.
    var mark: String { recipient?.text ?? "\(ObjectIdentifier(self))" }
}

/// One secret alone, as what opens a container.
struct SecretAlone: KeyProvider {
    let secret: Secret

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] {
        [secret.key?.key].compactMap(\.self).filter { ids.contains($0.id) }
    }

    func identities() -> [Identity] { [secret.identity?.identity].compactMap(\.self) }
    func pluginIdentities() -> [PluginIdentity] { [secret.plugin?.identity].compactMap(\.self) }
    func passphrases() -> [Passphrase] { [secret.passphrase].compactMap(\.self) }

    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try secret.plugin?.plugins.secrets(in: slots, by: plugin, with: identities) ?? []
    }
}
