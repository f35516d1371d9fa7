import CPlatform
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

/// The owner and the group of files that are replaced, and of files that are removed as leftovers.
///
/// They need root, because only root can give a file to another user. Tests as another user run in a process of their
/// own: a process has one effective user.
@Suite(.enabled(if: geteuid() == 0, "only root can give a file to another user")) struct OwnerTests {
    private static let (user, group): (UInt32, UInt32) = (12_345, 23_456)
    private static let text = randomBytes(300, seed: 720)
    private static let old = testKey(1)

    /// A container of 512 bytes a header copy, so that a rotation makes a new file.
    private static func container(capacity: Int = 512) throws -> StoredContainer {
        try StoredContainer(
            sealed(
                text, for: [.key(old)], options: SealOptions(chunk: .minimum, capacity: .capacity(capacity))))
    }

    private static func give(_ path: FilePath, _ owner: UInt32, _ group: UInt32, mode: CInterop.Mode? = nil) throws {
        let file = try FileDescriptor.open(path, .readOnly)
        defer { try? file.close() }
        try #require(SystemCalls().setOwner(file.rawValue, owner, group) == 0)
        if let mode { try #require(SystemCalls().setPermissions(file.rawValue, mode) == 0) }
    }

    private static func owner(_ path: FilePath) throws -> [UInt32] {
        let status = try Stat(path)
        return [status.userID.rawValue, status.groupID.rawValue]
    }

    private static let changes: [@Sendable (FilePath) throws -> Void] = [
        { try Vault.rotate(at: $0, KeyChange(adding: [.key(testKey(2))]), with: .key(old)) },
        { try Vault.reencrypt(at: $0, for: [.key(old)], with: .key(old)) },
    ]

    private static let owners: [(UInt32, UInt32)] = [(user, group), (user, 0), (0, group), (0, 0)]

    @Test(
        "a new file has the owner and the group of the file that it replaces",
        arguments: 0..<changes.count, owners)
    func kept(_ change: Int, _ owner: (UInt32, UInt32)) throws {
        let container = try Self.container()
        try Self.give(container.path, owner.0, owner.1)
        let inode = try Stat(container.path).inode
        try Self.changes[change](container.path)
        #expect(try Stat(container.path).inode != inode)
        #expect(try Self.owner(container.path) == [owner.0, owner.1])
    }

    /// Some file systems have no owners, and refuse to set any.
    @Test("an owner that is right is not set again", arguments: 0..<changes.count) func rightOwner(_ change: Int) throws
    {
        let container = try Self.container()
        let faults = Faults { $0.name == "setOwner" ? Errno.notPermitted.rawValue : nil }
        try faults.during { try Self.changes[change](container.path) }
        #expect(!faults.calls.contains { $0.name == "setOwner" })
    }

    @Test("both files of a keyring keep their owners") func keyring() throws {
        let box = try KeyringBox(keys: ["one"])
        let paths = [box.path, Keyring.unlockKeyPath(of: box.path)]
        try Self.give(paths[0], Self.user, Self.group)
        try Self.give(paths[1], Self.user + 1, Self.group + 1)
        func check(_ change: Comment) throws {
            #expect(try Self.owner(paths[0]) == [Self.user, Self.group], change)
            #expect(try Self.owner(paths[1]) == [Self.user + 1, Self.group + 1], change)
        }
        try box.generate("two")
        try check("generate")
        #expect(try box.destroy("one").exchange == .done)
        try check("destroy")
        _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
        try check("protect")
    }

    // MARK: Header files

    /// The owner, the group and the mode of a file.
    private static func access(_ path: FilePath) throws -> [UInt32] {
        let status = try Stat(path)
        return [status.userID.rawValue, status.groupID.rawValue, UInt32(status.permissions.rawValue & 0o777)]
    }

    /// A header file is all that its body's owner needs for access: one that belongs to root locks them out.
    @Test(
        "detach gives the header file the owner, the group and the mode of its body, which keeps its own",
        arguments: owners)
    func detached(_ owner: (UInt32, UInt32)) throws {
        let container = try Self.container()
        let (body, header) = (container.path, container.folder["h"])
        try Self.give(body, owner.0, owner.1, mode: 0o640)
        let expected = [owner.0, owner.1, 0o640]
        try Vault.detach(at: body, to: header, with: .key(Self.old))
        #expect(try Self.access(header) == expected)
        #expect(try Self.access(body) == expected)
        try Vault.attach(at: body, from: header, with: .key(Self.old))
        #expect(try Self.access(body) == expected)
        #expect(try container.folder.names == ["c"])
    }

    @Test("a header file that is replaced keeps its owner, its group and its mode", arguments: owners)
    func rotatedHeader(_ owner: (UInt32, UInt32)) throws {
        let container = try Self.container()
        let header = container.folder["h"]
        try Vault.detach(at: container.path, to: header, with: .key(Self.old))
        let body = try Self.access(container.path)
        try Self.give(header, owner.0, owner.1, mode: 0o604)
        let inode = try Stat(header).inode
        try Vault.rotateHeaderFile(at: header, KeyChange(adding: [.key(testKey(2))]), with: .key(Self.old))
        #expect(try Stat(header).inode != inode)
        #expect(try Self.access(header) == [owner.0, owner.1, 0o604])
        #expect(try Self.access(container.path) == body)
    }

    @Test("a header file whose owner or group cannot be kept is not replaced") func headerNotKept() async {
        await #expect(processExitsWith: .success) {
            for (owner, group) in [(UInt32(0), UInt32(0)), (0, Self.user), (Self.user, Self.group)] {
                let container = try Self.container()
                let header = container.folder["h"]
                try Vault.detach(at: container.path, to: header, with: .key(Self.old))
                let before = try container.folder.read("h")
                try Self.give(container.folder.path, 0, 0, mode: 0o777)
                try Self.give(header, owner, group, mode: 0o666)
                var refused: VaultError?
                try Self.asUser {
                    do {
                        try Vault.rotateHeaderFile(
                            at: header, KeyChange(adding: [.key(testKey(2))]), with: .key(Self.old))
                    } catch let error as VaultError {
                        refused = error
                    }
                }
                guard refused?.code == .outputFailed, refused?.systemError == .notPermitted,
                    try container.folder.names == ["c", "h"], try container.folder.read("h") == before,
                    try Self.access(header) == [owner, group, 0o666]
                else { exit(1) }
            }
        }
    }

    // MARK: Leftovers

    @Test("a leftover of a keyring is erased only if it has the keyring's owner") func plantedLeftover() throws {
        let box = try KeyringBox(keys: ["one"])
        let name = OutputFile.reservedName(for: FilePath("keyring")).string
        try box.folder.write([1, 2, 3], to: name)
        try Self.give(box.folder[name], Self.user, 0)
        guard case .failed = try box.destroy("one").keyring else {
            Issue.record("another person's file was taken for a leftover")
            return
        }
        #expect(try box.folder.read(name) == [1, 2, 3])
        try Self.give(box.path, Self.user, 0)
        #expect(try box.destroy("one").keyring == .overwritten)
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }

    @Test("a run removes unfinished files of its own user only") func unfinishedFile() throws {
        let folder = try TemporaryFolder()
        let name = ".vaultfile-0123456789abcdef"
        let path = try folder.write([1, 2, 3], to: name)
        try Self.give(path, Self.user, 0)
        let output = try OutputFile(at: folder["out"])
        #expect(LeftoverFiles().remove(beside: output).isEmpty)
        #expect(try folder.read(name) == [1, 2, 3])
        // The group says nothing about who made it.
        try Self.give(path, 0, Self.group)
        #expect(LeftoverFiles().remove(beside: output) == [FilePath(name)])
    }

    // MARK: As another user

    private static func asUser(_ body: () throws -> Void) throws {
        guard setegid(user) == 0, seteuid(user) == 0 else { throw CancellationError() }
        defer { _ = seteuid(0) == 0 && setegid(0) == 0 }
        try body()
    }

    /// What another user gets who may write to the file and its folder.
    private static func refusal(owner: UInt32, group: UInt32, capacity: Int, _ change: Int) throws -> VaultError? {
        let container = try container(capacity: capacity)
        let before = try container.bytes
        try give(container.folder.path, 0, 0, mode: 0o777)
        try give(container.path, owner, group, mode: 0o666)
        var refused: VaultError?
        try asUser {
            do {
                try changes[change](container.path)
            } catch let error as VaultError {
                refused = error
            }
        }
        guard try container.folder.names == ["c"], try Self.owner(container.path) == [owner, group] else {
            throw CancellationError()
        }
        if refused != nil, try container.bytes != before { throw CancellationError() }
        return refused
    }

    @Test("a file whose owner or group cannot be kept is not replaced") func notKept() async {
        await #expect(processExitsWith: .success) {
            for change in Self.changes.indices {
                for (owner, group) in [(UInt32(0), UInt32(0)), (0, Self.user), (Self.user, Self.group)] {
                    let error = try Self.refusal(owner: owner, group: group, capacity: 512, change)
                    guard error?.code == .outputFailed, error?.systemError == .notPermitted,
                        error?.description.contains("owner cannot be kept") == true
                    else { exit(1) }
                }
                // Their own file, in a group of theirs.
                guard try Self.refusal(owner: Self.user, group: Self.user, capacity: 512, change) == nil else {
                    exit(2)
                }
            }
        }
    }

    @Test("someone's own file may lose a group that they are not in, if it is for them alone") func otherGroup() async {
        await #expect(processExitsWith: .success) {
            for (change, run) in Self.changes.enumerated() {
                let container = try Self.container()
                try Self.give(container.folder.path, 0, 0, mode: 0o777)
                try Self.give(container.path, Self.user, Self.group, mode: 0o600)
                try Self.asUser { try run(container.path) }
                guard try Self.owner(container.path) == [Self.user, Self.user], try container.folder.names == ["c"]
                else { exit(Int32(change + 1)) }
            }
        }
    }

    @Test("a change in place needs no owner") func inPlace() async {
        await #expect(processExitsWith: .success) {
            guard try Self.refusal(owner: 0, group: 0, capacity: 4096, 0) == nil else { exit(1) }
        }
    }
}
