import FoundationEssentials
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// Signals during the work.
@Suite struct SignalTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A run that has read much of its input and waits for more.
    private func half(_ box: Sandbox, _ arguments: [[UInt8]], prelude: String = ":") throws -> (
        Sandbox.Running, FileDescriptor
    ) {
        try Host.makePipe(box.path("pipe"))
        let running = try box.start(arguments, prelude: prelude, command: "exec \"$@\" <pipe")
        let writer = try FileDescriptor.open(box.path("pipe"), .writeOnly, options: .closeOnExec)
        // This is more than a pipe holds, so the program has begun to read when this returns.
        _ = try writer.writeAll([UInt8](repeating: 9, count: 1_000_000))
        return (running, writer)
    }

    @Test(
        "nothing is left behind, and what stood there is untouched",
        arguments: [Host.sigHup, Host.sigInt, Host.sigTerm])
    func ended(_ number: Int32) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("out", "old")
        let (running, writer) = try half(box, words("encrypt", "-f", "-o", "out", "--key-file", "key", "-"))
        running.child.send(number)
        #expect(running.end().ending == .signal(number))
        try writer.close()
        #expect(try box.names() == ["key", "out", "pipe"])
        #expect(box.text("out") == "old")
    }

    @Test("a crash shows no memory, and ends the program", arguments: Host.crashes + [Host.sigQuit])
    func crashed(_ number: Int32) throws {
        let box = try Sandbox()
        try box.makeKey()
        let (running, writer) = try half(box, words("encrypt", "-o", "out", "--key-file", "key", "-"))
        running.child.send(number)
        let end = running.end()
        #expect(end.ending == .signal(number) && end.errors == "" && end.output.isEmpty, "\(end.errors.prefix(200))")
        try writer.close()
    }

    @Test("a signal that was ignored at the start stays so") func ignored() throws {
        let box = try Sandbox()
        try box.makeKey()
        let (running, writer) = try half(
            box, words("encrypt", "-o", "out", "--key-file", "key", "-"), prelude: "trap '' HUP")
        running.child.send(Host.sigHup)
        Host.pause(milliseconds: 100)
        try writer.close()
        #expect(running.end().ending == .status(0))
        #expect(try box.run("verify", "--key-file", "key", "out").ending == .status(0))
    }

    @Test("temporary names are removed, and the process ends by the signal") func undo() async throws {
        let path = Host.sharedPath(isChild: false)
        await #expect(processExitsWith: .signal(Host.sigTerm)) {
            let named = Faults { $0.name == "openNameless" ? Errno.notSupported.rawValue : nil }
            let folder = Host.sharedPath(isChild: true)
            try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
            try named.during {
                let file = try OutputFile(at: folder.appending("out"))
                try file.write([1].span)
                guard UnfinishedFiles.names.count == 1 else { return }
                Signals.end(by: Host.sigTerm)
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path.string).isEmpty)
        try FileManager.default.removeItem(atPath: path.string)
    }

    @Test("a closed pipe ends silently, as that signal") func closedPipe() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 1, count: 2_000_000))
        try box.run("encrypt", "--key-file", "key", "a")
        for arguments in [
            words("encrypt", "-o", "-", "--key-file", "key", "a"),
            words("decrypt", "-o", "-", "--key-file", "key", "a.vault"),
            words("decrypt", "--offset", "5", "--key-file", "key", "a.vault"),
        ] {
            let running = try box.start(arguments, command: "{ \"$@\"; echo $? >status; } | head -c 10 >/dev/null")
            #expect(running.end().errors == "")
            #expect(box.text("status") == "\(128 + Host.sigPipe)\n")
        }
        // If the signal was ignored, a closed pipe is an error like any other.
        let ignored = try box.start(
            words("decrypt", "-o", "-", "--key-file", "key", "a.vault"), prelude: "trap '' PIPE",
            command: "{ \"$@\"; echo $? >status; } | head -c 10 >/dev/null")
        #expect(ignored.end().errors.contains("roken pipe"))
        #expect(box.text("status") == "74\n")
        #expect(try box.names() == ["a", "a.vault", "key", "status"])
    }

    @Test("closed standard descriptors are never written into a file") func closedDescriptors() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        for prelude in ["exec 2>&-", "exec <&- 2>&-", "exec <&- >&- 2>&-"] {
            let outcome = try box.run("encrypt", "-v", "-f", "--key-file", "key", "a", prelude: prelude)
            #expect(outcome.ending == .status(0))
            #expect(try box.run("verify", "--key-file", "key", "a.vault").ending == .status(0))
        }
        let output = try box.run("encrypt", "-o", "-", "--key-file", "key", "a", prelude: "exec >&-")
        #expect(output.ending == .status(74))
    }
}
