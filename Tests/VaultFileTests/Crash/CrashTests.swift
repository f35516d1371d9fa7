import FoundationEssentials
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Crash safety of rotation, repair, growth and re-encryption, tested exhaustively (Spec 13): every call of every
/// operation from every health, every state that a power failure can leave then, and every second operation from there.
///
/// `VAULTFILE_EXHAUSTIVE=1` tests all pairs of operations, with headers of more sizes; this takes a quarter of an hour.
@Suite struct CrashTests {
    static let isExhaustive = ProcessInfo.processInfo.environment["VAULTFILE_EXHAUSTIVE"] == "1"

    private static let operations: [CrashOperation] = [
        .replace, .add, .remove, .nothing, .repair, .reencrypt,
    ]

    /// Runs all of it, on all processors, and prints what was done.
    static func all<Case: Sendable>(
        _ name: String, _ cases: [Case], _ body: @escaping @Sendable (CrashLaboratory, Case) throws -> Void
    ) async throws -> CrashLaboratory.Counts {
        let laboratory = CrashLaboratory()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for one in cases { group.addTask { try body(laboratory, one) } }
            try await group.waitForAll()
        }
        let counts = laboratory.counts
        print("\(name): \(counts)")
        for text in counts.lost.prefix(20) { Issue.record("\(name): \(text)") }
        return counts
    }

    private static func pairs(
        _ scenes: [CrashScene], _ operations: [CrashOperation]
    ) -> [(scene: CrashScene, first: CrashOperation)] {
        scenes.flatMap { scene in operations.map { (scene, $0) } }
    }

    /// Growth from every health. The contents of a damaged copy do not matter then.
    private static func growing(_ capacities: [Int]) -> [(scene: CrashScene, first: CrashOperation)] {
        // A write that changes more than 14 sectors can be torn in more ways than can be tried.
        pairs(
            capacities.flatMap { capacity in
                CrashScene.healthy(capacity, isFull: capacity > 512).filter {
                    !$0.name.contains("random") && (capacity <= 4096 || !$0.name.contains("zeros"))
                }
            }, [.grow])
    }

    // MARK: Power failures

    @Test func powerFailures() async throws {
        let capacities = Self.isExhaustive ? [4096, 8192, 512, 2048] : [4096, 512]
        let scenes = capacities.flatMap { capacity in
            CrashScene.healthy(capacity).filter { capacity <= 4096 || !$0.name.contains("random") }
        }
        let cases = Self.pairs(scenes, Self.operations) + Self.growing(capacities)
        let counts = try await Self.all("power failures", cases) { laboratory, one in
            let seconds = Self.isExhaustive ? Self.operations + [.replaceAgain] : [one.first, .repair]
            // Nearly all of the 256 states of a damaged copy are alike.
            let isWide = one.scene.name.contains("random")
            try laboratory.powerFailures(
                one.scene, one.first, then: isWide && !Self.isExhaustive ? [] : isWide ? [one.first] : seconds)
        }
        #expect(counts.operations > 500 && counts.states > 2000)
    }

    /// Slots in several sectors; four passphrases of which one changes; a container's only key.
    @Test func moreSlots() async throws {
        let crowded = Self.pairs(CrashScene.crowded(8192) + [.single(4096), .single(512)], [.replace, .add])
        let passphrases = Self.pairs(CrashScene.passphrases(4096), [.changePassphrase])
        let counts = try await Self.all("more slots", crowded + passphrases) { laboratory, one in
            try laboratory.powerFailures(
                one.scene, one.first, then: Self.isExhaustive ? [one.first, .repair, .replaceAgain] : [one.first])
        }
        #expect(counts.states > 500)
    }

    /// Slots of public keys, and of a plugin. Nobody but their owners can open them.
    @Test(arguments: Holders.kindsOfRecipients) func recipients(_ kind: UInt8) async throws {
        let scenes = CrashScene.healthy(4096, of: [kind, kind + 1])
        let all = CrashOperation.recipients(kind)
        // A slot of X-Wing lies in four sectors, which can be torn in many ways.
        let isWide = kind == Holders.firstXWing && !Self.isExhaustive
        let chosen =
            Self.isExhaustive
            ? scenes.filter { !$0.name.contains("random") } : isWide ? [scenes[0]] : [scenes[0], scenes[1], scenes[3]]
        // A slot of X-Wing needs more than a kibibyte.
        let small = CrashScene.healthy(kind == Holders.firstXWing ? 2048 : 512, of: [kind, kind + 1])
        let cases =
            Self.pairs(chosen, isWide ? [all[0], .reencrypt(for: [1, kind + 1])] : all)
            + Self.pairs(Array(small[..<2]), [.grow(kind)])
        let counts = try await Self.all("recipients \(kind)", cases) { laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: isWide ? [.repair] : [one.first, .repair])
        }
        #expect(counts.operations > 20 && counts.states > 100)
        let exchanges =
            Self.pairs(Array(scenes[..<(isWide ? 1 : 2)]), [.exchange(kind)]) + Self.pairs([small[0]], [.grow(kind)])
        let stops = try await Self.all("recipients \(kind), kills and failures", exchanges) { laboratory, one in
            try laboratory.kills(one.scene, one.first, then: [one.first, .repair])
            try laboratory.failures(one.scene, one.first, .ioError)
            try laboratory.failedSyncs(one.scene, one.first, then: [one.first])
        }
        #expect(stops.operations > 50 && stops.states > 100)
    }

    /// Names a copy to keep, and names it again after a crash.
    @Test func conflicts() async throws {
        let operations: [CrashOperation] = [
            .keepingFront, .keepingTail, .repairKeepingFront, .repairKeepingTail, .reencrypt,
        ]
        let scenes = (Self.isExhaustive ? [4096, 8192, 512] : [4096, 512]).flatMap { CrashScene.conflicts($0) }
        let counts = try await Self.all("conflicts", Self.pairs(scenes, operations)) { laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: [one.first])
        }
        #expect(counts.states > 500)
    }

    @Test func brokenEnds() async throws {
        let scenes = (Self.isExhaustive ? [4096, 8192, 512] : [4096, 512]).flatMap { CrashScene.broken($0) }
        let counts = try await Self.all("broken ends", Self.pairs(scenes, [.repair])) { laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: [.repair])
            try laboratory.kills(one.scene, one.first, then: [.repair])
        }
        #expect(counts.states > 300)
    }

    // MARK: Kills

    /// Kills at every call with dirty pages kept, then another operation, then a power failure with any subset of what
    /// is not durable from both.
    @Test func kills() async throws {
        let scenes = [4096, 512].flatMap { CrashScene.healthy($0) }.filter { !$0.name.contains("random") }
        let cases =
            Self.isExhaustive
            ? Self.pairs(scenes, Self.operations) + Self.growing([4096, 512])
            : Self.pairs(Array(scenes[..<4]), [.replace, .repair, .reencrypt]) + Self.growing([4096])[..<3]
        let counts = try await Self.all("kills", cases) { laboratory, one in
            try laboratory.kills(
                one.scene, one.first,
                then: Self.isExhaustive ? Self.operations + [.replaceAgain] : [one.first, .replaceAgain])
        }
        #expect(counts.states > 1000)
    }

    /// A caller who has only an earlier key is refused before any write, or succeeds.
    @Test func olderKeys() async throws {
        let scenes = Array(CrashScene.healthy(4096)[..<4])
        let counts = try await Self.all("older keys", Self.pairs(scenes, [.replace, .repair])) { laboratory, one in
            try laboratory.powerFailures(
                one.scene, one.first, then: [.repairWithOldKey, .replaceWithOldKey],
                mayRefuse: [.rotationUnfinished, .wrongKey])
        }
        #expect(counts.refusals > 10 && counts.operations - counts.refusals > 10)
    }

    /// On systems where files have a temporary name from the start. That name may remain, and nothing more.
    @Test func namedFiles() async throws {
        var abilities = ModelDisk.Abilities()
        abilities.nameless = false
        abilities.exclusiveRename = false
        abilities.writeCount = 1000
        let cases = Self.pairs([CrashScene.healthy(4096)[1], CrashScene.healthy(512)[0]], [.replace, .reencrypt])
        let counts = try await Self.all("named files", cases + Self.growing([4096])[..<1]) {
            [abilities] laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: [one.first], abilities: abilities)
            try laboratory.kills(one.scene, one.first, then: [.replaceAgain], abilities: abilities)
        }
        #expect(counts.leftovers > 0)
    }

    // MARK: Calls that fail

    @Test(arguments: [Errno.ioError, .noSpace]) func failures(_ error: Errno) async throws {
        let scenes = Array(CrashScene.healthy(4096)[..<(Self.isExhaustive ? 6 : 2)])
        let cases =
            Self.pairs(scenes, [.replace, .repair, .reencrypt]) + Self.growing([4096, 512])[..<2]
            + Self.pairs(CrashScene.broken(4096), [.repair])
        let counts = try await Self.all("failures by \(error)", cases) { laboratory, one in
            try laboratory.failures(one.scene, one.first, error)
        }
        #expect(counts.operations > 100)
    }

    /// A sync that fails as on Linux: from then on the system treats the bytes as written, and still shows them.
    @Test func failedSyncs() async throws {
        let scenes = [4096, 512].flatMap { CrashScene.healthy($0) }.filter { !$0.name.contains("random") }
        let cases =
            (Self.isExhaustive
                ? Self.pairs(scenes, Self.operations)
                : Self.pairs([scenes[0], scenes[3]], [.replace]) + Self.pairs([scenes[0]], [.repair, .reencrypt]))
            + Self.growing([4096])[..<1] + Self.pairs(Array(CrashScene.broken(4096).suffix(2)), [.repair])
            + (Self.isExhaustive ? Self.pairs(CrashScene.crowded(8192), [.replace]) : [])
        let counts = try await Self.all("failed syncs", cases) { laboratory, one in
            let seconds = one.scene.trouble == .broken ? [one.first] : [one.first, .replaceAgain]
            try laboratory.failedSyncs(one.scene, one.first, then: seconds)
            try laboratory.failedWrites(one.scene, one.first, then: seconds)
        }
        #expect(counts.states > 100)
    }

    /// A medium that reports a write as done and stores nothing. A rotation reads both copies back (ROT-23): otherwise
    /// it would report success, and the caller would destroy the old key.
    @Test(arguments: [CrashOperation.replace, .add, .remove, .keepingFront, .keepingTail])
    func lostWrites(_ operation: CrashOperation) throws {
        let laboratory = CrashLaboratory()
        let isConflict = operation.kept != nil
        var noticed = 0
        for scene in isConflict ? CrashScene.conflicts(4096) : Array(CrashScene.healthy(4096)[..<5]) {
            let promise = CrashLaboratory.Promise(holders: scene.holders, trouble: scene.trouble)
            var number = 0
            while true {
                var abilities = ModelDisk.Abilities()
                abilities.lostWrites = [number]
                let label = "\(scene), \(operation), without write \(number)"
                let run = try laboratory.run(operation, on: scene.disk, promise, abilities: abilities, label)
                guard number < run.disk.writeCount else { break }
                if let error = run.error as? VaultError {
                    noticed += 1
                    #expect(error.code == .outputFailed, "\(label): \(error)")
                }
                // Keys that open it before and after the rotation still do. The copies may contradict each other.
                var after = CrashLaboratory.Promise(
                    holders: scene.holders + operation.effect(scene.holders), trouble: .conflict)
                after.kept = operation.kept
                let complaint = try CrashLaboratory.complaint(about: run.disk.state.bytes("it"), after)
                #expect(complaint == nil, "\(label)")
                number += 1
            }
        }
        for text in laboratory.counts.lost { Issue.record("\(text)") }
        #expect(noticed >= 8)
    }

    // MARK: That these tests can fail

    /// If unwritten data is not dropped from memory, an operation takes it for durable.
    @Test(arguments: [true, false]) func withoutForgetting(_ isReported: Bool) throws {
        let laboratory = CrashLaboratory()
        let scene = CrashScene.healthy(4096)[0]
        if isReported {
            try laboratory.failedSyncs(scene, .replace, then: [.replace, .replaceAgain], forgets: false)
        } else {
            try laboratory.failedWrites(scene, .replace, then: [.replace, .replaceAgain], forgets: false)
        }
        #expect(!laboratory.counts.lost.isEmpty)
    }

    /// Without any single sync something is lost. Otherwise these tests would prove nothing.
    @Test(arguments: [0, 2, 3]) func withoutOneSync(_ number: Int) throws {
        let laboratory = CrashLaboratory()
        var abilities = ModelDisk.Abilities()
        abilities.deafSyncs = [number]
        let scene = CrashScene.healthy(4096)[0]
        if number == 0 {
            // The first sync is for data that a killed process left in memory.
            try laboratory.kills(scene, .replace, then: [.replaceAgain], secondAbilities: abilities)
        } else {
            try laboratory.powerFailures(scene, .replace, then: [], abilities: abilities)
        }
        #expect(!laboratory.counts.lost.isEmpty)
    }

    /// The same for growth: the first sync of the folder is for a new file whose name is not durable yet.
    @Test(arguments: [1, 2, 3]) func growthWithoutOneSync(_ number: Int) throws {
        let laboratory = CrashLaboratory()
        var abilities = ModelDisk.Abilities()
        abilities.deafSyncs = [number]
        let scene = CrashScene.healthy(4096, isFull: true)[0]
        if number == 1 {
            try laboratory.kills(scene, .grow, then: [.replaceAgain], secondAbilities: abilities)
        } else {
            try laboratory.powerFailures(scene, .grow, then: [], abilities: abilities)
        }
        #expect(!laboratory.counts.lost.isEmpty)
    }
}
