import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Runs operations on a model of a disk and stops them at every call, with every state that a power failure can leave
/// then. Checks that no key holder has lost anything.
final class CrashLaboratory: Sendable {
    struct Counts: Sendable {
        var operations = 0
        var moments = 0
        var states = 0
        /// The number of files that a crash left beside the container.
        var leftovers = 0
        /// The number of operations that were refused, where that is allowed, without a write.
        var refusals = 0
        /// The number of syncs that can fail in more ways than were tried.
        var selections = 0
        var lost: [String] = []
    }

    /// What must hold for a state.
    struct Promise {
        /// The possible sets of keys that open the container, before and after the operation.
        var holders: [Holders]
        var trouble: CrashScene.Trouble
        /// The copy of a conflict that is being kept.
        var kept: Int?
        /// Whether it is enough if one of all these keys opens it.
        var anyOf = false

        /// These keys open it whatever happened.
        var staying: Holders {
            if anyOf { return [] }
            guard let kept, let last = holders.last else {
                return holders.dropFirst().reduce(holders[0]) { $0.intersection($1) }
            }
            return holders[kept].intersection(last)
        }
        var anybody: Holders { holders.reduce(into: []) { $0.formUnion($1) } }
    }

    private let all = Mutex(Counts())
    var counts: Counts { all.withLock { $0 } }

    func count(_ body: @Sendable (inout Counts) -> Void) {
        all.withLock { body(&$0) }
    }

    /// Views of keyrings, by the digest of their files: the same states recur.
    private let views = Mutex<[[UInt8]: (view: KeyringView, complaint: String?)]>([:])

    func seen(_ digest: [UInt8]) -> (view: KeyringView, complaint: String?)? {
        views.withLock { $0[digest] }
    }

    func see(_ digest: [UInt8], _ view: (view: KeyringView, complaint: String?)) {
        views.withLock { $0[digest] = view }
    }

    func lost(_ what: String) {
        count { $0.lost.append(what) }
    }

    // MARK: One state

    private static func reading(_ bytes: [UInt8], _ keys: Holders) throws -> Reading {
        try Reading { sink in
            let reader = try SeekableVaultReader(MemorySource(bytes), with: Credentials(keys.keySet))
            try reader.readAll(to: sink)
            return reader.opened
        }
    }

    /// Says what is wrong with a container after a crash; nil if nothing.
    static func complaint(about bytes: [UInt8]?, _ promise: Promise) throws -> String? {
        guard let bytes else { return "there is no container" }
        var staying = promise.staying.sorted()
        // If there are many keys, the first ones and the last.
        if staying.count > 4 { staying = staying.prefix(3) + staying.suffix(1) }
        for holders in staying.isEmpty ? [promise.anybody] : staying.map({ [$0] }) {
            let reading = try reading(bytes, holders)
            switch reading.result {
            case .failure(let error):
                let isKnown = [.footerDamaged, .paddingNotZero, .truncated].contains(error.code)
                guard promise.trouble == .broken, isKnown else { return "\(holders) cannot open it: \(error)" }
            case .success(let opened):
                guard reading.plaintext == CrashScene.plaintext else { return "it opens with other contents" }
                if opened.health == .copiesConflict, promise.trouble != .conflict { return "its copies conflict" }
            }
        }
        return nil
    }

    /// Says what is wrong with a container after an operation has reported success; nil if nothing. Each of `knowing`
    /// opens it or not, as one of the `holders` says.
    static func complaint(
        afterSuccess bytes: [UInt8]?, _ holders: [Holders], of knowing: Holders, header: HeaderSummary
    ) throws -> String? {
        guard let bytes else { return "there is no container" }
        var able: Holders = []
        for key in knowing {
            let reading = try reading(bytes, [key])
            switch reading.result {
            case .failure(let error):
                guard error.code == .wrongKey else { return "after success \(key) gets \(error)" }
            case .success(let opened):
                guard opened.health == .intact else { return "after success its health is \(opened.health)" }
                guard opened.header == header else { return "its header is not the one that was reported" }
                guard reading.plaintext == CrashScene.plaintext else { return "it opens with other contents" }
                able.insert(key)
            }
        }
        let right = holders.map { $0.intersection(knowing) }
        return right.contains(able) ? nil : "after success \(able.sorted()) can open it, not \(right)"
    }

