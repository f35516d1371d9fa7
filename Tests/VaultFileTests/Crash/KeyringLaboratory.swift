import SystemPackage
import VaultFile
import VaultTestSupport

/// The same checks for keyrings, which are two files.
extension CrashLaboratory {
    // MARK: One state

    /// Which secrets unlock the keyring, and what they find. None if the keyring does not open.
    func view(_ state: DiskState, _ everybody: Holders) throws -> (view: KeyringView, complaint: String?) {
        let digest = Self.digestOfBoth(state) + everybody.sorted()
        if let seen = seen(digest) { return seen }
        let view = try Self.look(state, everybody)
        see(digest, view)
        return view
    }

    private static func look(
        _ state: DiskState, _ everybody: Holders
    ) throws -> (view: KeyringView, complaint: String?) {
        var view = KeyringView()
        guard state.bytes(KeyringScene.file) != nil else { return (view, nil) }
        var complaint: String?
        let disk = ModelDisk(state)
        for secret in everybody.sorted() {
            let keys = Holders([secret]).subtracting([0]).keySet
            let keyring: Keyring
            do {
                keyring = try disk.during {
                    try Keyring.open(at: KeyringScene.path, unlocking: keys, allowsUnprotected: true)
                }
            } catch is VaultError {
                continue
            }
            view.unlockers.insert(secret)
            if let known = view.entries, known != keyring.entries { complaint = "each finds other keys" }
            view.entries = keyring.entries
            for entry in keyring.entries {
                let key = entry.id.flatMap { try? keyring.key($0) }
                guard (key == nil) == !entry.isKey, key.map({ $0.id == entry.id }) ?? true else {
                    complaint = "\(entry.name), \(entry.state), is \(key == nil ? "not " : "")there"
                    continue
                }
            }
        }
        if disk.openCount != 0 { complaint = "a descriptor is left" }
        if view.unlockers.isEmpty { complaint = "nobody can unlock it" }
        return (view, complaint)
    }

    /// Says what is wrong with a keyring that should be one of these, or between two of them; nil if nothing.
    private static func complaint(about view: KeyringView, _ known: [KeyringView]) -> String? {
        let there = known.filter { $0.entries != nil }
        guard let entries = view.entries else { return there.count < known.count ? nil : "there is no keyring" }
        guard there.contains(where: { $0.entries == entries }) else { return "its keys are \(view)" }
        let staying = there.dropFirst().reduce(there.first?.unlockers ?? []) { $0.intersection($1.unlockers) }
        let anybody = there.reduce(into: Holders()) { $0.formUnion($1.unlockers) }
        guard view.unlockers.isSuperset(of: staying), view.unlockers.isSubset(of: anybody) else {
            return "\(view.unlockers.sorted()) unlock it"
        }
        return nil
    }

    // MARK: One run

    struct KeyringRun {
        let disk: ModelDisk
        let error: VaultError?
        /// The state afterwards.
        let view: KeyringView
    }

    /// Runs a change and checks what it reports.
    ///
    /// - Parameter known: The states that the keyring may be in; the first is the actual one.
    func run(
        _ operation: KeyringOperation, on state: DiskState, _ known: [KeyringView], _ everybody: Holders,
        abilities: ModelDisk.Abilities = ModelDisk.Abilities(), _ label: String
    ) throws -> KeyringRun {
        let disk = ModelDisk(state, abilities: abilities)
        count { $0.operations += 1 }
        let mayFail = abilities.failure != nil || abilities.failingSync != nil
        let traces: Keyring.Traces?
        do {
            traces = try disk.during { try operation.run(KeyringScene.path, everybody) }
        } catch let error as VaultError {
            if disk.openCount != 0 { lost("\(label): a descriptor is left") }
            if !mayFail { lost("\(label): \(error)") }
            let (view, complaint) = try self.view(disk.state, everybody)
            if let complaint { lost("\(label): \(error), and \(complaint)") }
            return KeyringRun(disk: disk, error: error, view: view)
        }
        if disk.openCount != 0 || disk.deadlocks != 0 { lost("\(label): a descriptor or a lock is left") }
        let (view, complaint) = try self.view(disk.state, everybody)
        if let complaint { lost("\(label): after success \(complaint)") }
        let states = operation.states(known[0].states ?? [])
        if view.states != states { lost("\(label): after success it is \(view), not \(states)") }
        // An unfinished change opens with both keys. A reader takes the last intended state.
        let unlockers = known.map { operation.unlockers($0.unlockers).intersection(everybody) }
        if !unlockers.contains(view.unlockers), !(view.unlockers.contains(0) && unlockers.contains([])) {
            lost("\(label): after success \(view.unlockers.sorted()) unlock it")
        }
        for entry in known[0].entries ?? []
        where view.entries?.contains(where: { $0.id == entry.id && $0.name == entry.name }) != true {
            lost("\(label): \(entry.name) is another key")
        }
        guard let crashes = disk.state.afterPowerFailure(KeyringScene.file, KeyringScene.unlockFile) else {
            lost("\(label): more is not durable after success than can be tried")
            return KeyringRun(disk: disk, error: nil, view: view)
        }
        for crash in crashes {
            let after = try self.view(crash, everybody)
            if after.view.entries != view.entries || after.view.unlockers != view.unlockers {
                lost("\(label): after success and a power failure it is \(after.view)")
            }
        }
        if !mayFail {
            let after = KeyringAfter(self, operation, state, disk.state, traces, view, everybody)
            for text in try after.complaints() { lost("\(label): \(text)") }
            if abilities.nameless, disk.state.names.contains(where: { $0.hasPrefix(".vaultfile-") }) {
                lost("\(label): a file is left beside it")
            }
        }
        return KeyringRun(disk: disk, error: nil, view: view)
    }

