import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Crash safety of every change of a keyring, tested exhaustively (KEYRING-11 to KEYRING-14).
@Suite struct KeyringCrashTests {
    typealias Case = (scene: KeyringScene, first: KeyringOperation)

    /// The changes of the keys.
    private static let changes: [KeyringOperation] = [
        .generate("three"), .use, .retire, .importing(asCurrent: false), .importing(asCurrent: true), .destroy,
        .destroyAll,
    ]

    private static let making: [Case] = [
        (.nothing, .first(protectedBy: [1])), (.nothing, .first(protectedBy: [])),
        (.unlockKeyAlone, .first(protectedBy: [1])),
    ]

    private static let unlocking: [Case] = [
        (.unprotected, .protect([2])), (.protected, .protect([2])), (.protected, .protect([1])),
        (.twoUnlockers, .protect([1])), (.protected, .exchangeUnlocker), (.protected, .addUnlocker),
        (.twoUnlockers, .exchangeUnlocker), (.protected, .manyUnlockers),
    ]

    private static var all: [Case] {
        making + unlocking + changes.map { (.protected, $0) }
            + [(.unprotected, .generate("three")), (.unprotected, .destroy), (.twoUnlockers, .destroyAll)]
    }

    /// One change for each way in which files are made and replaced.
    private static var some: [Case] {
        CrashTests.isExhaustive
            ? all
            : [
                making[0], (.protected, .destroy), (.unprotected, .protect([2])), (.protected, .exchangeUnlocker),
                (.twoUnlockers, .generate("three")),
            ]
    }

    /// Every call of these changes fails, in more ways than one.
    private static var few: [Case] {
        CrashTests.isExhaustive ? all : [making[0], (.protected, .destroy), (.protected, .addUnlocker)]
    }

    private static func seconds(_ first: KeyringOperation) -> [KeyringOperation] {
        CrashTests.isExhaustive
            ? [first] + changes + [.generate("four"), .protect([1]), .protect([2]), .exchangeUnlocker, .addUnlocker]
            : [first, .destroyAll]
    }

    @Test func powerFailures() async throws {
        let counts = try await CrashTests.all("keyring, power failures", Self.all) { laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: Self.seconds(one.first))
        }
        #expect(counts.operations > 100 && counts.states > 200)
    }

    @Test func kills() async throws {
        let counts = try await CrashTests.all("keyring, kills", Self.some) { laboratory, one in
            try laboratory.kills(one.scene, one.first, then: Self.seconds(one.first))
        }
        #expect(counts.operations > 100 && counts.states > 200)
    }

    /// Lines of recipients, identities and groups.
    @Test(arguments: Holders.kindsOfRecipients) func recipients(_ kind: UInt8) async throws {
        let changes: [KeyringOperation] = [.meet(kind), .importing(kind), .group(kind)]
        let cases: [Case] = changes.map { (.protected, $0) }
        let counts = try await CrashTests.all("keyring, recipients \(kind)", cases) { laboratory, one in
            let seconds = [one.first, .importing(kind), .generate("four")]
            try laboratory.powerFailures(one.scene, one.first, then: seconds)
            try laboratory.kills(one.scene, one.first, then: seconds)
        }
        #expect(counts.operations > 50 && counts.states > 100)
        let failing: [Case] = [(.protected, .importing(kind)), (.protected, .group(kind))]
        let failed = try await CrashTests.all("keyring, recipients \(kind), failures", failing) { laboratory, one in
            try laboratory.failures(one.scene, one.first, .ioError)
        }
        #expect(failed.operations > 20)
    }

    @Test func aPassphrase() async throws {
        let cases: [Case] = [(.passphrase, .changePassphrase)]
        let counts = try await CrashTests.all("keyring, a passphrase", cases) { laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: [one.first])
        }
        #expect(counts.states > 4)
    }

    /// On systems where files have a temporary name from the start.
    @Test func namedFiles() async throws {
        var abilities = ModelDisk.Abilities()
        abilities.nameless = false
        abilities.exclusiveRename = false
        let cases: [Case] = [
            (.nothing, .first(protectedBy: [1])), (.protected, .destroy), (.protected, .protect([2])),
        ]
        let counts = try await CrashTests.all("keyring, named files", cases) { [abilities] laboratory, one in
            try laboratory.powerFailures(one.scene, one.first, then: [one.first], abilities: abilities)
        }
        #expect(counts.leftovers > 0)
    }

    @Test(arguments: CrashTests.isExhaustive ? [Errno.ioError, .noSpace] : [.ioError])
    func failures(_ error: Errno) async throws {
        let counts = try await CrashTests.all("keyring, failures by \(error)", Self.few) { laboratory, one in
            try laboratory.failures(one.scene, one.first, error)
        }
        #expect(counts.operations > 100)
    }

    @Test func failedSyncs() async throws {
        let counts = try await CrashTests.all("keyring, failed syncs", Self.few) { laboratory, one in
            try laboratory.failedSyncs(one.scene, one.first)
            let seconds = [one.first, .destroyAll, .addUnlocker]
            try laboratory.failedWrites(one.scene, one.first, then: seconds)
        }
        #expect(counts.operations > 30)
    }

    // MARK: That these tests can fail

    /// Without any single sync, destroying a key loses something. The exceptions are the syncs of the locked files
    /// before the change, which are for data that a killed process left.
    @Test func withoutOneSync() throws {
        let disk = ModelDisk(KeyringScene.protected.disk)
        try disk.during { _ = try KeyringOperation.destroy.run(KeyringScene.path, [1]) }
        let before = disk.moments.dropFirst().prefix { [.syncFile, .syncFolder].contains($0.call) }.count
        #expect(before > 0 && disk.syncCount > before)
        for number in before..<disk.syncCount {
            let laboratory = CrashLaboratory()
            var abilities = ModelDisk.Abilities()
            abilities.deafSyncs = [number]
            try laboratory.powerFailures(.protected, .destroy, then: [], abilities: abilities)
            #expect(!laboratory.counts.lost.isEmpty, "\(number)")
        }
    }

    /// A caller who finds nothing left to do, or does something else, may report a state that is not durable yet.
    @Test(arguments: [
        (KeyringOperation.use, KeyringOperation.use, Set([1, 3])), (.exchangeUnlocker, .generate("three"), Set([0])),
    ]) func withoutSyncOfALockedFile(
        _ first: KeyringOperation, _ second: KeyringOperation, _ deaf: Set<Int>
    ) throws {
        for isDeaf in [false, true] {
            let laboratory = CrashLaboratory()
            var abilities = ModelDisk.Abilities()
            if isDeaf { abilities.deafSyncs = deaf }
            try laboratory.kills(.protected, first, then: [second], secondAbilities: abilities)
            #expect(laboratory.counts.lost.isEmpty == !isDeaf)
        }
    }

    /// A change of what unlocks the keyring happens in place. If unwritten data is not dropped from memory, the next
    /// change takes it for durable.
    @Test func withoutForgetting() throws {
        for forgets in [true, false] {
            let laboratory = CrashLaboratory()
            try laboratory.failedWrites(
                .protected, .exchangeUnlocker, then: [.exchangeUnlocker, .addUnlocker], forgets: forgets)
            #expect(laboratory.counts.lost.isEmpty == forgets)
        }
    }
}
