import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultSystem

@testable import VaultCommand

/// An input is removed only if its durable output surely holds what it held.
@Suite struct RemoveSourceTests {
    /// What a removal did, in order, on a real file.
    private final class Recorder: Sendable {
        private let made = Mutex<[String]>([])

        var calls: [String] { made.withLock { $0 } }

        func note(_ call: String) { made.withLock { $0.append(call) } }

        /// The real calls, which are noted. Time stands still, long after every change.
        func calls(_ change: (inout RemovalCalls) -> Void = { _ in }) -> RemovalCalls {
            let real = RemovalCalls()
            var calls = RemovalCalls()
            calls.now = { Timestamp(seconds: 1 << 40) }
            calls.synchronize = { file throws(Errno) in
                self.note("sync")
                try real.synchronize(file)
            }
            calls.stat = { file throws(Errno) in
                self.note("status")
                return try real.stat(file)
            }
            calls.remove = { folder, name throws(Errno) in
                self.note("remove")
                try real.remove(folder, name)
            }
            calls.synchronizeFolder = { folder throws(Errno) in
                self.note("sync folder")
                try real.synchronizeFolder(folder)
            }
            calls.setLease = { _, type in
                self.note(type == Self.none ? "unlease" : "lease")
                return 0
            }
            calls.lease = { _ in Self.writing }
            calls.fileSystem = { _ in 0 }
            calls.pause = { _ in self.note("pause") }
            change(&calls)
            return calls
        }

        // F_WRLCK and F_UNLCK.
        #if os(Linux)
        static let (writing, none): (Int32, Int32) = (1, 2)
        #else
        static let (writing, none): (Int32, Int32) = (3, 2)
        #endif
    }

    private let box: Sandbox

    init() throws {
        box = try Sandbox()
        try box.write("a", "contents")
    }

