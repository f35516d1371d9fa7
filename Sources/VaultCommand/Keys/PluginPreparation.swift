internal import Synchronization
internal import VaultFile

/// One session of each plugin for all inputs of a run: a walk through many files then needs one touch.
final class PluginPreparation: Sendable {
    private enum State {
        /// There is nothing to prepare, or it is done.
        case none
        case due(@Sendable () throws -> Void)
        /// The user did not answer, or gave up. They are not asked for the other inputs of the run.
        case failed(any Error)
    }

    private let state = Mutex(State.none)

    func set(_ prepare: @escaping @Sendable () throws -> Void) {
        state.withLock { $0 = .due(prepare) }
    }

    /// To be called before a plugin is asked: the first call asks it for all inputs of the run. The caller does not hold
    /// the turn to stretch a passphrase: another thread may have begun this call, and wait for that turn.
    func once() throws {
        try state.withLock { state in
            switch state {
            case .none: return
            case .failed(let error): throw error
            case .due(let prepare):
                state = .none
                do {
                    try prepare()
                } catch is VaultError {
                    // What cannot be opened now is passed over: the work on it says why.
                } catch {
                    state = .failed(error)
                    throw error
                }
            }
        }
    }
}

extension RunKeys {
    /// Makes one session of each plugin serve all inputs. The session that opens is held when the first container needs
    /// it. What cannot be opened then is passed over: the work on it says why.
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
        preparation.set { [unowned self] in
            guard let paths = PluginInputs.paths(operands, many) else { return }
            let keys = KeysWithoutQuestions(run: self, change: change)
            try keyring.plugins.prepare(paths, with: credentials(keys))
        }
    }
}

/// The keys of a run, to find out which containers need a plugin. Nothing is asked for, and no passphrase is stretched:
/// a keyring that is locked has no keys here.
private struct KeysWithoutQuestions: KeyProvider {
    let run: RunKeys
    let change: SlotChange

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let own = change.keys.filter { ids.contains($0.id) }
        return run.isKeyringLocked ? own + run.namedKeys(for: ids) : own + (try run.symmetricKeys(for: ids))
    }

    func identities() throws -> [Identity] { try change.identities + run.identities() }
    func pluginIdentities() throws -> [PluginIdentity] { try change.pluginIdentities + run.pluginIdentities() }
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