    /// All keys that are checked after success; if there are many, some of them.
    private static func knowing(_ promise: Promise, _ more: [Holders]) -> Holders {
        let all = (more + promise.holders).reduce(into: Holders()) { $0.formUnion($1) }.sorted()
        return Set(all.filter { $0 < 10 || $0 >= Holders.firstX25519 } + all.suffix(1)).union([2, 3])
    }

    // MARK: One run

    /// The states that one run left at each of its moments.
    struct Run {
        let disk: ModelDisk
        let error: (any Error)?
        let operation: CrashOperation
        /// The keys that open the container if the run succeeded.
        let holders: [Holders]
    }

    /// Runs an operation and checks what it reports.
    func run(
        _ operation: CrashOperation, on state: DiskState, _ promise: Promise, path: FilePath = "/it",
        abilities: ModelDisk.Abilities = ModelDisk.Abilities(), mayRefuse: Set<VaultError.Code> = [], _ label: String
    ) throws -> Run {
        let disk = ModelDisk(state, abilities: abilities)
        let holders = operation.effect(promise.holders)
        count { $0.operations += 1 }
        do {
            let header = try disk.during { try operation.run(path) }
            if disk.openCount != 0 || disk.deadlocks != 0 { lost("\(label): a descriptor or a lock is left") }
            let knowing = Self.knowing(promise, holders)
            if let text = try Self.complaint(
                afterSuccess: disk.state.bytes("it"), holders, of: knowing, header: header)
            {
                lost("\(label): \(text)")
            }
            // Callers must not lock themselves out without consent (ROT-5, ROT-15).
            if try Self.complaint(
                about: disk.state.bytes("it"), Promise(holders: [operation.atHand], trouble: .none, anyOf: true)) != nil
            {
                lost("\(label): who has done it cannot open it")
            }
            let after = disk.state.afterPowerFailure("it")
            if after?.count != 1 { lost("\(label): after success it is not durable") }
            if let bytes = after?.first?.bytes("it"), bytes != disk.state.bytes("it"),
                let text = try Self.complaint(afterSuccess: bytes, holders, of: knowing, header: header)
            {
                lost("\(label): \(text), on the disk")
            }
            return Run(disk: disk, error: nil, operation: operation, holders: holders)
        } catch let error as VaultError {
            if disk.openCount != 0 { lost("\(label): a descriptor is left") }
            let mayFail = abilities.failure != nil || disk.outcomeCount > 0 || !abilities.lostWrites.isEmpty
            if !mayFail, !mayRefuse.contains(error.code) { lost("\(label): \(error)") }
            if mayRefuse.contains(error.code) { count { $0.refusals += 1 } }
            if mayRefuse.contains(error.code), disk.state.bytes("it") != state.bytes("it") {
                lost("\(label): refused with \(error.code), but something was written")
            }
            return Run(disk: disk, error: error, operation: operation, holders: promise.holders)
        }
    }