    /// Reads the file and removes it.
    private func remove(
        under calls: RemovalCalls, isForced: Bool = false, reading: () throws -> Void = {}
    ) throws -> Failure? {
        try RemovalCalls.$current.withValue(calls) {
            let input = try Input(PathArgument(bytes: Array(box.path("a").string.utf8)))
            defer { input.close() }
            do throws(Failure) {
                let removable = try RemovableInput(input)
                try? reading()
                try removable.remove(done: "encrypted", isForced: isForced)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test func order() throws {
        let recorder = Recorder()
        #expect(try remove(under: recorder.calls()) { recorder.note("read") } == nil)
        #expect(
            recorder.calls == [
                "sync", "status", "lease", "unlease", "read", "status", "lease", "status", "remove", "sync folder",
                "unlease",
            ])
        #expect(box.bytes("a") == nil)
    }

    @Test("a file that has just been changed is looked at again, because a change in the same step would not show")
    func waits() throws {
        let recorder = Recorder()
        let changed = try #require(try box.stat("a").changed)
        let later = Timestamp(seconds: changed.seconds + 10)
        let failure = try remove(
            under: recorder.calls { calls in
                calls.now = { recorder.calls.contains("pause") ? later : changed }
            })
        #expect(failure == nil)
        #expect(recorder.calls.prefix(5) == ["sync", "status", "pause", "sync", "status"])
        // A program that changes it again and again is noticed, even if the last status is the same.
        try box.write("a", "contents")
        let always = try #require(try box.stat("a").changed)
        let refused = try #require(try remove(under: recorder.calls { $0.now = { always } }))
        #expect(refused.status == .inputOutput && refused.reason.contains("a later change might not show"))
        #expect(box.text("a") == "contents")
    }

    @Test func stepsOfTime() throws {
        func wait(_ modified: Timestamp, _ changed: Timestamp, _ now: Timestamp) -> Duration? {
            SettledInput.wait(for: [modified, changed], at: now)
        }
        func time(_ seconds: Int64, _ milliseconds: UInt32 = 0) throws -> Timestamp {
            try #require(Timestamp(seconds: seconds, nanoseconds: milliseconds * 1_000_000))
        }
        #expect(wait(try time(5, 500), try time(5, 500), try time(5, 510)) != nil)
        #expect(wait(try time(1), try time(5, 500), try time(5, 510)) != nil)
        #expect(wait(try time(5, 500), try time(5, 500), try time(5, 540)) == nil)
        // Whole seconds: the file system may count in steps of two.
        #expect(wait(try time(4), try time(4), try time(5, 900)) != nil)
        #expect(wait(try time(4), try time(4), try time(6, 200)) == nil)
        // A time that was set to the future does not make it wait for that.
        #expect(wait(try time(9, 1), try time(1, 1), try time(5)) == nil)
        for seconds in [Int64.min, .max] { #expect(wait(try time(seconds), try time(~seconds), try time(5)) == nil) }
    }

    @Test("a file that another program has open stays") func inUse() throws {
        let recorder = Recorder()
        let calls = recorder.calls { calls in
            calls.setLease = { _, _ in
                recorder.note("lease")
                return Host.fail(.resourceTemporarilyUnavailable)
            }
        }
        for isForced in [false, true] {
            let failure = try #require(try remove(under: calls, isForced: isForced))
            #expect(failure.status == .inUse && failure.reason.contains("another program has it open"))
        }
        #expect(recorder.calls.count { $0 == "lease" } == 10)
        #expect(box.text("a") == "contents")
    }

    @Test("a file that another program had open before it was read stays, even if it is closed by now") func wasInUse()
        throws
    {
        let recorder = Recorder()
        let calls = recorder.calls { calls in
            calls.setLease = { _, _ in recorder.calls.contains("read") ? 0 : Host.fail(.resourceTemporarilyUnavailable)
            }
        }
        #expect(try remove(under: calls) { recorder.note("read") }?.status == .inUse)
        #expect(box.text("a") == "contents")
    }

    @Test("a file that another program is about to open stays") func opened() throws {
        let recorder = Recorder()
        let failure = try #require(try remove(under: recorder.calls { $0.lease = { _ in Recorder.none } }))
        #expect(failure.status == .inUse && recorder.calls.last == "unlease")
        #expect(box.text("a") == "contents")
    }

    @Test("an error of the system is not taken for another program") func unknownLease() throws {
        let calls = Recorder().calls { $0.lease = { _ in Host.fail(.ioError) } }
        let failure = try #require(try remove(under: calls))
        #expect(failure.status == .inputOutput && failure.reason.contains("cannot tell"), "\(failure.reason)")
        #expect(box.text("a") == "contents")
        #expect(try remove(under: calls, isForced: true) == nil)
        #expect(box.bytes("a") == nil)
    }

    @Test("without leases a file stays unless forced", arguments: [Errno.invalidArgument, .permissionDenied, .noLocks])
    func noLeases(_ error: Errno) throws {
        let recorder = Recorder()
        let calls = recorder.calls { $0.setLease = { _, _ in Host.fail(error) } }
        let failure = try #require(try remove(under: calls))
        #expect(failure.status == .inputOutput && failure.reason.contains("cannot tell"))
        #expect(box.text("a") == "contents")
        // A change is noticed without leases too.
        #expect(try remove(under: calls, isForced: true) { try box.write("a", "others") }?.status == .inputOutput)
        #expect(box.text("a") == "others")
        #expect(try remove(under: calls, isForced: true) == nil)
        #expect(box.bytes("a") == nil)
    }

    @Test("a lease that was not available before the reading is not made up for by a later one")
    func leaseOnlyLater() throws {
        let recorder = Recorder()
        let calls = recorder.calls { calls in
            calls.setLease = { _, _ in recorder.calls.contains("read") ? 0 : Host.fail(.noMemory) }
        }
        let failure = try #require(try remove(under: calls) { recorder.note("read") })
        #expect(failure.status == .inputOutput && failure.reason.contains("cannot tell"))
        #expect(box.text("a") == "contents")
    }

    /// overlay, NFS and SMB, and a system that does not say.
    @Test(
        "a lease on a file system that cannot tell counts for nothing",
        arguments: [
            0x794C_7630, 0x6969, 0xFE53_4D42, -1,
        ]) func fileSystems(_ kind: Int64) throws
    {
        for isGiven in [true, false] {
            try box.write("a", "contents")
            let calls = Recorder().calls { calls in
                calls.fileSystem = { _ in kind == -1 ? Host.fail(.ioError) : kind }
                calls.setLease = { _, _ in isGiven ? 0 : Host.fail(.resourceTemporarilyUnavailable) }
            }
            let failure = try #require(try remove(under: calls))
            #expect(failure.status == .inputOutput && failure.reason.contains("cannot tell"), "\(failure.reason)")
            #expect(box.text("a") == "contents")
            #expect(try remove(under: calls, isForced: true) == nil)
            #expect(box.bytes("a") == nil)
        }
    }

    @Test("a change at any step is noticed") func changes() throws {
        let change: @Sendable () -> Void = { [box = Unchecked(box)] in
            _ = try? box.value.write("a", "contents")
        }
        let changed = try remove(under: Recorder().calls(), reading: change)
        #expect(changed?.reason.contains("it changed while it was read") == true)
        let recorder = Recorder()
        let whileLeasing = recorder.calls { calls in
            calls.setLease = { _, type in
                if type != Recorder.none, recorder.calls.contains("unlease") { change() }
                recorder.note(type == Recorder.none ? "unlease" : "lease")
                return 0
            }
        }
        #expect(try remove(under: whileLeasing)?.reason.contains("changed") == true)
        #expect(box.text("a") == "contents")
        // Another file of the same name.
        let exchange = { try Sandbox.shell("cd \"$1\"; mv a b; cp -p b a", [Array(box.folder.string.utf8)]) }
        let other = try remove(under: Recorder().calls(), reading: { _ = try exchange() })
        #expect(other?.status == .inputOutput && other?.reason.contains("the name means another file by now") == true)
        #expect(box.text("a") == "contents")
    }

    /// Runs a conversion whose output exists already, with this outcome of the comparison.
    private func continues(
        under calls: RemovalCalls, _ check: @escaping () throws -> Bool
    ) throws {
        try RemovalCalls.$current.withValue(calls) {
            let paths = ["a", "out"].map { PathArgument(bytes: Array(box.path($0).string.utf8)) }
            let input = try Input(paths[0])
            defer { input.close() }
            let conversion = Conversion(
                outcome: .encrypted, options: DestinationOptions(to: .dash), removesSource: true, outputs: Outputs(),
                console: Console(verb: .encrypt, verbosity: .quiet))
            _ = try conversion.make(.file(OutputPlace(paths[1])), from: input) { _, _ in
                let result = Conversion.Result(permissions: .ownerReadWrite, modified: nil, length: 8, health: nil)
                return try check() ? result : nil
            } _: { _, _ in
                throw Errno.ioError
            }
        }
    }

    /// Runs in opposite directions: each takes the other's input for the output of an earlier run.
    @Test("the output is open while the input is removed, so that no other run gets a lease on it")
    func opposite() throws {
        try box.write("out", "contents")
        let output = PathArgument(bytes: Array(box.path("out").string.utf8))
        let leased = Mutex<[Int32]>([])
        var calls = Recorder().calls()
        let remove = calls.remove
        calls.remove = { folder, name throws(Errno) in
            let other = try? Input(output)
            leased.withLock { $0.append(other.map { RemovalCalls().setLease($0.descriptor, Recorder.writing) } ?? 0) }
            other?.close()
            try remove(folder, name)
        }
        try continues(under: calls) { true }
        #expect(leased.withLock { $0 } == [-1] && box.bytes("a") == nil && box.bytes("out") != nil)
    }

    @Test(
        "an output that has another name, or is a link, is not taken for that of an earlier run",
        arguments: ["ln out link", "ln -s out2 out"])
    func notOwn(_ change: String) throws {
        try box.write("out", "contents")
        let folder = Array(box.folder.string.utf8)
        if change.contains("-s") { _ = try Sandbox.shell("cd \"$1\" && mv out out2", [folder]) }
        _ = try Sandbox.shell("cd \"$1\" && " + change, [folder])
        #expect(throws: Failure.self) { try continues(under: Recorder().calls()) { true } }
        #expect(box.text("a") == "contents")
    }

    @Test("the output of an earlier run is made durable before its input is removed") func durableBefore() throws {
        try box.write("out", "contents")
        let recorder = Recorder()
        try continues(under: recorder.calls()) {
            recorder.note("compare")
            return true
        }
        #expect(
            recorder.calls == [
                "sync", "status", "lease", "unlease", "compare", "sync", "sync folder", "status", "lease", "status",
                "remove", "sync folder", "unlease",
            ])
        try box.write("a", "contents")
        for fails in ["sync", "sync folder"] {
            let recorder = Recorder()
            let failing = recorder.calls { calls in
                let (sync, syncFolder) = (calls.synchronize, calls.synchronizeFolder)
                calls.synchronize = { file throws(Errno) in
                    if fails == "sync", recorder.calls.contains("compare") { throw .ioError }
                    try sync(file)
                }
                calls.synchronizeFolder = { folder throws(Errno) in
                    if fails == "sync folder" { throw .ioError }
                    try syncFolder(folder)
                }
            }
            #expect(throws: Failure.self) {
                try continues(under: failing) {
                    recorder.note("compare")
                    return true
                }
            }
            #expect(!recorder.calls.contains("remove") && box.text("a") == "contents", "\(fails)")
        }
    }

    @Test("an error of the comparison is not called an existing output") func failingComparison() throws {
        try box.write("out", "contents")
        for code in [VaultError.Code.inputFailed, .memoryUnavailable, .wrongKey, .recordDamaged] {
            #expect(throws: VaultError(code, "")) {
                try continues(under: Recorder().calls()) { throw VaultError(code, "") }
            }
        }
        do {
            try continues(under: Recorder().calls()) { false }
            Issue.record("another output was taken for that of an earlier run")
        } catch let error as Failure {
            #expect(
                error.status == .cannotCreate
                    && error.reason == "exists, and is not what this run would make of the input")
        }
        #expect(box.text("a") == "contents" && box.text("out") == "contents")
    }

    @Test("an output that cannot be looked at is not just called an existing one") func unknownOutput() throws {
        _ = try Sandbox.shell("cd \"$1\"; ln -s out out", [Array(box.folder.string.utf8)])
        do {
            try continues(under: Recorder().calls()) { true }
            Issue.record("a link to itself was taken for the output of an earlier run")
        } catch let error as Failure {
            #expect(error.status == .cannotCreate && error.reason.contains(Errno.tooManySymbolicLinkLevels.words))
        }
        #expect(box.text("a") == "contents")
    }

    @Test func failingSyncs() throws {
        let source = Recorder().calls { $0.synchronize = { _ throws(Errno) in throw .ioError } }
        #expect(try remove(under: source)?.status == .inputOutput)
        #expect(box.text("a") == "contents")
        // Some files have nothing to sync.
        let none = Recorder().calls { calls in
            calls.synchronize = { _ throws(Errno) in throw .invalidArgument }
            calls.synchronizeFolder = { _ throws(Errno) in throw .ioError }
        }
        let failure = try #require(try remove(under: none))
        #expect(failure.status == .inputOutput && failure.reason.contains("a power failure may bring it back"))
        #expect(box.bytes("a") == nil)
    }
}

private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
