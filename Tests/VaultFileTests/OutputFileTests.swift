import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// An output file appears completely or not at all; on systems with and without files that have no name yet.
@Suite struct OutputFileTests {
    /// How the system makes the temporary file.
    enum Way: CaseIterable, Sendable {
        case nameless
        case named
        /// With a name, and without a rename that refuses to replace.
        case linked
        /// Like `linked`, and without hard links, as on exFAT.
        case claimed

        func during<R>(_ body: () throws -> R) rethrows -> R {
            let way = self
            let faults = Faults { call in
                switch (way, call.name) {
                case (.named, "openNameless"), (.linked, "openNameless"), (.claimed, "openNameless"):
                    Errno.notSupported.rawValue
                case (.linked, "renameExclusiveAt"): Errno.noFunction.rawValue
                case (.claimed, "renameExclusiveAt"): Errno.invalidArgument.rawValue
                case (.claimed, "linkAt"): Errno.notPermitted.rawValue
                default: nil
                }
            }
            return try faults.during(body)
        }
    }

    private let folder: TemporaryFolder
    private let old = [UInt8]("what stood there".utf8)
    private let new = [UInt8]("what is new".utf8)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func put(_ path: FilePath, replacing: Bool = false, permissions: FilePermissions = .ownerReadWrite) throws {
        let file = try OutputFile(at: path, replacing: replacing)
        try file.write(new.span)
        try file.commit(permissions: permissions)
    }