    /// Checks every state in which a power failure can leave a run, each state once.
    func powerFailures(_ run: Run, _ promise: Promise, _ label: String) throws -> [DiskState] {
        var after = promise
        after.holders += run.holders
        after.kept = run.operation.kept
        var seen: Set<[UInt8]> = []
        var states: [DiskState] = []
        let moments = run.disk.moments.filter { $0.call != .partOfWrite }
        for moment in moments {
            guard let crashes = moment.state.afterPowerFailure("it") else {
                lost("\(label): more is not durable after \(moment.call) than can be tried")
                continue
            }
            for crash in crashes {
                let hasLeftover = crash.names.contains { $0.hasPrefix(".vaultfile-") }
                guard seen.insert(crash.digest(of: "it") + [hasLeftover ? 1 : 0]).inserted else { continue }
                if hasLeftover { count { $0.leftovers += 1 } }
                if let text = try Self.complaint(about: crash.bytes("it"), after) {
                    lost("\(label), \(moment.call): \(text)")
                }
                states.append(crash)
            }
        }
        count { [moments = moments.count, states = states.count] in
            $0.moments += moments
            $0.states += states
        }
        return states
    }
}

// MARK: Several runs

extension CrashLaboratory {
    /// Tests power failures within a first operation, and within a second one from every state that the first can
    /// leave.
    func powerFailures(
        _ scene: CrashScene, _ first: CrashOperation, then seconds: [CrashOperation],
        abilities: ModelDisk.Abilities = ModelDisk.Abilities(), mayRefuse: Set<VaultError.Code> = []
    ) throws {
        let promise = Promise(holders: scene.holders, trouble: scene.trouble)
        let label = "\(scene): \(first)"
        let run = try run(first, on: scene.disk, promise, abilities: abilities, label)
        let states = try powerFailures(run, promise, label)
        try follow(run, states, promise, seconds, abilities: abilities, mayRefuse: mayRefuse, label)
    }

    /// Kills the first operation at every call, and in the middle of every write, while the system's memory keeps
    /// everything that it wrote. Then runs the second, with power failures.
    func kills(
        _ scene: CrashScene, _ first: CrashOperation, then seconds: [CrashOperation],
        abilities: ModelDisk.Abilities = ModelDisk.Abilities(), secondAbilities: ModelDisk.Abilities? = nil
    ) throws {
        let promise = Promise(holders: scene.holders, trouble: scene.trouble)
        let label = "\(scene): \(first), killed"
        let run = try run(first, on: scene.disk, promise, abilities: abilities, label)
        let states = run.disk.moments.map { $0.state.afterKill() }
        for state in states where try Self.complaint(about: state.bytes("it"), after(run, promise)) != nil {
            lost("\(label): it does not open")
        }
        try follow(run, states, promise, seconds, abilities: secondAbilities ?? abilities, mayRefuse: [], label)
    }

    private func after(_ run: Run, _ promise: Promise) -> Promise {
        Promise(holders: promise.holders + run.holders, trouble: promise.trouble)
    }

    private func follow(
        _ run: Run, _ states: [DiskState], _ promise: Promise, _ seconds: [CrashOperation],
        abilities: ModelDisk.Abilities, mayRefuse: Set<VaultError.Code>, _ label: String
    ) throws {
        let promise = after(run, promise)
        for second in seconds {
            for (number, state) in states.enumerated() {
                let label = "\(label), state \(number), then \(second)"
                let again = try self.run(
                    second, on: state, promise, abilities: abilities, mayRefuse: mayRefuse, label)
                _ = try powerFailures(again, promise, label)
            }
        }
    }

    /// Makes every call that changes something fail once, or it and all later ones. Then runs the operation again.
    func failures(_ scene: CrashScene, _ operation: CrashOperation, _ error: Errno) throws {
        let promise = Promise(holders: scene.holders, trouble: scene.trouble)
        let whole = try run(operation, on: scene.disk, promise, "\(scene): \(operation)")
        for number in 0..<whole.disk.changeCount {
            for isForEver in [false, true] {
                let label = "\(scene): \(operation), \(error) at \(number)\(isForEver ? " and ever after" : "")"
                var abilities = ModelDisk.Abilities()
                abilities.failure = { _, call in
                    call == number || isForEver && call > number ? error.rawValue : nil
                }
                let run = try run(operation, on: scene.disk, promise, abilities: abilities, label)
                if run.error == nil, isForEver { lost("\(label): it succeeds") }
                _ = try powerFailures(run, after(whole, promise), label)
                if !isForEver, run.disk.state.names != ["it"] { lost("\(label): a file is left behind") }
                let again = try self.run(
                    operation, on: run.disk.state.afterKill(), after(whole, promise), "\(label), again")
                _ = try powerFailures(again, after(whole, promise), "\(label), again")
            }
        }
    }
}

