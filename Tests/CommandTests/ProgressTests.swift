import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// The line of progress: its text, its time, and its place on a terminal. A passphrase for each file makes a run slow
/// enough; it takes 256 MiB, so the tests run one at a time.
@Suite(.serialized) struct ProgressTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A folder `d` with six plaintexts.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try Host.makeFolder(box.path("d"))
        for name in 1...6 { try box.write("d/\(name)", "contents") }
        try box.write("passphrase", "word\n", mode: .ownerReadWrite)
        return box
    }

    // MARK: Text

    @Test func ofInput() {
        let line = { (done: UInt64, total: UInt64?, seconds: Int) in
            ProgressText.ofInput("f", done: done, total: total, worked: .seconds(seconds)).text
        }
        #expect(line(1 << 30, 4 << 30, 10) == "f: 1.0 GiB of 4.0 GiB, 25%, 102.4 MiB/s, 0:30 left")
        #expect(line(5 << 20, nil, 2) == "f: 5.0 MiB, 2.5 MiB/s")
        #expect(line(149, 150, 1).contains("99%"))
        #expect(line(150, 150, 1).contains("100%"))
        let late = ProgressText.ofInput("f", done: 3 << 20, since: 1 << 20, total: nil, worked: .seconds(1)).text
        #expect(late == "f: 3.0 MiB, 2.0 MiB/s")
        #expect(line(0, 1000, 2) == "f: 0 B of 1000 B, 0%, 0 B/s")
        #expect(line(1 << 20, 1 << 40, 1).hasSuffix("291:16:15 left"))
    }

    @Test("where there is little room, the rate goes first, and the line never wraps") func narrow() {
        let ofInput = { (name: String, columns: Int) in
            ProgressText.ofInput(
                name, done: 1 << 30, total: 4 << 30, worked: .seconds(10), columns: columns, ellipsis: "...")
        }
        #expect(ofInput("f", 50).text == "f: 1.0 GiB of 4.0 GiB, 25%, 102.4 MiB/s, 0:30 left")
        #expect(ofInput("f", 39).text == "f: 1.0 GiB of 4.0 GiB, 25%, 0:30 left")
        #expect(ofInput("folder/name", 39).text == ".../name: 1.0 GiB of 4.0 GiB, 0:30 left")
        let run = ProgressText.Run(
            files: 12, totalFiles: 340, bytes: 1 << 30, totalBytes: 40 << 30, processed: 1 << 30,
            name: "photos/2026/IMG_2034.jpg")
        let ofRun = { (columns: Int) in
            ProgressText.ofRun(run, worked: .seconds(10), columns: columns, ellipsis: "...")
        }
        #expect(ofRun(79).text == "12/340 files, 1.0/40.0 GiB, 102.4 MiB/s, 6:30 left, photos/2026/IMG_2034.jpg")
        #expect(ofRun(60).text == "12/340 files, 1.0/40.0 GiB, 102.4 MiB/s, 6:30 left, ...4.jpg")
        #expect(ofRun(59).text == "12/340 files, 1.0/40.0 GiB, 6:30 left, ...2026/IMG_2034.jpg")
        #expect(ofRun(47).text == "12/340 files, 1.0/40.0 GiB, 6:30 left, ...4.jpg")
        #expect(ofRun(39).text == "12/340 files, 1.0/40.0 GiB, 6:30 left")
        #expect(ofRun(30).text == "12/340 files, 6:30 left")
        #expect(ofRun(15).text == "12/340 files")
        for columns in 1...90 {
            for name in ["short", String(repeating: "long", count: 30), String(repeating: "文", count: 30)] {
                var run = run
                run.name = name
                for line in [
                    ofInput(name, columns),
                    ProgressText.ofRun(run, worked: .seconds(10), columns: columns, ellipsis: "..."),
                ] {
                    let width = line.text.unicodeScalars.reduce(0) { $0 + ($1 == "文" ? 2 : 1) }
                    #expect(width == line.width && (width <= columns || columns < 3), "\(columns): \(line.text)")
                }
            }
        }
    }

    @Test("what is not counted yet is left out, and what needs no bytes has files each second") func parts() {
        var run = ProgressText.Run(files: 1, bytes: 30, processed: 30, name: "d/2")
        #expect(ProgressText.ofRun(run, worked: .seconds(1)).text == "1 file, 30 B, 30 B/s, d/2")
        // Files that needed no work are done, and do not make the rate higher.
        run = ProgressText.Run(
            files: 50, totalFiles: 100, bytes: 5 << 30, totalBytes: 10 << 30, processed: 1 << 20, name: "d/51")
        #expect(
            ProgressText.ofRun(run, worked: .seconds(2)).text
                == "50/100 files, 5.0/10.0 GiB, 512.0 KiB/s, 0:02 left, d/51")
        run = ProgressText.Run(files: 50, totalFiles: 100, name: "d/51")
        #expect(ProgressText.ofRun(run, worked: .seconds(2)).text == "50/100 files, 25 files/s, 0:02 left, d/51")
        run = ProgressText.Run(files: 5, totalFiles: 3, bytes: 9, totalBytes: 7)
        #expect(ProgressText.ofRun(run, worked: .seconds(1)).text == "5/5 files, 9/9 B, 0 B/s")
    }

    @Test func ellipsis() {
        func ellipsis(_ variables: [String: String]) -> String {
            ProgressText.ellipsis { variables[$0].map { Array($0.utf8) } }
        }
        #expect(ellipsis([:]) == "..." && ellipsis(["LANG": "C"]) == "...")
        #expect(
            ellipsis(["LANG": "de_DE.UTF-8"]) == "\u{2026}" && ellipsis(["LC_ALL": "", "LANG": "C.utf8"]) == "\u{2026}")
        #expect(ellipsis(["LC_ALL": "C", "LANG": "de_DE.UTF-8"]) == "...")
    }

    // MARK: Time

    @Test("the time in which the process is stopped does not count, however late that is noticed") func stopped() {
        let start = ContinuousClock.now
        var clock = WorkClock(at: start, stops: 0)
        clock.look(at: start + .milliseconds(300), stops: 0)
        #expect(clock.worked == .milliseconds(300))
        // Stopped for a minute. The first look comes before the signal is noticed.
        clock.look(at: start + .milliseconds(60_300), stops: 0)
        #expect(clock.worked == .milliseconds(300))
        clock.look(at: start + .milliseconds(60_310), stops: 1)
        clock.look(at: start + .milliseconds(60_410), stops: 1)
        #expect(clock.worked == .milliseconds(400))
        // Noticed at once.
        clock.look(at: start + .milliseconds(90_410), stops: 2)
        clock.look(at: start + .milliseconds(90_510), stops: 2)
        #expect(clock.worked == .milliseconds(500))
        // A wait for a slow disk is work.
        clock.look(at: start + .milliseconds(93_510), stops: 2)
        clock.look(at: start + .milliseconds(93_520), stops: 2)
        #expect(clock.worked == .milliseconds(3510))
    }

    // MARK: On a terminal

    /// Encrypts the folder on a terminal.
    private func encrypt(
        _ box: Sandbox, on terminal: PseudoTerminal, environment: [String] = [], suffix: String = ""
    ) throws -> Sandbox.Running {
        try box.start(
            words("encrypt", "--recursive", "--jobs", "1", "--passphrase-file", "passphrase", "d"),
            command: suffix.isEmpty ? "exec \"$@\"" : "\"$@\"\(suffix)", environment: environment, terminal: terminal,
            errorsToTerminal: true)
    }

    @Test("one line for all files, below their results") func below() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let running = try encrypt(box, on: terminal, environment: ["TERM=xterm"])
        _ = try terminal.expect("/6 files, ")
        // A result is written where the line was, and the line below it.
        _ = try terminal.expect("\r\u{1B}[Kd/6 -> d/6.vault\r\n")
        let last = try terminal.expect("vaultfile: encrypt: 6 encrypted, 48 bytes")
        #expect(last.hasPrefix("6/6 files, ") || last.hasPrefix("5/6 files, "), "\(last)")
        #expect(last.contains("\r\u{1B}[K"))
        #expect(running.end().ending == .status(0))
        // Also if the results go to a file, and for a verb that is not about bytes.
        let verify = try box.start(
            words("verify", "--jobs", "1", "--passphrase-file", "passphrase")
                + (1...6).map { Array("d/\($0).vault".utf8) }, environment: ["TERM=xterm"], terminal: terminal,
            errorsToTerminal: true)
        _ = try terminal.expect("/6 files, ")
        _ = try terminal.expect("\r\u{1B}[K")
        let verified = verify.end()
        #expect(verified.ending == .status(0))
        #expect(verified.text == (1...6).map { "d/\($0).vault: intact\n" }.joined())
    }

    @Test("key destroy --scan shows how many containers it has looked at") func scan() throws {
        let box = try Sandbox()
        for name in ["key", "unlocker"] { try box.makeKey(name) }
        try box.write("a", "contents")
        let keyring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:unlocker", "TERM=xterm"]
        try box.run("key", "generate", "--name", "one", environment: keyring)
        try Host.makeFolder(box.path("d"))
        try box.run("encrypt", "--no-sync", "--key-file", "key", "-o", "d/0.vault", "a")
        let container = try #require(box.bytes("d/0.vault"))
        for name in 1...3 { try box.write(Array("d/\(name).vault".utf8), container) }
        // The front is damaged and the file is locked, so the scan waits two seconds before it reads the tail.
        var damaged = container
        damaged[100] ^= 1
        try box.write(Array("d/2.vault".utf8), damaged)
        let file = try box.lock("d/2.vault")
        defer { try? file.close() }
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("key", "destroy", "--scan", "d", "one"), environment: keyring, terminal: terminal,
            errorsToTerminal: true)
        let seen = try terminal.expect(" files/s")
        #expect(!seen.contains("one: key"))
        _ = try terminal.expect("\r\u{1B}[K")
        _ = try terminal.expect("one: 4 containers scanned: 0 open with this key")
        _ = try terminal.expect("Type yes to do it: ")
        try terminal.type("no\n")
        #expect(running.end().ending == .status(64))
    }

    @Test("no escape sequences on a dumb terminal") func dumb() throws {
        for environment in [["TERM=dumb"], ["TERM="]] {
            let box = try prepared()
            let terminal = try PseudoTerminal()
            let running = try encrypt(box, on: terminal, environment: environment, suffix: "; echo end >&2")
            let seen = try terminal.expect("\r\nend")
            #expect(!seen.contains("\u{1B}") && seen.contains("/6 files, "), "\(seen)")
            // The line is covered by spaces.
            #expect(seen.contains(" \rd/6 -> d/6.vault\r\n"), "\(seen)")
            #expect(running.end().ending == .status(0))
        }
    }

    @Test("an interruption says how many are done, and the same command continues") func interrupted() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let running = try encrypt(box, on: terminal, environment: ["TERM=xterm"])
        _ = try terminal.expect("d/2 -> d/2.vault\r\n")
        try terminal.type("\u{3}")
        let seen = try terminal.expect("; the same command continues\r\n")
        #expect(running.end().ending == .signal(Host.sigInt))
        let done = try box.shellList("d").filter { $0.hasSuffix(".vault") }.count
        #expect((2...6).contains(done))
        // The last container may have got its name without being counted.
        let counts = [done - 1, done].map { "vaultfile: encrypt: interrupted: \($0) encrypted, " }
        #expect(counts.contains { seen.contains($0) }, "\(seen)")
        let rest = try box.run("encrypt", "--recursive", "--passphrase-file", "passphrase", "d")
        #expect(rest.errors.hasPrefix("vaultfile: encrypt: \(6 - done) encrypted, \(done) encrypted before, "))
    }

    @Test("what the same command does after an interruption depends on the verb") func resumption() throws {
        let box = try prepared()
        try box.makeKey()
        try box.run("encrypt", "--recursive", "--key-file", "key", "d")
        try Host.makePipe(box.path("list"))
        for (verb, text) in [
            ("verify", "begins again"), ("rotate --add file:key", "continues"), ("encrypt -f", "begins again"),
            ("decrypt", "does the rest, and reports the files that exist"), ("decrypt -f", "begins again"),
        ] {
            let words = verb.split(separator: " ").map { Array($0.utf8) }
            let running = try box.start(words + self.words("--key-file", "key", "--files-from", "list"))
            let list = try FileDescriptor.open(box.path("list"), .writeOnly, options: .closeOnExec)
            // The run waits for the next name.
            Host.pause(milliseconds: 300)
            running.child.send(Host.sigTerm)
            let outcome = running.end()
            try list.close()
            #expect(outcome.ending == .signal(Host.sigTerm))
            let name = words[0].map { String(UnicodeScalar($0)) }.joined()
            #expect(
                outcome.errors == "vaultfile: \(name): interrupted: nothing done yet; the same command \(text)\n")
        }
        let quiet = try box.start(words("verify", "-q", "--key-file", "key", "--files-from", "list"))
        let list = try FileDescriptor.open(box.path("list"), .writeOnly, options: .closeOnExec)
        Host.pause(milliseconds: 300)
        quiet.child.send(Host.sigTerm)
        #expect(quiet.end().errors == "")
        try list.close()
    }
}

extension Sandbox {
    /// The names in a folder.
    fileprivate func shellList(_ name: String) throws -> [String] {
        try Self.shell("ls -A \"$1\"", [Array(path(name).string.utf8)]).split(separator: "\n").map(String.init)
    }
}