    private func code(_ body: () throws -> Void) throws -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch let error as VaultError {
            return error.code
        }
    }

    @Test("if the temporary name cannot be removed, the file has no name after the error") func temporaryNameStays()
        throws
    {
        let failed = Mutex(false)
        let once = Faults { call in
            guard call.name == "unlinkAt" else { return nil }
            return failed.withLock { failed in
                defer { failed = true }
                return failed ? nil : Errno.ioError.rawValue
            }
        }
        let error = once.during {
            Way.linked.during { #expect(throws: VaultError.self) { try put(folder["new"]) } }
        }
        #expect(error?.code == .outputFailed)
        #expect(failed.withLock { $0 })
        #expect(try folder.names == [])
    }

    @Test(arguments: Way.allCases, [false, true]) func appears(_ way: Way, replacing: Bool) throws {
        try way.during {
            let file = try OutputFile(at: folder["new"], replacing: replacing)
            let here = try UnfinishedFiles.names.filter { try folder.names.contains($0.string) }
            #expect(here.isEmpty == (way == .nameless))
            #expect(try folder.names.filter { !$0.hasPrefix(".vaultfile-") }.isEmpty)
            #expect(try folder.names.count == (way == .nameless ? 0 : 1))
            try file.write(new.span.extracting(0..<3))
            try file.write(new.span.extracting(3..<new.count))
            try file.commit()
        }
        #expect(try folder.names == ["new"])
        #expect(try folder.read("new") == new)
        #expect(try Stat(folder["new"]).permissions == .ownerReadWrite)
    }

    @Test(arguments: Way.allCases, [false, true]) func dropped(_ way: Way, replacing: Bool) throws {
        try folder.write(old, to: "there")
        try way.during {
            let path = folder[replacing ? "there" : "new"]
            let file = try OutputFile(at: path, replacing: replacing)
            try file.write(new.span)
        }
        #expect(try folder.names == ["there"])
        #expect(try folder.read("there") == old)
    }

    @Test(arguments: Way.allCases) func exists(_ way: Way) throws {
        try folder.write(old, to: "there")
        try way.during {
            // Before anything is written.
            #expect(try code { _ = try OutputFile(at: folder["there"]) } == .outputExists)
            #expect(try folder.read("there") == old)
            try put(folder["there"], replacing: true)
        }
        #expect(try folder.read("there") == new && folder.names == ["there"])
    }

    /// A file appears under the name during the writing.
    @Test(arguments: Way.allCases) func comesToExist(_ way: Way) throws {
        try way.during {
            let file = try OutputFile(at: folder["new"])
            try file.write(new.span)
            try folder.write(old, to: "new")
            do throws(VaultError) {
                try file.commit()
                Issue.record("it replaced what was not to be replaced")
            } catch {
                #expect(error.code == .outputExists)
            }
        }
        #expect(try folder.names == ["new"] && folder.read("new") == old)
    }

    @Test(arguments: Way.allCases) func permissionsAndTime(_ way: Way) throws {
        let time = try #require(Timestamp(seconds: 1_000_000_007, nanoseconds: 123_456_789))
        let before = try #require(Timestamp(seconds: -3, nanoseconds: 5))
        let modes: [FilePermissions] = [[.ownerRead], .ownerReadWrite, [.ownerReadWrite, .groupRead, .otherRead]]
        for (index, mode) in modes.enumerated() {
            for (name, time) in [("a\(index)", time), ("b\(index)", before)] {
                try way.during {
                    let file = try OutputFile(at: folder[name])
                    try file.write(new.span)
                    try file.commit(permissions: mode, modified: time, synchronize: index == 0)
                }
                #expect(try Stat(folder[name]).permissions == mode)
                #expect(try folder.modified(name) == time)
            }
        }
    }

    /// Without `synchronize` nothing is synced; with it the file, then its folder.
    @Test(arguments: [false, true]) func synchronizing(_ synchronize: Bool) throws {
        let faults = Faults { _ in nil }
        try faults.during {
            let file = try OutputFile(at: folder["new"])
            try file.write(new.span)
            try file.commit(synchronize: synchronize)
        }
        let names = faults.calls.map(\.name)
        #expect(names.filter { $0 == "sync" }.count == (synchronize ? 2 : 0))
        if synchronize {
            let (first, last) = (try #require(names.firstIndex(of: "sync")), try #require(names.lastIndex(of: "sync")))
            let named = try #require(names.firstIndex { $0 == "linkAt" || $0.hasPrefix("rename") })
            #expect(names[..<first].contains("write") && first < named && named < last)
        }
    }

    // MARK: What exists at the target

    /// Links are followed to the file that is replaced, and stay.
    @Test(arguments: Way.allCases) func links(_ way: Way) throws {
        try folder.makeFolder("inner")
        try folder.write(old, to: "inner/target")
        try folder.makeLink("relative", to: "inner/target")
        try folder.makeLink("absolute", to: folder["inner/target"].string)
        try folder.makeLink("chain", to: "relative")
        for link in ["relative", "absolute", "chain"] {
            try folder.write(old, to: "inner/target")
            try way.during {
                #expect(try code { try put(folder[link]) } == .outputExists)
                #expect(try folder.read("inner/target") == old)
                try put(folder[link], replacing: true)
            }
            #expect(try Stat(folder[link], followTargetSymlink: false).type == .symbolicLink)
            #expect(try folder.read("inner/target") == new)
            #expect(try folder.read(link) == new)
        }
        #expect(try folder.names == ["absolute", "chain", "inner", "relative"])
    }

    /// A link that leads nowhere, or in a circle, counts as an existing file.
    @Test(arguments: [false, true]) func linksToNothing(replacing: Bool) throws {
        let refusal: VaultError.Code = replacing ? .outputNotReplaceable : .outputExists
        try folder.makeLink("dangling", to: "nothing")
        try folder.makeLink("circle", to: "circle")
        try folder.makeLink("away", to: "/nonexistent/file")
        for link in ["dangling", "circle", "away"] {
            #expect(try code { try put(folder[link], replacing: replacing) } == refusal)
        }
        #expect(try folder.names == ["away", "circle", "dangling"])
    }

    @Test(arguments: [false, true]) func noRegularFile(replacing: Bool) throws {
        let refusal: VaultError.Code = replacing ? .outputNotReplaceable : .outputExists
        try folder.makeFolder("inner")
        try folder.makeLink("link", to: "inner")
        #expect(try code { try put(folder["inner"], replacing: replacing) } == refusal)
        #expect(try code { try put(folder["link"], replacing: replacing) } == refusal)
        #expect(try code { try put("/dev/null", replacing: replacing) } == refusal)
        #expect(try folder.names == ["inner", "link"])
    }

    @Test(arguments: Way.allCases) func noFolderOrName(_ way: Way) throws {
        try folder.write(old, to: "file")
        try way.during {
            for path in ["missing/new", "file/new", "new/..", "missing/."] {
                let made = try code { try put(folder.path.appending(path)) }
                #expect(made == .outputFailed || made == .outputExists, "\(path)")
            }
            #expect(try code { try put("") } == .outputFailed)
            #expect(try code { try put(folder[String(repeating: "n", count: 300)]) } == .outputFailed)
        }
        #expect(try folder.names == ["file"])
    }

    /// The longest file name still leaves room for a temporary one.
    @Test(arguments: Way.allCases) func longestName(_ way: Way) throws {
        let name = String(repeating: "n", count: 255)
        try way.during { try put(folder[name]) }
        #expect(try folder.names == [name])
    }

    // MARK: File systems without modes and links

    @Test("a mode that cannot be set is no failure, and the caller gets the one that the file has")
    func withoutModes() throws {
        for error in [Errno.notPermitted, .notSupported] {
            let faults = Faults { $0.name == "setPermissions" ? error.rawValue : nil }
            let mode = try faults.during {
                let file = try OutputFile(at: folder["new"], replacing: true)
                try file.write(new.span)
                return try file.commit(permissions: [.ownerReadWrite, .groupRead])
            }
            #expect(mode == .ownerReadWrite)
        }
        // Linux says that it has set the mode, and has not.
        var calls = SystemCalls()
        calls.setPermissions = { file, _ in SystemCalls().setPermissions(file, 0o755) }
        let mode = try SystemCalls.$current.withValue(calls) {
            try OutputFile(at: folder["other"]).commit(permissions: .ownerReadWrite)
        }
        #expect(mode.rawValue == 0o755)
        let kept = try OutputFile(at: folder["third"]).commit(permissions: .ownerRead)
        #expect(kept == .ownerRead)
    }

    @Test("what another program puts under the name, while an empty file holds it, stays") func claimedByAnother()
        throws
    {
        let exchanging = Faults { [folder, old] call in
            guard call.name == "renameAt" else { return nil }
            let isDone: Void? = try? folder.remove("new")
            return isDone == nil || (try? folder.write(old, to: "new")) == nil
                ? Errno.badFileDescriptor.rawValue : Errno.ioError.rawValue
        }
        let error = exchanging.during {
            Way.claimed.during { #expect(throws: VaultError.self) { try put(folder["new"]) } }
        }
        #expect(error?.systemError == .ioError)
        #expect(try folder.names == ["new"] && folder.read("new") == old)
    }

    @Test("key files and keyrings are made on such a file system") func keys() throws {
        try Way.claimed.during {
            let faults = Faults { $0.name == "setPermissions" ? Errno.notPermitted.rawValue : nil }
            try faults.during {
                try testKey(1).write(to: folder["key"])
                #expect(try SymmetricKey.read(from: folder["key"]).id == testKey(1).id)
                let box = try KeyringBox(keys: ["one"])
                try box.generate("two")
                _ = try box.destroy("one")
                #expect(try box.states() == ["one destroyed", "two current"])
            }
        }
        #expect(try folder.names == ["key"])
    }
}
