import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// What the program needs from the system, and what it reports if the system refuses.
@Suite struct SystemTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    #if os(Linux)
    @Test("neither core dumps nor threads to be had") func limits() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let command = "grep -Eq '^Max core file size +0 +0 ' /proc/$PPID/limits && cat key"
        #expect(try box.run("encrypt", "--key-command", command, "a").ending == .status(0))
        // Threads need stacks of this size, and this address space has no room for one.
        let outcome = try box.run("verify", "a.vault", prelude: "ulimit -s 8000000 && ulimit -v 4000000")
        #expect(outcome.ending == .status(74))
        #expect(outcome.errors.hasPrefix("vaultfile: start: the system cannot start a thread: "))
    }

    /// A slot without enough memory does not hide one with enough (SLOT-21).
    @Test("no memory to stretch a passphrase") func withoutMemory() throws {
        let box = try Sandbox()
        let forge = try Forge(seed: 970)
        // The slot asks for 2 GiB. Its wrapped key does not matter.
        let cost = Argon2Parameters(passes: 1, memoryKiB: 1 << 21)
        let dear = Slot(
            type: 2, keyID: testKey(9).id, body: cost.encoded + [UInt8](repeating: 7, count: 24 + Slot.wrappedCount))
        let cheap = try forge.slot(testPassphrase("word"))
        try box.write(Array("dear".utf8), forge.container([1], front: forge.header([dear])))
        try box.write(Array("both".utf8), forge.container([1], front: forge.header([dear, cheap])))
        try box.write(Array("word".utf8), Array("word".utf8), mode: .ownerReadWrite)
        let prelude = "ulimit -v 1900000"
        let refused = try box.run("verify", "--passphrase-file", "word", "dear", prelude: prelude)
        // Not 77: with more memory, the passphrase may fit.
        #expect(refused.ending == .status(74), "\(refused.errors)")
        #expect(refused.errors.contains("there is not enough memory to try a passphrase (limitExceeded)"))
        let opened = try box.run("verify", "--passphrase-file", "word", "both", prelude: prelude)
        #expect(opened.ending == .status(0))
    }

    /// The maker of a container chooses how large its chunks are. A lack of memory for them is an error like any other.
    @Test("no memory for chunks") func withoutMemoryForChunks() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 0, count: 32 << 20))
        let large = words("encrypt", "-f", "--key-file", "key", "--chunk-size", "8MiB", "a", "-o")
        #expect(try box.run(large + words("plain")).ending == .status(0))
        #expect(try box.run(large + words("packed", "--compress", "deflate")).ending == .status(0))
        var lines = [large + words("b"), large + words("b", "--compress", "deflate")]
        for name in ["plain", "packed"] {
            lines += [
                words("decrypt", "-f", "--key-file", "key", "-o", "b", name),
                words("verify", "--key-file", "key", name),
            ]
        }
        for line in lines {
            func outcome(_ jobs: String, _ limit: Int) throws -> Sandbox.Outcome {
                try box.run(line + words("--jobs", jobs), prelude: "ulimit -v \(limit)")
            }
            // The least memory that is enough, to half a chunk. With a little less there is none for the last chunk.
            // The system places each run's memory anew, so the same limit may be enough in one run and not in another:
            // the run that is judged is the one that failed in the search.
            var (tooLittle, enough) = (20_000, 400_000)
            var failed: Sandbox.Outcome?
            while enough - tooLittle > 4096 {
                let limit = (enough + tooLittle) / 2
                let found = try outcome("1", limit)
                if found.ending == .status(0) { enough = limit } else { (tooLittle, failed) = (limit, found) }
            }
            let found = try #require(failed)
            #expect(found.ending == .status(74), "\(found.errors)")
            #expect(found.errors.hasSuffix("(memoryUnavailable)\n") && found.errors.split(separator: "\n").count == 1)
            // With many threads, how many get a chunk's memory at once is a matter of time.
            for limit in [enough, 100_000, 200_000] {
                let found = try outcome("16", limit)
                #expect([.status(0), .status(74)].contains(found.ending), "\(found.errors)")
            }
        }
    }
    #endif

    /// Everybody who may read a file may lock it. A nightly `verify` must not hang just when there is damage to report.
    @Test("a lock that is never released") func lockedForEver() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.makeKey("other")
        try box.write("a", "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        var bytes = try #require(box.bytes("a.vault"))
        bytes[100] ^= 1
        try box.write(Array("a.vault".utf8), bytes)
        try box.write(Array("b.vault".utf8), [UInt8](repeating: 7, count: 5000))
        for (name, status) in [("a.vault", Int32(0)), ("b.vault", 65)] {
            let file = try box.lock(name)
            defer { try? file.close() }
            let runs = try ["verify", "inspect", "rotate", "repair", "reencrypt"].map { verb in
                let change = verb == "rotate" ? words("--add", "file:other") : []
                return (verb, try box.start(words(verb, "--key-file", "key") + change + words(name)))
            }
            for (verb, running) in runs {
                let outcome = running.end()
                let expected: Int32 =
                    switch verb {
                    case "verify": 65
                    case "inspect": status
                    case "reencrypt" where status == 65: 65
                    default: 75
                    }
                #expect(outcome.ending == .status(expected), "\(verb): \(outcome.errors)")
                let said = outcome.errors.split(separator: "\n").filter { $0.contains("another program has locked it") }
                #expect(said == ["vaultfile: \(name): another program has locked it; waiting a few seconds at most"])
            }
        }
    }

    @Test("descriptors that were opened not to wait are waited for") func nonblocking() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 1, count: 500_000))
        let container = try #require(
            try box.run("encrypt", "-o", "-", "--key-file", "key", "a").output as [UInt8]?)
        try box.write("b", "contents")
        for (arguments, text) in [
            (words("encrypt", "-f", "--key-file", "-", "b"), try #require(box.bytes("key"))),
            (words("encrypt", "-f", "--passphrase-fd", "0", "b"), Array("secret\n".utf8)),
            (words("decrypt", "-f", "-o", "c", "--key-file", "key"), container),
            (words("encrypt", "-f", "-o", "d", "--key-file", "key"), container),
        ] {
            let (reader, writer) = try pipe(box)
            let running = try box.start(arguments, input: .descriptor(reader))
            try reader.close()
            for part in [text.prefix(5), text.dropFirst(5)] {
                Host.pause(milliseconds: 50)
                try writer.setBlocking()
                _ = try writer.writeAll(part)
            }
            try writer.close()
            let outcome = running.end()
            #expect(outcome.ending == .status(0), "\(outcome.errors)")
        }
        #expect(box.bytes("c") == box.bytes("a"))
        try box.write(Array("a.vault".utf8), container)
        for arguments in [
            words("decrypt", "-o", "-", "--key-file", "key", "a.vault"),
            words("decrypt", "--offset", "0", "--key-file", "key", "a.vault"),
            words("decrypt", "--key-file", "key"),
        ] {
            let (reader, writer) = try pipe(box)
            let command = arguments.count > 3 ? "exec \"$@\" >&0" : "exec 3>&0; cat a.vault | \"$@\" >&3"
            let running = try box.start(arguments, input: .descriptor(writer), command: command)
            try writer.close()
            Host.pause(milliseconds: 50)
            try reader.setBlocking()
            #expect(try reader.readToEnd() == box.bytes("a"))
            #expect(running.end().ending == .status(0))
            try reader.close()
        }
    }

    /// Both ends of a pipe, neither of which waits.
    private func pipe(_ box: Sandbox) throws -> (reader: FileDescriptor, writer: FileDescriptor) {
        try Sandbox.shell("rm -f \"$1\"/pipe", [Array(box.folder.string.utf8)])
        try Host.makePipe(box.path("pipe"))
        let reader = try FileDescriptor.open(box.path("pipe"), .readOnly, options: [.nonBlocking, .closeOnExec])
        let writer = try FileDescriptor.open(box.path("pipe"), .writeOnly, options: [.nonBlocking, .closeOnExec])
        return (reader, writer)
    }

    @Test("what must be a file is no pipe that is waited for; what can come through one is") func pipesAsInputs() throws
    {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        let ring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=unprotected"]
        #expect(try box.run("key", "generate", "--unprotected", environment: ring).ending == .status(0))
        try Host.makePipe(box.path("pipe"))
        for line in [
            "rotate pipe", "rotate --dry-run pipe", "rotate --key-file key --add file:key pipe",
            "rotate --dry-run --key-file key --add file:key pipe", "repair --key-file key pipe",
            "reencrypt --key-file key pipe",
        ] {
            let outcome = try box.start(
                line.split(separator: " ").map { Array($0.utf8) }, command: "exec timeout 60 \"$@\"", environment: ring
            ).end()
            #expect(outcome.ending == .status(66) && outcome.text == "failed\tpipe\n", "\(line): \(outcome.errors)")
            #expect(outcome.errors.contains("vaultfile: pipe: it is not a regular file"), "\(line): \(outcome.errors)")
        }
        // The program opens the pipe first.
        for (line, status) in [("verify --key-file key pipe", Int32(0)), ("inspect pipe", 66)] {
            let late = try box.start(
                line.split(separator: " ").map { Array($0.utf8) },
                command: "{ { sleep 0.1; cat a.vault >pipe; } & } && exec timeout 60 \"$@\"")
            let outcome = late.end()
            #expect(outcome.ending == .status(status), "\(line): \(outcome.errors)")
        }
    }

    @Test("reading leaves no trace: the time of the last access stays") func accessTimes() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        let ring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=unprotected"]
        #expect(try box.run("key", "generate", "--unprotected", environment: ring).ending == .status(0))
        try Host.makeFolder(box.path("d"))
        #expect(try box.run("encrypt", "--key-file", "key", "-o", "d/a.vault", "a").ending == .status(0))
        let files = ["a", "a.vault", "d/a.vault", "key", "ring", "ring.key"]
        let listed = { (script: String) in
            try Sandbox.shell(
                "cd \"$1\" && { \(script); } && stat -c %X \(files.joined(separator: " "))",
                [Array(box.folder.string.utf8)])
        }
        // A time long ago, so that any access would change it.
        let old = try listed("touch -a -d 2001-02-03 \(files.joined(separator: " "))")
        for line in [
            "verify --key-file key a.vault", "inspect a.vault", "key list", "encrypt --key-file key -o - a",
            "decrypt --key-file key -o - a.vault", "rotate a.vault", "rotate --dry-run a.vault",
            "rotate --dry-run --key-file key --add file:key a.vault", "verify --recursive --key-file key d",
        ] {
            let outcome = try box.run(line.split(separator: " ").map { Array($0.utf8) }, environment: ring)
            #expect(outcome.ending == .status(0), "\(line): \(outcome.errors)")
            #expect(try listed(":") == old, "\(line)")
        }
    }

    @Test(
        "standard input has one use, whatever it is called",
        arguments: [
            "encrypt -o x --key-file /dev/stdin -", "encrypt -o x --passphrase-file /dev/fd/0 -",
            "encrypt -o x --key-file - /dev/stdin", "encrypt -o x --key-file /dev/stdin",
            "verify --key-file /dev/fd/0 /dev/stdin", "inspect --key-file - /dev/stdin",
            "decrypt -o x --passphrase-fd 5", "encrypt --passphrase-fd 5 --key-file - a",
            "key show --key-file - --key-file /dev/stdin", "key show --key-file - --unlock passphrase-fd:0",
            "key import - --unlock file:/dev/stdin", "key passphrase --unlock file:- --add passphrase-file:-",
            "key passphrase --unlock file:- --add file:/dev/stdin",
            "key passphrase --remove passphrase-fd:0 --add passphrase-fd:5",
            "rotate --key-file - --add passphrase-file:- a", "verify - -", "encrypt --files-from - --unlock file:-",
        ])
    func standardInput(_ line: String) throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let arguments = line.split(separator: " ").map { Array($0.utf8) }
        for command in ["cat a | { exec 5<&0; \"$@\"; }", "exec <a 5<&0; \"$@\""] {
            let outcome = try box.start(arguments, command: command).end()
            #expect(outcome.ending == .status(64))
            #expect(outcome.errors.hasPrefix("vaultfile: standard input: can have one use, not "))
        }
        #expect(try box.names() == ["a"])
    }

    @Test("a key that is named twice by the same words is read once from standard input") func namedTwice() throws {
        let box = try Sandbox()
        try box.makeKey()
        let shown = try box.run(
            words("key", "show", "--key-file", "-", "--key-file", "-"), input: box.bytes("key"), piped: true)
        #expect(shown.ending == .status(0) && shown.text.split(separator: "\n").count == 2, "\(shown.errors)")
        let ring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=unprotected"]
        let made = try box.run(
            words("key", "generate", "--unlock", "file:-"), input: box.bytes("key"), environment: ring)
        #expect(made.ending == .status(0), "\(made.errors)")
        let same = try box.run(
            words("key", "passphrase", "--unlock", "file:-", "--add", "file:-"), input: box.bytes("key"),
            environment: ring)
        #expect(same.ending == .status(0) && same.text.contains("is unchanged"), "\(same.errors)")
        let refused = try box.run(
            words("key", "passphrase", "--unlock", "file:-", "--add", "passphrase-file:-"), input: box.bytes("key"),
            environment: ring)
        #expect(
            refused.errors == "vaultfile: standard input: can have one use, not --add passphrase-file:- and "
                + "--unlock file:-\n")
    }

    @Test("standard input that nobody uses takes nothing away") func unusedStandardInput() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let outcome = try box.run("encrypt", "--key-file", "key", "--key-file", "key", "a", prelude: "exec <key")
        #expect(outcome.ending == .status(0))
        let device = try box.run("encrypt", "-o", "x", "--key-file", "key", "-", "/dev/null")
        #expect(device.ending == .status(64) && device.errors.contains("one output"))
    }

    #if os(Linux)
    @Test("a result that cannot be written: the work is done, once is said, and the rest goes on") func unreported()
        throws
    {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.write("b", "contents")
        for prelude in ["exec >/dev/full", "exec >&-"] {
            let made = try box.run("key", "generate", "-o", "key", prelude: prelude)
            #expect(made.ending == .status(74))
            #expect(made.errors.contains("was made, but the result cannot be written to standard output: "))
            #expect(made.errors.split(separator: "\n").count == 1)
            #expect(try box.run("key", "show", "--key-file", "key").ending == .status(0))
            let encrypted = try box.run("encrypt", "--json", "--key-file", "key", "a", "none", "b", prelude: prelude)
            #expect(encrypted.ending == .status(74))
            let lines = encrypted.errors.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines[0].contains("was encrypted to a.vault, but the result cannot be written"))
            #expect(lines[1].contains("\"exit\":66") && lines[2].contains("was encrypted to b.vault"))
            let verified = try box.run("verify", "--key-file", "key", "a.vault", "b.vault", prelude: prelude)
            #expect(verified.ending == .status(74))
            #expect(verified.errors.split(separator: "\n").count == 2)
            #expect(verified.errors.hasPrefix("vaultfile: a.vault: is intact, but the result cannot be written"))
            try Sandbox.shell("cd \"$1\" && rm *.vault key", [Array(box.folder.string.utf8)])
        }
    }
    #endif

    @Test("a folder that cannot be synced: the output is in place") func folderSync() throws {
        var calls = SystemCalls()
        let sync = calls.sync
        calls.sync = { descriptor in
            let status = try? FileDescriptor(rawValue: descriptor).stat()
            return status?.type == .directory ? Host.fail(.ioError) : sync(descriptor)
        }
        let failure = try failure(of: calls)
        #expect(failure?.status == .inputOutput)
        #expect(failure?.reason.hasPrefix("is in place and complete, but may not survive a power failure: ") == true)
    }

    @Test("neither hard links nor a rename that replaces nothing: an empty file takes the name first")
    func noExclusiveRename() throws {
        var calls = SystemCalls()
        let open = calls.openAt
        let isNameless = { @Sendable (flags: Int32) in flags & 0o20000000 != 0 }
        calls.openAt = { isNameless($2) ? Host.fail(.notSupported) : open($0, $1, $2, $3) }
        calls.renameExclusiveAt = { _, _, _ in Host.fail(.invalidArgument) }
        calls.linkAt = { _, _, _, _, _ in Host.fail(.notPermitted) }
        #expect(try failure(of: calls) == nil)
    }

    @Test("a key file that others can read, because its file system keeps no modes, gives a warning")
    func keyWithoutMode() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let box = try Sandbox()
            var calls = SystemCalls()
            calls.setPermissions = { file, _ in SystemCalls().setPermissions(file, 0o755) }
            let words = ["key", "generate", "-o", box.path("key").string].map { Array($0.utf8) }
            let verb = try #require(try Program.parse(words) as? any Verb)
            let status = try SystemCalls.$current.withValue(calls) { try verb.execute(on: Console(verb: .keyGenerate)) }
            try #require(status == .done && box.bytes("key") != nil)
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors.contains("warning: others can read this key"), "\(errors)")
        #expect(errors.contains("hint: keep it on another file system"))
    }

    /// The result of a run that writes an output under these calls.
    private func failure(of calls: SystemCalls) throws -> Failure? {
        let box = try Sandbox()
        let path = PathArgument(bytes: Array("\(box.folder)/out".utf8))
        return try SystemCalls.$current.withValue(calls) { () -> Failure? in
            let output = try Outputs().open(.file(OutputPlace(path)), replaces: false)
            do {
                try output.finish(permissions: .ownerReadWrite, modified: nil, synchronize: true)
                return nil
            } catch {
                return Failure(error, about: .text(""))
            }
        }
    }
}

extension FileDescriptor {
    fileprivate func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe read(into: $0) }
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(count)
        }
    }
}
