import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// What an output file refuses before anything is written, with the right reason.
@Suite struct OutputFileRefusals {
    private let folder: TemporaryFolder
    private let old = [UInt8]("what stood there".utf8)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func error(_ body: () throws -> Void) throws -> VaultError? {
        do {
            try body()
            return nil
        } catch let error as VaultError {
            return error
        }
    }

    @Test("what has the name in an open folder is refused at once") func openFolder() throws {
        let open = try FileDescriptor.open(folder.path, .readOnly)
        defer { try? open.close() }
        try folder.write(old, to: "file")
        try folder.makeFolder("inner")
        try folder.makeLink("link", to: "file")
        let code = { (name: String, isReplacing: Bool) in
            try error { _ = try OutputFile(at: .name(FilePath(name), in: open), replacing: isReplacing) }?.code
        }
        for name in ["file", "inner", "link"] { #expect(try code(name, false) == .outputExists, "\(name)") }
        for name in ["inner", "link"] { #expect(try code(name, true) == .outputNotReplaceable, "\(name)") }
        #expect(try code("file", true) == nil && code("new", false) == nil)
        #expect(try folder.names == ["file", "inner", "link"] && folder.read("file") == old)
    }

    @Test("a link that is exchanged while it is followed is refused") func exchangedLink() throws {
        try folder.write(old, to: "file")
        try folder.write(old, to: "other")
        try folder.makeLink("link", to: "file")
        let isExchanged = Mutex(false)
        let (folder, target) = (folder, "other")
        let faults = Faults { call in
            guard call.name == "readLink", isExchanged.withLock({ !exchange(&$0, with: true) }) else { return nil }
            let done: Void? = try? {
                try folder.remove("link"); try folder.makeLink("link", to: target)
            }()
            return done == nil ? Errno.ioError.rawValue : nil
        }
        let refused = try faults.during { try error { _ = try OutputFile(at: folder["link"], replacing: true) } }
        #expect(refused?.code == .outputNotReplaceable && isExchanged.withLock { $0 })
    }

    @Test("a link that cannot be followed is not called exchanged") func unreadableLink() throws {
        try folder.write(old, to: "file")
        try folder.makeLink("link", to: "file")
        for (failure, code) in [
            (Errno.ioError, VaultError.Code.outputFailed), (.noSuchFileOrDirectory, .outputNotReplaceable),
        ] {
            let faults = Faults { $0.name == "readLink" ? failure.rawValue : nil }
            let refused = try faults.during { try error { _ = try OutputFile(at: folder["link"], replacing: true) } }
            #expect(refused?.code == code, "\(failure)")
        }
    }

    @Test("without /proc a file gets a name at once, and nothing stays open", arguments: [false, true])
    func withoutProc(isReplacing: Bool) throws {
        if isReplacing { try folder.write(old, to: "out") }
        var calls = SystemCalls()
        let statusAt = calls.statusAt
        calls.statusAt = { folder, path, follows in
            path.string.hasPrefix("/proc/") ? .failure(.noSuchFileOrDirectory) : statusAt(folder, path, follows)
        }
        let linkAt = calls.linkAt
        calls.linkAt = { from, path, folder, name, flags in
            if path.string.hasPrefix("/proc/") { Issue.record("it uses /proc") }
            return linkAt(from, path, folder, name, flags)
        }
        let faults = Faults { _ in nil }
        try SystemCalls.$current.withValue(calls) {
            try faults.during {
                let file = try OutputFile(at: folder["out"], replacing: isReplacing)
                try file.write(old.span)
                try file.commit()
            }
        }
        #expect(faults.leftOpen.isEmpty)
        #expect(try folder.names == ["out"] && folder.read("out") == old)
    }

    /// The end of the process would remove what has the name by then.
    @Test("no record is left of a file that has got its name, or could not get it", arguments: [nil, Errno.ioError])
    func records(failure: Errno?) throws {
        try folder.write(old, to: "out")
        let names = Mutex<Set<FilePath>>([])
        let faults = Faults { call in call.name == "linkAt" ? failure?.rawValue : nil }
        let refused = try faults.during {
            var calls = SystemCalls.current
            let linkAt = calls.linkAt
            calls.linkAt = { from, path, folder, name, flags in
                names.withLock { _ = $0.insert(name) }
                return linkAt(from, path, folder, name, flags)
            }
            return try SystemCalls.$current.withValue(calls) {
                try error { try OutputFile(at: folder["out"], replacing: true).commit() }
            }
        }
        #expect(refused?.systemError == failure)
        let made = names.withLock { $0 }
        #if os(Linux)
        #expect(made.count == 1)
        #endif
        #expect(made.isDisjoint(with: UnfinishedFiles.names))
    }
}
