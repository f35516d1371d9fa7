import SystemPackage
import VaultFile
import VaultTestSupport

/// What a successful change leaves of the keyring's former state.
struct KeyringAfter {
    let laboratory: CrashLaboratory
    let operation: KeyringOperation
    let (old, new): (DiskState, DiskState)
    let traces: Keyring.Traces?
    let view: KeyringView
    let everybody: Holders

    init(
        _ laboratory: CrashLaboratory, _ operation: KeyringOperation, _ old: DiskState, _ new: DiskState,
        _ traces: Keyring.Traces?, _ view: KeyringView, _ everybody: Holders
    ) {
        (self.laboratory, self.operation, self.old, self.new) = (laboratory, operation, old, new)
        self.traces = traces
        self.view = view
        self.everybody = everybody
    }

    func complaints() throws -> [String] {
        var complaints: [String] = []
        if let traces { complaints += try check(traces) }
        // Every change finishes an interrupted exchange.
        if Self.ends(keyring).contains(where: { $0?.slots.count == 2 }) {
            complaints.append("the exchange of its unlock key is not ended")
        }
        if try remains() { complaints.append("a destroyed key is still there") }
        return complaints
    }

    /// What unlocks the keyring with other files in place of the two.
    private func opens(keyring: [UInt8]?, unlockFile: [UInt8]?) throws -> KeyringView {
        var state = DiskState()
        if let keyring { state.put(keyring, name: KeyringScene.file) }
        if let unlockFile { state.put(unlockFile, name: KeyringScene.unlockFile) }
        return try laboratory.view(state, everybody).view
    }

    private var keyring: [UInt8]? { new.bytes(KeyringScene.file) }
    private var unlockFile: [UInt8]? { new.bytes(KeyringScene.unlockFile) }

    private func check(_ traces: Keyring.Traces) throws -> [String] {
        var complaints: [String] = []
        let named = (old: Self.inodes(old), new: Self.inodes(new))
        for inode in named.old.subtracting(named.new) {
            if let left = new[file: inode]?.onDisk, left != [UInt8](repeating: 0, count: left.count) {
                complaints.append("an old file is not erased")
            }
        }
        if ![expected(from: \.bytes), expected(from: \.onDisk)].contains(traces.exchange) {
            complaints.append("the unlock key: \(traces.exchange)")
        }
        if traces.exchange == .done {
            if try !opens(keyring: keyring, unlockFile: old.bytes(KeyringScene.unlockFile)).unlockers.isEmpty {
                complaints.append("its old unlock key unlocks it")
            }
            // All files that ever existed, in the order of their creation; also those that a killed process left.
            for (inode, node) in new.nodes where inode != new[folder: DiskState.root]?.entries[KeyringScene.file] {
                guard case .file(let file) = node, file.onDisk.contains(where: { $0 != 0 }) else { continue }
                if try !opens(keyring: file.onDisk, unlockFile: unlockFile).unlockers.isEmpty {
                    complaints.append("its unlock key unlocks an old keyring")
                }
            }
        }
        let worst = max(traces.keyring, traces.unlockKey)
        if worst > .overwritten { complaints.append("after success, old files: \(worst)") }
        return complaints
    }

    private static func inodes(_ state: DiskState) -> Set<Int> {
        Set(state[folder: DiskState.root]?.entries.values.map { $0 } ?? [])
    }

    /// What should become of the unlock key, after the files that the system shows or those on the disk, which are read
    /// if they differ.
    private func expected(from bytes: KeyPath<DiskState.File, [UInt8]>) -> Keyring.Exchange {
        if operation.protects { return .done }
        let entries = old[folder: DiskState.root]?.entries
        func file(_ name: String) -> [UInt8]? {
            entries?[name].flatMap { old[file: $0] }?[keyPath: bytes]
        }
        let isUnfinished = Self.ends(file(KeyringScene.file)).contains { $0?.slots.count == 2 }
        guard operation.destroys || isUnfinished else { return .notNeeded }
        return view.unlockers.contains(0) || Self.hasOneSlot(file(KeyringScene.unlockFile))
            ? .done : .othersUnlockIt
    }

    private static func ends(_ bytes: [UInt8]?) -> [HeaderSummary?] {
        guard let bytes, let seen = try? Inspection(MemorySource(bytes)) else { return [] }
        return [seen.front.summary, seen.tail.summary]
    }

    /// The same key in both copies. A damaged copy is made again from the other one before the change.
    private static func hasOneSlot(_ bytes: [UInt8]?) -> Bool {
        let whole = ends(bytes).compactMap(\.self)
        return whole.first?.slots.count == 1 && whole.allSatisfy { $0 == whole.first }
    }

    /// Whether any file in the folder holds a destroyed key and opens with any file in the folder.
    private func remains() throws -> Bool {
        let files = new.names.compactMap { new.bytes($0) }
        let destroyed = Set((view.entries ?? []).filter { $0.state == .destroyed }.map(\.id))
        guard files.count > 2, !destroyed.isEmpty else { return false }
        for file in files {
            for key in files {
                let found = try opens(keyring: file, unlockFile: key).entries ?? []
                if found.contains(where: { $0.state != .destroyed && destroyed.contains($0.id) }) { return true }
            }
        }
        return false
    }
}
