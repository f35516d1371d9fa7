internal import CPlatform
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultSystem
import VaultTestSupport

/// Unfinished files that a killed program has left: the next run removes them, and nothing else.
@Suite struct LeftoverTests {
    private let folder: TemporaryFolder
    private static let text = [UInt8]("plaintext".utf8)

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Looks into the folder as a run does that writes there.
    @discardableResult
    private func look(_ leftovers: LeftoverFiles = LeftoverFiles()) throws -> [String] {
        let file = try OutputFile(at: folder["other"])
        return leftovers.remove(beside: file).map(\.string).sorted()
    }

    private func put(_ name: String) throws {
        let file = try OutputFile(at: folder[name], replacing: true)
        try file.write(Self.text.span)
        try file.commit()
    }

    /// What a kill leaves before the last call: the file's name stays, and its lock is gone with the process.
    @Test(arguments: OutputFileTests.Way.allCases) func killed(_ way: OutputFileTests.Way) throws {
        try folder.write([1], to: "there")
        let faults = Faults {
            ["renameAt", "unlinkAt"].contains($0.name) ? Errno.ioError.rawValue : nil
        }
        let error = way.during { faults.during { #expect(throws: VaultError.self) { try put("there") } } }
        #expect(error?.code == .outputFailed)
        let left = try #require(try folder.names.first { $0 != "there" })
        #expect(try folder.read(left) == Self.text)
        #expect(try look() == [left])
        #expect(try folder.names == ["there"] && folder.read("there") == [1])
    }

    @Test("the file of a running program stays", arguments: OutputFileTests.Way.allCases)
    func running(_ way: OutputFileTests.Way) throws {
        let removed = Mutex<[FilePath]>([])
        for isReplacing in [false, true] {
            var moment = 0
            while true {
                let (folder, number) = (try TemporaryFolder(), moment)
                try folder.write([1], to: "there")
                // Another program looks before this call. The output appears all the same.
                let looking = Faults { call in
                    guard call.number == number else { return nil }
                    guard let open = try? FileDescriptor.open(folder.path, .readOnly) else {
                        return Errno.ioError.rawValue
                    }
                    defer { try? open.close() }
                    let found = SystemCalls.$current.withValue(SystemCalls()) {
                        LeftoverFiles.remove(in: open) { _ in false }
                    }
                    removed.withLock { $0 += found }
                    return nil
                }
                let name = isReplacing ? "there" : "new"
                try looking.during {
                    try way.during {
                        let file = try OutputFile(at: folder[name], replacing: isReplacing)
                        try file.write(Self.text.span)
                        try file.commit()
                    }
                }
                #expect(
                    try folder.read(name) == Self.text
                        && folder.names == (isReplacing ? [] : ["new"]) + ["there"])
                moment += 1
                guard moment < looking.calls.count else { break }
            }
            #expect(moment > 6)
        }
        // A file that is not locked yet may be taken for one that was left. Its writer takes another name.
        #expect(removed.withLock { $0.count } == (way == .nameless ? 0 : 2))
    }

    @Test("only what an unfinished file is called, and only a file", arguments: [true, false])
    func lookalikes(listsKinds: Bool) throws {
        var calls = SystemCalls()
        let list = calls.forEachName
        // Some file systems list names without kinds.
        if !listsKinds { calls.forEachName = { file, body in list(file) { name, _ in body(name, nil) } } }
        try SystemCalls.$current.withValue(calls) { try lookAtLookalikes() }
    }

    private func lookAtLookalikes() throws {
        let form = ".vaultfile-0123456789abcde"
        let others = [
            form, form + "F", form + "ff", form + "g", "x" + form + "f", form + "f.bak", ".vaultfile-",
            ".vaultfile-7cf77a995b2a2549ee7461f3b0775068", "photographs0123456789abcdef",
        ]
        for name in others { try folder.write(Self.text, to: name) }
        try folder.write(Self.text, to: "victim")
        try folder.makeLink(form + "0", to: "victim")
        try folder.makeFolder(form + "1")
        try folder.makePipe(form + "2")
        // Another name of a file that is wanted.
        let here: Int32 = -100
        #expect(SystemCalls().linkAt(here, folder["victim"], here, folder[form + "3"], 0) == 0)
        let all = try folder.names
        #expect(try look() == [])
        #expect(try folder.names == all)
        try folder.write(Self.text, to: form + "4")
        #expect(try look() == [form + "4"])
        #expect(try folder.names == all)
    }

    @Test("a file that the run reads stays") func kept() throws {
        let name = ".vaultfile-0123456789abcdef"
        try folder.write(Self.text, to: name)
        let input = try Stat(folder[name])
        #expect(try look(LeftoverFiles { (try? Stat($0))?.inode == input.inode }) == [])
        #expect(try folder.read(name) == Self.text)
        #expect(try look(LeftoverFiles { (try? Stat($0))?.inode != input.inode }) == [name])
    }

    @Test("no output gets a name that the next run would remove") func refusedNames() throws {
        let open = try FileDescriptor.open(folder.path, .readOnly)
        defer { try? open.close() }
        for name in [".vaultfile-0123456789abcdef", ".vaultfile-7cf77a995b2a2549ee7461f3b0775068"] {
            for isReplacing in [false, true] {
                #expect(throws: VaultError(.outputFailed, "")) {
                    _ = try OutputFile(at: folder[name], replacing: isReplacing)
                }
                #expect(throws: VaultError(.outputFailed, "")) {
                    _ = try OutputFile(at: .name(FilePath(name), in: open), replacing: isReplacing)
                }
            }
            try folder.makeLink("link", to: name)
            try folder.write(Self.text, to: name)
            #expect(throws: VaultError(.outputFailed, "")) { _ = try OutputFile(at: folder["link"], replacing: true) }
            try folder.remove("link")
        }
        try put(".vaultfile-0123456789abcde")
        try put(".vaultfile-0123456789abcdef.vault")
    }

    /// What each run on the same container leaves of the new file of a killed one, which removed keys may open.
    @Test(arguments: OutputFileTests.Way.allCases, ["rotate", "reencrypt", "repair", "repair the end"])
    func ofTheSameContainer(_ way: OutputFileTests.Way, _ next: String) throws {
        let old = testKey(1)
        let container = try StoredContainer(
            try sealed(Self.text, options: SealOptions(chunk: .minimum, capacity: .capacity(512))))
        let faults = Faults { ["renameAt", "unlinkAt"].contains($0.name) ? Errno.ioError.rawValue : nil }
        let reencrypt = {
            _ = try Vault.reencrypt(at: container.path, for: [.key(old)], with: .key(old))
        }
        let error = way.during { faults.during { #expect(throws: VaultError.self) { try reencrypt() } } }
        #expect(error?.code == .outputFailed)
        let left = try #require(try container.folder.names.first { $0 != "c" })
        // That of another container may belong to a running program.
        let other = ".vaultfile-7cf77a995b2a2549ee7461f3b0775068"
        try container.folder.write(Self.text, to: other)
        let run = {
            switch next {
            case "rotate":
                let change = KeyChange(adding: [.key(testKey(2))])
                _ = try Vault.rotate(at: container.path, change, with: .key(old))
            case "reencrypt": try reencrypt()
            default: _ = try Vault.repair(at: container.path, with: .key(old))
            }
        }
        if next == "repair the end" {
            var bytes = try container.bytes
            bytes[bytes.count - 1] ^= 1
            try container.folder.write(bytes, to: "c")
        }
        // A program that holds it is running.
        let held = try FileDescriptor.open(container.folder[left], .readOnly)
        #expect(SystemCalls().lock(held.rawValue, 6) == 0)
        try way.during(run)
        #expect(try container.folder.names == ["c", left, other].sorted())
        try held.close()
        try way.during(run)
        #expect(try container.folder.names == ["c", other].sorted())
    }

    /// The system of a user who is not root, on a file system that locks only files that are open for writing, or on
    /// another one.
    private static func calls(locksReaders: Bool) -> SystemCalls {
        var calls = SystemCalls()
        let real = SystemCalls()
        calls.openAt = { folder, path, flags, mode in
            let needed: FilePermissions = flags & 3 == 0 ? .ownerRead : [.ownerRead, .ownerWrite]
            let there = try? real.statusAt(folder, path, false).get()
            if let there, there.kind == .regular, !there.permissions.isSuperset(of: needed) {
                return fail(.permissionDenied)
            }
            return real.openAt(folder, path, flags, mode)
        }
        calls.lock = { file, operation in
            if !locksReaders, real.statusFlags(file) & 3 == 0 { return fail(.badFileDescriptor) }
            return real.lock(file, operation)
        }
        return calls
    }

    @Test("a file is removed whatever its mode", arguments: [0o000, 0o200, 0o444, 0o600], [false, true])
    func modes(_ mode: UInt16, _ locksReaders: Bool) throws {
        let name = ".vaultfile-0123456789abcdef"
        try folder.write(Self.text, to: name)
        func setMode() throws {
            try #require(SystemCalls().setPermissionsAt(-100, folder[name], CInterop.Mode(mode)) == 0)
        }
        try setMode()
        let calls = Self.calls(locksReaders: locksReaders)
        #expect(try SystemCalls.$current.withValue(calls) { try look() } == [name])
        // That of a running program stays, with its mode.
        try folder.write(Self.text, to: name)
        let held = try FileDescriptor.open(folder[name], .readWrite)
        #expect(SystemCalls().lock(held.rawValue, 6) == 0)
        try setMode()
        #expect(try SystemCalls.$current.withValue(calls) { try look() } == [])
        #expect(try Stat(folder[name]).permissions.rawValue == mode)
        try held.close()
    }

    @Test("a file of another user stays") func anotherUser() throws {
        let name = ".vaultfile-0123456789abcdef"
        try folder.write(Self.text, to: name)
        var calls = SystemCalls()
        let real = calls.userID()
        calls.userID = { real + 1 }
        #expect(try SystemCalls.$current.withValue(calls) { try look() } == [])
        #expect(try folder.read(name) == Self.text)
        #expect(try look() == [name])
    }

    @Test(
        "a file that cannot be locked stays", arguments: [Errno.noLocks, .wouldBlock, .notSupported])
    func noLocks(_ error: Errno) throws {
        let name = ".vaultfile-0123456789abcdef"
        try folder.write(Self.text, to: name)
        let faults = Faults { $0.name == "lock" ? error.rawValue : nil }
        #expect(try faults.during { try look() } == [] && faults.leftOpen.isEmpty)
        #expect(try folder.read(name) == Self.text)
        // An output needs no locks, unless another program holds this one.
        try faults.during { try put("new") }
        #expect(try folder.read("new") == Self.text)
    }

    @Test("a file that cannot be removed is not called removed") func notRemoved() throws {
        let name = ".vaultfile-0123456789abcdef"
        try folder.write(Self.text, to: name)
        let faults = Faults { $0.name == "unlinkAt" ? Errno.readOnlyFileSystem.rawValue : nil }
        #expect(try faults.during { try look() } == [])
        #expect(try look() == [name])
    }

    /// The program that wrote the file has given it its name, and so its lock is free. Another program has begun a file
    /// with the old name.
    @Test("a file that takes the name before the lock stays") func exchanged() throws {
        let (folder, name) = (folder, ".vaultfile-0123456789abcdef")
        try folder.write(Self.text, to: name)
        var calls = SystemCalls()
        let lock = calls.lock
        let isDone = Mutex(false)
        calls.lock = { file, operation in
            if !isDone.withLock({ exchange(&$0, with: true) }) {
                let here: Int32 = -100
                _ = SystemCalls().renameAt(here, folder[name], folder["named"])
                _ = try? folder.write([1], to: name)
            }
            return lock(file, operation)
        }
        #expect(try SystemCalls.$current.withValue(calls) { try look() } == [])
        #expect(try folder.read(name) == [1] && folder.read("named") == Self.text)
    }

    @Test("one look into each folder") func once() throws {
        let inner = folder["inner"]
        let lists = Mutex(0)
        try folder.makeFolder("inner")
        let leftovers = LeftoverFiles()
        var calls = SystemCalls()
        let real = calls.forEachName
        calls.forEachName = { file, body in
            lists.withLock { $0 += 1 }
            return real(file, body)
        }
        try SystemCalls.$current.withValue(calls) {
            for _ in 0..<3 {
                try look(leftovers)
                _ = leftovers.remove(beside: try OutputFile(at: inner.appending("new")))
            }
        }
        #expect(lists.withLock { $0 } == 2)
    }
}

private func fail(_ error: Errno) -> Int32 {
    vaultfile_set_error_number(error.rawValue)
    return -1
}
