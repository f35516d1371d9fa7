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
        /// For how many containers the next session wraps.
        var count = 1
    }

    private static let mostAhead = 64

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
        state.withLock { $0.count = max(1, count) }
    }

    /// What makes the slot of the next container.
    func next() throws -> WrappedStanzas {
        try state.withLock { state in
            if state.wrapped.isEmpty {
                state.wrapped =
                    if let recipient { try plugins.wrap(for: recipient, count: state.count) } else if let identity {
                        try plugins.wrap(for: identity, count: state.count)
                    } else { [] }
                // The inputs were not counted, or there are more: each further session wraps for more of them.
                state.count = min(2 * state.count, Self.mostAhead)
            }
            guard let next = state.wrapped.popLast() else {
                throw Failure(.noKey, .text(name), "its plugin wrapped nothing")
            }
            return next
        }
    }

    /// Tells recipients apart.
    var mark: String { recipient?.text ?? "\(ObjectIdentifier(self))" }
}

extension RunKeys {
    /// Makes one session of each plugin serve all inputs: a walk through many files then needs one touch.
    ///
    /// The session that opens is held when the first container needs it. What cannot be opened then is passed over: the
    /// work on it says why.
    ///
    /// - Parameter credentials: What opens a container with these keys.
    func prepare(
        _ operands: [PathArgument], _ many: ManyInputs, changing change: SlotChange = .none,
        _ credentials: @escaping @Sendable (any KeyProvider) -> Credentials
    ) {
        guard operands.count > 1 || many.isFleet else { return }
        let wraps = change.addedPlugins
        if !wraps.isEmpty, let paths = PluginInputs.paths(operands, many) {
            for plugin in wraps { plugin.expect(paths.count) }
        }
        preparation.withLock { preparation in
            preparation = { [unowned self] in
                guard let paths = PluginInputs.paths(operands, many) else { return }
                let keys = ContainerKeys(self, changing: change, on: .text(""))
                defer { keys.end() }
                try? keyring.plugins.prepare(paths, with: credentials(keys))
            }
        }
    }

    /// To be called before a plugin is asked: the first call asks it for all inputs of the run.
    func prepareOnce() {
        preparation.withLock { preparation in
            preparation?()
            preparation = nil
        }
    }
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

/// The inputs of a run, ahead of the work.
enum PluginInputs {
    /// The regular files among the inputs; nil if a list of them can be read only once.
    static func paths(_ operands: [PathArgument], _ many: ManyInputs) -> [FilePath]? {
        guard many.filesFrom == nil, var list = try? InputList(operands, many) else { return nil }
        var paths: [FilePath] = []
        while let entry = list.next() {
            if case .item(let item) = entry, !item.operand.isDash { paths.append(item.operand.path) }
        }
        return paths
    }
}