    /// Checks every state in which a power failure can leave a run, each state once.
    func powerFailures(
        _ run: KeyringRun, _ known: [KeyringView], _ everybody: Holders, _ label: String
    ) throws -> [(state: DiskState, view: KeyringView)] {
        let known = known + [run.view]
        var seen: Set<[UInt8]> = []
        var states: [(state: DiskState, view: KeyringView)] = []
        let moments = run.disk.moments.filter { $0.call != .partOfWrite }
        for moment in moments {
            guard let crashes = moment.state.afterPowerFailure(KeyringScene.file, KeyringScene.unlockFile) else {
                lost("\(label): more is not durable after \(moment.call) than can be tried")
                continue
            }
            for crash in crashes where seen.insert(Self.digest(crash)).inserted {
                if crash.names.contains(where: { $0.hasPrefix(".vaultfile-") }) { count { $0.leftovers += 1 } }
                let (view, complaint) = try self.view(crash, everybody)
                if let text = complaint ?? Self.complaint(about: view, known) {
                    lost("\(label), \(moment.call): \(text)")
                }
                states.append((crash, view))
            }
        }
        count { [moments = moments.count, states = states.count] in
            $0.moments += moments
            $0.states += states
        }
        return states
    }

    /// Equal if the same files have the same names.
    private static func digest(_ state: DiskState) -> [UInt8] {
        digestOfBoth(state) + state.names.filter { $0.hasPrefix(".vaultfile-") }.flatMap { state.digest(of: $0) }
    }

    private static func digestOfBoth(_ state: DiskState) -> [UInt8] {
        [KeyringScene.file, KeyringScene.unlockFile].flatMap { name in
            state.digest(of: name) + [state.bytes(name) == nil ? 0 : 1]
        }
    }

    // MARK: Several runs

    private func whole(_ scene: KeyringScene, _ first: KeyringOperation) throws -> (run: KeyringRun, start: KeyringView)
    {
        let start = try view(scene.disk, scene.everybody).view
        return (try run(first, on: scene.disk, [start], scene.everybody, "\(scene): \(first)"), start)
    }

    private func follow(
        _ states: [(state: DiskState, view: KeyringView)], _ known: [KeyringView], _ seconds: [KeyringOperation],
        _ everybody: Holders, abilities: ModelDisk.Abilities = ModelDisk.Abilities(), _ label: String
    ) throws {
        for second in seconds {
            for (number, (state, view)) in states.enumerated() {
                guard second.isPossible(state, view) else { continue }
                let label = "\(label), state \(number), then \(second)"
                let again = try run(second, on: state, [view] + known, everybody, abilities: abilities, label)
                _ = try powerFailures(again, [view] + known, everybody, label)
            }
        }
    }

    /// Tests power failures within a first change, and within a second one from every state that the first can leave.
    func powerFailures(
        _ scene: KeyringScene, _ first: KeyringOperation, then seconds: [KeyringOperation],
        abilities: ModelDisk.Abilities = ModelDisk.Abilities()
    ) throws {
        let start = try view(scene.disk, scene.everybody).view
        let label = "\(scene): \(first)"
        let run = try run(first, on: scene.disk, [start], scene.everybody, abilities: abilities, label)
        let states = try powerFailures(run, [start], scene.everybody, label)
        try follow(states, [start, run.view], seconds, scene.everybody, abilities: abilities, label)
    }

