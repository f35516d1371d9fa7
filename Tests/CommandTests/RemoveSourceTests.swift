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
            #expect(error.status == .cannotCreate && error.reason == "exists")
        }
        #expect(box.text("a") == "contents" && box.text("out") == "contents")
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

    // MARK: The command

    private static let key = ["VAULTFILE_KEY_FILE=key"]

    private func shell(_ script: String) throws {
        try Sandbox.shell("cd \"$1\" && \(script)", [Array(box.folder.string.utf8)])
    }

    #if os(Linux)
    /// A program that has mapped `a` for writing. It stores a byte again and again if it is told to, until `stop`
    /// exists.
    private static let mapper = """
        import mmap, os, sys, time
        file = open("a", "r+b")
        pages = mmap.mmap(file.fileno(), 0)
        file.close()
        pages[0] = 1
        open("ready", "w").close()
        while not os.path.exists("stop"):
            if sys.argv[1] == "stores":
                pages[0] = (pages[0] + 1) % 256
            time.sleep(0.0005)
        os.remove("stop")
        """

    @Test("a file stays while a program can write to it through a shared mapping", arguments: ["stores", "waits"])
    func mapped(_ what: String) throws {
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 1, count: 1 << 20))
        try box.write("mapper", Self.mapper)
        let outcome = try box.run(
            "encrypt", "--remove-source", "a",
            prelude:
                "{ python3 mapper \(what) & } && while [ ! -e ready ]; do sleep 0.01; done", environment: Self.key)
        // A store is seen, or else that the file is open.
        let mayBeSeen = what == "stores" && outcome.ending == .status(74)
        #expect(mayBeSeen || outcome.ending == .status(75), "\(outcome.errors)")
        let reasons = ["changed while it was read", "changed just before it was read"]
        let seen = reasons.contains { outcome.errors.contains($0) }
        #expect(mayBeSeen ? seen : outcome.errors.contains("another program has it open"))
        #expect(outcome.errors.contains("was not removed"))
        #expect(box.bytes("a") != nil && box.bytes("a.vault") != nil)
        try shell("touch stop; while [ -e stop ]; do sleep 0.01; done")
        guard what == "waits" else { return }
        let again = try box.run("encrypt", "--remove-source", "a", environment: Self.key)
        #expect(again.ending == .status(0) && again.errors.contains("an earlier run"), "\(again.errors)")
        #expect(box.bytes("a") == nil)
    }

    @Test("a file of another user, on which leases need a privilege, stays unless forced", .enabled(if: Host.isRoot))
    func anotherUser() throws {
        try box.makeKey()
        try shell("chmod 777 . && chmod 644 key")
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.start(
                (["encrypt", "--remove-source"] + words + ["a"]).map { Array($0.utf8) },
                command: "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"", environment: Self.key
            ).end()
        }
        let kept = try run()
        #expect(kept.ending == .status(74) && kept.errors.contains("cannot tell"), "\(kept.errors)")
        #expect(kept.errors.contains("-f makes the output again"))
        #expect(box.text("a") == "contents" && box.bytes("a.vault") != nil)
        let forced = try run("-f")
        #expect(forced.ending == .status(0), "\(forced.errors)")
        #expect(box.bytes("a") == nil && box.bytes("a.vault") != nil)
    }

    @Test(
        "killed at any call, a second run finishes",
        .enabled(if: (try? Sandbox.shell("command -v strace", [])) != ""), arguments: ["encrypt", "decrypt"])
    func killed(_ verb: String) throws {
        try box.makeKey()
        let (input, output) = verb == "encrypt" ? ("a", "a.vault") : ("a.vault", "a")
        if verb == "decrypt" { try box.run("encrypt", "--remove-source", "a", environment: Self.key) }
        try shell("mkdir start && cp -p a* start/")
        var (killed, continued) = (0, 0)
        for call in ["fsync", "linkat", "unlinkat", "fcntl"] {
            for number in 1...40 {
                try shell("rm -f a a.vault && cp -p start/* .")
                let inject = "-f -qq -o trace -e trace=\(call) -e inject=\(call):signal=KILL:when=\(number)"
                let outcome = try box.start(
                    [Array(verb.utf8), Array("--remove-source".utf8), Array(input.utf8)],
                    command: "exec strace \(inject) \"$@\"", environment: Self.key
                ).end()
                guard outcome.ending != .status(0) else { break }
                killed += 1
                let stays = box.bytes(input) != nil
                if stays, box.bytes(output) != nil { continued += 1 }
                let again = try box.run(verb, "--remove-source", input, environment: Self.key)
                #expect(again.ending == .status(stays ? 0 : 66), "\(call) \(number): \(again.errors)")
                #expect(box.bytes(input) == nil && box.bytes(output) != nil, "\(call) \(number)")
                let opened = try box.run("decrypt", "-o", "-", "a.vault", environment: Self.key).text
                #expect((verb == "decrypt" ? box.text("a") : opened) == "contents", "\(call) \(number)")
            }
        }
        #expect(killed > 6 && continued > 1)
    }
    #endif

    @Test(
        "after a run that ended between its output and the removal, the next one removes the input",
        arguments: [
            [], ["--digest", "--compress", "deflate"], ["--no-metadata"], ["--context", "c"],
            ["--chunk-size", "4K", "--header-capacity", "8K"], ["--key-file", "key", "--key-file", "key"],
        ])
    func continues(_ options: [String]) throws {
        try box.makeKey()
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.run((["encrypt"] + options + words).map { Array($0.utf8) }, environment: Self.key)
        }
        #expect(try run("a").ending == .status(0))
        let outcome = try run("--json", "--remove-source", "a")
        #expect(outcome.ending == .status(0) && outcome.text.contains("\"output\":\"a.vault\""), "\(outcome.errors)")
        #expect(outcome.text.contains("\"length\":8"))
        #expect(try box.names() == ["a.vault", "key"])
    }

    @Test(
        "an output that is not what this run would make is not taken for it",
        arguments: [
            // The input is another one by now.
            "printf contentz >a", "printf more >>a", "touch -d 2001-02-03 a", "chmod 600 a",
            // The container is damaged, incomplete or another one.
            "truncate -s -1 a.vault", "printf x | dd of=a.vault conv=notrunc bs=1 seek=600", "cp a a.vault",
            "cp a b; $V encrypt -f -o a.vault b", "$V rotate --add file:other a.vault",
            "$V encrypt -f --digest a", "$V encrypt -f --compress deflate a", "$V encrypt -f --chunk-size 4K a",
            "$V encrypt -f --key-file other a", "$V encrypt -f --context c a", "$V encrypt -f --no-metadata a",
            "rm a.vault; mkdir a.vault", "rm a.vault; ln -s nowhere a.vault",
        ])
    func isAnother(_ script: String) throws {
        try box.makeKey()
        try box.makeKey("other")
        try box.write("a", String(repeating: "contents", count: 1000))
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        try shell("export VAULTFILE_KEY_FILE=key V='\(try Sandbox.binary())'; \(script)")
        let before = box.bytes("a")
        let outcome = try box.run("encrypt", "--remove-source", "a", environment: Self.key)
        #expect(outcome.ending == .status(73), "\(outcome.errors)")
        #expect(before != nil && box.bytes("a") == before)
    }

    @Test(
        "a container without what this run was told to make stays beside its input",
        arguments: [
            ["--digest"], ["--compress", "deflate"], ["--chunk-size", "4K"], ["--header-capacity", "8K"],
            ["--key-file", "key", "--key-file", "key"],
        ])
    func lacks(_ options: [String]) throws {
        try box.makeKey()
        try box.makeKey("other")
        let keys = ["--key-file", "key"] + (options.contains("key") ? ["--key-file", "other"] : [])
        #expect(try box.run((["encrypt"] + keys + ["a"]).map { Array($0.utf8) }).ending == .status(0))
        let words = ["encrypt", "--remove-source"] + options + ["a"]
        let outcome = try box.run(words.map { Array($0.utf8) }, environment: Self.key)
        #expect(outcome.ending == .status(73) && box.text("a") == "contents", "\(outcome.errors)")
    }

    @Test("both keys of the run have to open it") func everyKey() throws {
        try box.makeKey()
        try box.makeKey("other")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        let both = ["--key-file", "key", "--key-file", "other"]
        let outcome = try box.run((["encrypt"] + both + ["--remove-source", "a"]).map { Array($0.utf8) })
        #expect(outcome.ending == .status(73) && box.bytes("a") != nil)
        #expect(try box.run((["encrypt", "-f"] + both + ["a"]).map { Array($0.utf8) }).ending == .status(0))
        let one = try box.run("encrypt", "--key-file", "other", "--remove-source", "a")
        #expect(one.ending == .status(73) && box.bytes("a") != nil)
        let again = try box.run((["encrypt"] + both + ["--remove-source", "a"]).map { Array($0.utf8) })
        #expect(again.ending == .status(0) && box.bytes("a") == nil)
    }

    @Test(
        "decrypt: the container goes if the plaintext beside it is all of it",
        arguments: [
            (":", Int32(0)), ("printf contentz >a", 73), ("touch -d 2001-02-03 a", 73), ("chmod 600 a", 73),
            ("printf x | dd of=a.vault conv=notrunc bs=1 seek=600", 65), ("cp other key", 77),
        ])
    func decrypting(_ script: String, _ status: Int32) throws {
        try box.makeKey()
        try box.makeKey("other")
        #expect(try box.run("encrypt", "a", environment: Self.key).ending == .status(0))
        try shell(script)
        let outcome = try box.run("decrypt", "--remove-source", "a.vault", environment: Self.key)
        #expect(outcome.ending == .status(status), "\(outcome.errors)")
        #expect((box.bytes("a.vault") == nil) == (status == 0))
        #expect(box.bytes("a")?.count == 8)
    }

    @Test("a file that is overwritten in place while it is read gives a warning", arguments: [false, true])
    func overwritten(_ json: Bool) throws {
        try box.makeKey()
        try box.write(Array("big".utf8), [UInt8](repeating: 1, count: 32 << 20))
        let change = "printf x | dd of=big conv=notrunc bs=1 count=1 2>/dev/null; touch -r ref big"
        let outcome = try box.start(
            ["encrypt", json ? "--json" : "-q", "--key-file", "key", "big"].map { Array($0.utf8) },
            prelude: "touch -r big ref && { (i=0; "
                + "while [ ! -e big.vault ] && [ $((i += 1)) -lt 100000 ]; do \(change); done) & }"
        ).end()
        #expect(outcome.ending == .status(0))
        #expect(outcome.errors.contains("warning: it changed while it was read"))
        #expect(!json || outcome.errors.contains("\"status\":\"warning\""))
        // A file that nobody changes gives none.
        let quiet = try box.run("encrypt", "-f", "--key-file", "key", "a")
        #expect(quiet.ending == .status(0) && quiet.errors == "")
    }
}

private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
