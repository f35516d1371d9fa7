import Synchronization
import VaultStream

/// Collects the slots that opening would hand to plugins.
final class StanzaRequests: KeyProvider {
    /// The slots for one session.
    struct Request {
        let plugin: String
        let identities: [PluginIdentity]
        var slots: [[AgeStanza]]
    }

    private struct State {
        /// In the order in which they came.
        var sessions: [PluginSession] = []
        var requests: [PluginSession: Request] = [:]
        /// Whether a plugin was to get slots of the present container.
        var hasAsked = false
    }

    private let keys: any KeyProvider
    private let state = Mutex(State())

    init(_ keys: any KeyProvider) {
        self.keys = keys
    }

    func beginContainer() {
        state.withLock { $0.hasAsked = false }
    }

    /// Takes a request out that has at least so many slots; nil if there is none.
    func take(atLeast count: Int) -> Request? {
        state.withLock { state in
            let place = state.sessions.firstIndex { state.requests[$0].map { $0.slots.count >= count } ?? false }
            guard let place else { return nil }
            return state.requests.removeValue(forKey: state.sessions.remove(at: place))
        }
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { try keys.symmetricKeys(for: ids) }
    func identities() throws -> [Identity] { try keys.identities() }
    func pluginIdentities() throws -> [PluginIdentity] { try keys.pluginIdentities() }
    var privateSlots: [PrivateSlotFamily] { keys.privateSlots }
    func fileKey(for slot: PrivateSlot) throws -> FileKey? { try keys.fileKey(for: slot) }

    /// Takes what the first plugin gets in its first session with a container. Whether there is another session depends
    /// on what that one opens, so the container holds it itself: another device must not ask for a touch in vain.
    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        let session = PluginSession(plugin, identities)
        state.withLock { state in
            guard !state.hasAsked else { return }
            state.hasAsked = true
            if state.requests[session] == nil {
                state.sessions.append(session)
                state.requests[session] = Request(plugin: plugin, identities: identities, slots: [])
            }
            state.requests[session]?.slots += slots
        }
        return [StanzaSecret?](repeating: nil, count: slots.count)
    }
}