// MARK: Syncs that fail as on Linux

extension CrashLaboratory {
    /// The most results of one failed sync that are tried.
    static let mostOutcomes = CrashTests.isExhaustive ? 256 : 6

    /// Makes each sync of a file in the first operation fail, with every possible part of its data on the disk, and all
    /// of it in memory. Then runs the second operation, with power failures.
    ///
    /// - Parameter forgets: Whether the system drops memory when it is told to.
    func failedSyncs(
        _ scene: CrashScene, _ first: CrashOperation, then seconds: [CrashOperation], forgets: Bool = true
    ) throws {
        let promise = Promise(holders: scene.holders, trouble: scene.trouble)
        let whole = try run(first, on: scene.disk, promise, "\(scene): \(first)")
        var abilities = ModelDisk.Abilities()
        abilities.forgets = forgets
        var failed = abilities
        failed.mostOutcomes = Self.mostOutcomes
        for number in 0..<whole.disk.syncCount {
            var (outcome, outcomeCount) = (0, 1)
            while outcome < outcomeCount {
                let label = "\(scene): \(first), sync \(number) fails and leaves \(outcome)"
                failed.failingSync = (number, outcome)
                let run = try run(first, on: scene.disk, promise, abilities: failed, label)
                outcome += 1
                outcomeCount = run.disk.outcomeCount
                guard outcomeCount > 0 else { break }
                if outcome == 1, run.disk.isSelection { count { $0.selections += 1 } }
                if run.error == nil { lost("\(label): it succeeds") }
                let after = after(whole, promise)
                _ = try powerFailures(run, after, label)
                try follow(
                    whole, [run.disk.state.afterKill()], promise, seconds, abilities: abilities, mayRefuse: [], label)
            }
        }
    }

    /// Kills the first operation at every call. The system then fails to write what it kept in memory, and no process
    /// learns of it. Then runs the second operation, with power failures.
    func failedWrites(
        _ scene: CrashScene, _ first: CrashOperation, then seconds: [CrashOperation], forgets: Bool = true
    ) throws {
        let promise = Promise(holders: scene.holders, trouble: scene.trouble)
        let label = "\(scene): \(first), killed, and not written"
        var abilities = ModelDisk.Abilities()
        abilities.forgets = forgets
        let run = try run(first, on: scene.disk, promise, abilities: abilities, label)
        let states = run.disk.moments.flatMap { moment -> [DiskState] in
            let state = moment.state.afterKill()
            return failedWrites(state, ["it"])
        }
        try follow(run, states, promise, seconds, abilities: abilities, mayRefuse: [], label)
    }

    /// The states in which the system can leave files that it fails to write.
    func failedWrites(_ state: DiskState, _ names: [String]) -> [DiskState] {
        let inodes = names.compactMap { state[folder: DiskState.root]?.entries[$0] }
        return inodes.flatMap { inode in
            let outcomes = state.afterFailedSync(inode, limit: Self.mostOutcomes)
            if outcomes.isSelection { count { $0.selections += 1 } }
            return outcomes.states.map { bytes in
                var state = state
                state.failToSynchronize(inode, leaving: bytes)
                return state
            }
        }
    }
}

extension CrashLaboratory.Counts: CustomStringConvertible {
    var description: String {
        "\(operations) operations, stopped at \(moments) calls: \(states) states, \(leftovers) of them with a file left "
            + "beside it, \(lost.count) lost"
            + (selections > 0 ? "; of \(selections) failed writes A SELECTION of what they can leave" : "")
    }
}