    /// Kills the first change at every call, while the system's memory keeps everything that it did. Then runs the
    /// second, with power failures.
    func kills(
        _ scene: KeyringScene, _ first: KeyringOperation, then seconds: [KeyringOperation],
        secondAbilities: ModelDisk.Abilities = ModelDisk.Abilities()
    ) throws {
        let (run, start) = try whole(scene, first)
        let label = "\(scene): \(first), killed"
        // A write to a file that has no name yet leaves nothing.
        var last: [UInt8]?
        let moments = run.disk.moments.filter { moment in
            defer { last = Self.digest(moment.state) }
            return ![.write, .partOfWrite].contains(moment.call) || last != Self.digest(moment.state)
        }
        let states = try moments.map { moment in
            let state = moment.state.afterKill()
            let (view, complaint) = try self.view(state, scene.everybody)
            if let text = complaint ?? Self.complaint(about: view, [start, run.view]) {
                lost("\(label), \(moment.call): \(text)")
            }
            return (state, view)
        }
        try follow(states, [start, run.view], seconds, scene.everybody, abilities: secondAbilities, label)
    }

    /// Makes every call that changes something fail once, or it and all later ones. Then runs the change again.
    func failures(_ scene: KeyringScene, _ operation: KeyringOperation, _ error: Errno) throws {
        let (whole, start) = try whole(scene, operation)
        for number in 0..<whole.disk.changeCount {
            for isForEver in [false, true] {
                var abilities = ModelDisk.Abilities()
                abilities.failure = { _, call in
                    call == number || isForEver && call > number ? error.rawValue : nil
                }
                let label = "\(scene): \(operation), \(error) at \(number)\(isForEver ? " and ever after" : "")"
                try failure(scene, operation, start, whole, abilities, label)
            }
        }
    }

    /// Makes each sync of a file fail as on Linux. Then runs the change again.
    func failedSyncs(_ scene: KeyringScene, _ operation: KeyringOperation) throws {
        let (whole, start) = try whole(scene, operation)
        for number in 0..<whole.disk.syncCount {
            var (outcome, outcomeCount) = (0, 1)
            while outcome < outcomeCount {
                let label = "\(scene): \(operation), sync \(number) fails and leaves \(outcome)"
                var abilities = ModelDisk.Abilities()
                abilities.failingSync = (number, outcome)
                abilities.mostOutcomes = Self.mostOutcomes
                let run = try failure(scene, operation, start, whole, abilities, label)
                outcome += 1
                outcomeCount = run.disk.outcomeCount
                if outcome == 1, run.disk.isSelection { count { $0.selections += 1 } }
            }
        }
    }

    /// Kills the first change at every call. The system then fails to write what it kept in memory, and no process
    /// learns of it. Then runs the second change, with power failures.
    ///
    /// - Parameter forgets: Whether the system drops memory when it is told to.
    func failedWrites(
        _ scene: KeyringScene, _ first: KeyringOperation, then seconds: [KeyringOperation], forgets: Bool = true
    ) throws {
        let (run, start) = try whole(scene, first)
        var abilities = ModelDisk.Abilities()
        abilities.forgets = forgets
        let states = try run.disk.moments.flatMap { moment in
            try failedWrites(moment.state.afterKill(), [KeyringScene.file, KeyringScene.unlockFile]).map { state in
                (state, try view(state, scene.everybody).view)
            }
        }
        let label = "\(scene): \(first), killed, and not written"
        try follow(states, [start, run.view], seconds, scene.everybody, abilities: abilities, label)
    }

    @discardableResult
    private func failure(
        _ scene: KeyringScene, _ operation: KeyringOperation, _ start: KeyringView, _ whole: KeyringRun,
        _ abilities: ModelDisk.Abilities, _ label: String
    ) throws -> KeyringRun {
        let run = try run(operation, on: scene.disk, [start], scene.everybody, abilities: abilities, label)
        // Each run draws another key.
        let isNew = run.view.entries != nil && run.view.entries != start.entries
        if isNew, run.view.states != whole.view.states { lost("\(label): it is \(run.view)") }
        let known = [start, KeyringView(entries: run.view.entries, unlockers: whole.view.unlockers)]
        _ = try powerFailures(run, known, scene.everybody, label)
        try follow([(run.disk.state.afterKill(), run.view)], known, [operation], scene.everybody, "\(label), again")
        return run
    }
}
