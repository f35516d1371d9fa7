import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Runs operations on a model of a disk, stops them at every call with everything that a power failure can leave then,
/// and looks whether anybody has lost anything.
final class CrashLaboratory: Sendable {
    struct Counts: Sendable {
        var operations = 0
        var moments = 0
        var states = 0
        /// Files that a crash has left beside the container.
        var leftovers = 0
        /// Operations that were refused, with nothing written, where that may be.
        var refusals = 0
        var lost: [String] = []
    }

    /// What must hold of a state.
    struct Promise {
        /// Who may be those who can open the container, before and after what was going on.
        var holders: [Holders]
        var trouble: CrashScene.Trouble
        /// Of the copies of a conflict, that which is being kept.
        var kept: Int?
        /// Whether it is enough that one of them all can open it.
        var anyOf = false

        /// They can open it whatever happened.
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

    private func lost(_ what: String) {
        all.withLock { $0.lost.append(what) }
    }

    // MARK: One state

    private static func reading(_ bytes: [UInt8], _ keys: Holders) throws -> Reading {
        try Reading { sink in
            let reader = try SeekableVaultReader(MemorySource(bytes), keys: keys.keySet)
            try reader.readAll(to: sink)
            return reader.opened
        }
    }

    /// What is wrong with a container that a crash has left; nil if nothing.
    static func complaint(about bytes: [UInt8]?, _ promise: Promise) throws -> String? {
        guard let bytes else { return "there is no container" }
        var staying = promise.staying.sorted()
        // Of many keys, the first ones and the last.
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

    /// What is wrong with a container after an operation has reported success; nil if nothing. Each of `knowing` can open
    /// it or not, as one of the `holders` says.
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

    /// Everybody who is looked at after success; of many keys some.
    private static func knowing(_ promise: Promise, _ more: [Holders]) -> Holders {
        let all = (more + promise.holders).reduce(into: Holders()) { $0.formUnion($1) }.sorted()
        return Set(all.filter { $0 < 10 || $0 >= Holders.firstPassphrase } + all.suffix(1)).union([2, 3])
    }

    // MARK: One run

    /// What one run has left behind at each of its moments.
    struct Run {
        let disk: ModelDisk
        let error: (any Error)?
        let operation: CrashOperation
        /// Who can open the container then, if it has succeeded.
        let holders: [Holders]
    }

    /// Runs an operation and checks what it reports.
    func run(
        _ operation: CrashOperation, on state: DiskState, _ promise: Promise, path: FilePath = "/it",
        abilities: ModelDisk.Abilities = ModelDisk.Abilities(), mayRefuse: Set<VaultError.Code> = [], _ label: String
    ) throws -> Run {
        let disk = ModelDisk(state, abilities: abilities)
        let holders = operation.effect(promise.holders)
        all.withLock { $0.operations += 1 }
        do {
            let header = try disk.during { try operation.run(path) }
            if disk.openCount != 0 || disk.deadlocks != 0 { lost("\(label): a descriptor or a lock is left") }
            let knowing = Self.knowing(promise, holders)
            if let text = try Self.complaint(
                afterSuccess: disk.state.bytes("it"), holders, of: knowing, header: header)
            {
                lost("\(label): \(text)")
            }
            // Nobody locks himself out unasked (ROT-5, ROT-13).
            if try Self.complaint(
                about: disk.state.bytes("it"), Promise(holders: [operation.atHand], trouble: .none, anyOf: true)) != nil
            {
                lost("\(label): who has done it cannot open it")
            }
            let after = disk.state.afterPowerFailure("it")
            if after?.count != 1 { lost("\(label): after success it is not durable") }
            return Run(disk: disk, error: nil, operation: operation, holders: holders)
        } catch let error as VaultError {
            if disk.openCount != 0 { lost("\(label): a descriptor is left") }
            if abilities.failure == nil, !mayRefuse.contains(error.code) { lost("\(label): \(error)") }
            if mayRefuse.contains(error.code) { all.withLock { $0.refusals += 1 } }
            if mayRefuse.contains(error.code), disk.state.bytes("it") != state.bytes("it") {
                lost("\(label): refused with \(error.code), but something was written")
            }
            return Run(disk: disk, error: error, operation: operation, holders: promise.holders)
        }
    }

    /// Everything that a power failure can leave of a run, each state once, looked at.
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
                if hasLeftover { all.withLock { $0.leftovers += 1 } }
                if let text = try Self.complaint(about: crash.bytes("it"), after) {
                    lost("\(label), \(moment.call): \(text)")
                }
                states.append(crash)
            }
        }
        all.withLock { [count = states.count] in
            $0.moments += moments.count
            $0.states += count
        }
        return states
    }
}

// MARK: Several runs

extension CrashLaboratory {
    /// Power failures within a first operation, and within a second one from every state that the first can leave.
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

    /// The first operation killed at every call, and in the middle of every write, with everything that it wrote still in
    /// the system's memory; then the second; then power failures.
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

    /// Every call that changes something fails once, or it and all after it; then the operation is run again.
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

extension CrashLaboratory.Counts: CustomStringConvertible {
    var description: String {
        "\(operations) operations, stopped at \(moments) calls: \(states) states, \(leftovers) of them with a file left "
            + "beside the container, \(lost.count) lost"
    }
}
