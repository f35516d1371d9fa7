internal import CPlatform
import SystemPackage
import Testing
import VaultFile
import VaultSystem
import VaultTestSupport

/// Temporary names on a file system that hangs: no other file and no end of the process waits for it.
@Suite struct UnfinishedFilesTests {
    /// A file whose temporary name is being given to it, or taken away, by a call that does not return.
    private static func hang(in call: String, at path: FilePath) throws {
        let isReached = Monitor(false)
        try Thread.start {
            let faults = Faults { made in
                guard made.name == call else { return made.name == "openNameless" ? Errno.notSupported.rawValue : nil }
                isReached.withLock { $0 = true }
                while true { pause() }
            }
            faults.during { _ = try? write(to: path) }
        }
        isReached.wait { $0 ? () : nil }
    }

    private static func write(to path: FilePath) throws {
        let file = try OutputFile(at: path, replacing: true)
        try file.write([1, 2, 3].span)
        try file.commit()
    }

    private static func soon(_ isDone: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(20)
        while !isDone(), ContinuousClock.now < end { usleep(5000) }
        return isDone()
    }

    @Test("a rename that hangs stops no commit") func hangingRename() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            try Self.hang(in: "renameAt", at: folder["hanging"])
            let isDone = Monitor(false)
            try Thread.start {
                try? Self.write(to: folder["other"])
                isDone.withLock { $0 = true }
            }
            guard Self.soon({ isDone.look { $0 } }), try folder.read("other") == [1, 2, 3] else { exit(1) }
            exit(0)
        }
    }

    @Test("unfinished files are removed without waiting for calls that hang") func endOfProcess() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            try Self.hang(in: "renameAt", at: folder["hanging"])
            let named = Faults { $0.name == "openNameless" ? Errno.notSupported.rawValue : nil }
            for name in ["one", "two"] {
                let isMade = Monitor(false)
                try Thread.start {
                    named.during {
                        guard let file = try? OutputFile(at: folder[name]) else { exit(3) }
                        isMade.withLock { $0 = true }
                        while file.descriptor.rawValue >= 0 { pause() }
                    }
                }
                isMade.wait { $0 ? () : nil }
            }
            guard try folder.names.count == 3 else { exit(1) }
            // The first removal hangs too.
            let start = ContinuousClock.now
            let hanging = Faults { call in
                while call.name == "unlinkAt", call.number == 0 { pause() }
                return nil
            }
            hanging.during { UnfinishedFiles.removeAll(within: .milliseconds(400)) }
            guard ContinuousClock.now - start < .seconds(10), try folder.names.count == 2 else { exit(2) }
            exit(0)
        }
    }

    @Test("no file gets a name after removal of all unfinished files has begun") func afterEnd() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let named = Faults { $0.name == "openNameless" ? Errno.notSupported.rawValue : nil }
            let isWritten = Monitor(false)
            UnfinishedFiles.removeAll()
            try Thread.start {
                named.during { try? Self.write(to: folder["late"]) }
                isWritten.withLock { $0 = true }
            }
            usleep(200_000)
            guard try folder.names.isEmpty, !isWritten.look({ $0 }) else { exit(1) }
            exit(0)
        }
    }
}
