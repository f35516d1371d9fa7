internal import CPlatform
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Tests that the model of a disk works like a disk and loses what a disk may lose; and that on it, at every moment, an
/// output file appears completely or not at all.
@Suite struct ModelDiskTests {
    private static let old = [UInt8](repeating: 1, count: 2000)
    private static let new = randomBytes(1500, seed: 3)

    /// The possible contents under a name after a power failure at each moment of a run.
    private static func crashes(_ disk: ModelDisk, _ name: String) throws -> [(call: String, contents: Set<[UInt8]?>)] {
        try disk.moments.map { moment in
            let states = try #require(moment.state.afterPowerFailure(name))
            return (moment.call.rawValue, Set(states.map { $0.bytes(name) }))
        }
    }

    @Test(arguments: [true, false], [true, false]) func replacing(_ nameless: Bool, _ exclusive: Bool) throws {
        var abilities = ModelDisk.Abilities()
        abilities.nameless = nameless
        abilities.exclusiveRename = exclusive
        abilities.writeCount = 700
        let disk = ModelDisk(DiskState(Self.old, name: "it"), abilities: abilities)
        try disk.during {
            let file = try OutputFile(at: "/it", replacing: true)
            try file.write(Self.new.span)
            try file.commit()
        }
        let crashes = try Self.crashes(disk, "it")
        #expect(crashes.allSatisfy { $0.contents.isSubset(of: [Self.old, Self.new]) })
        #expect(crashes.contains { $0.call == "rename" && $0.contents == [Self.old, Self.new] })
        #expect(crashes.last?.contents == [Self.new])
        #expect(disk.state.names == ["it"] && disk.openCount == 0)
    }

    @Test(arguments: [true, false], [true, false]) func appearing(_ nameless: Bool, _ exclusive: Bool) throws {
        var abilities = ModelDisk.Abilities()
        abilities.nameless = nameless
        abilities.exclusiveRename = exclusive
        let disk = ModelDisk(DiskState(), abilities: abilities)
        try disk.during {
            let file = try OutputFile(at: "/it")
            try file.write(Self.new.span)
            try file.commit()
        }
        let crashes = try Self.crashes(disk, "it")
        #expect(crashes.allSatisfy { $0.contents.isSubset(of: [nil, Self.new]) })
        #expect(crashes.last?.contents == [Self.new])
        #expect(disk.state.names == ["it"] && disk.openCount == 0)
    }

    /// Without the sync of the file, its name is there before its bytes, with any part of them.
    @Test func withoutSync() throws {
        let disk = ModelDisk(DiskState(Self.old, name: "it"))
        try disk.during {
            let file = try OutputFile(at: "/it", replacing: true)
            try file.write(Self.new.span)
            try file.commit(synchronize: false)
        }
        let last = try #require(try Self.crashes(disk, "it").last)
        // The old file, an empty one, and three sectors that each are there or zeros.
        #expect(last.contents.count == 1 + 1 + 1 << 3)
        #expect(last.contents.contains([]) && last.contents.contains(Self.new))
        #expect(!disk.state.isDurable)
    }

    /// Writes in place: each changed sector is old or new independently of the others; unchanged ones do not count.
    @Test func sectors() throws {
        let start = randomBytes(8192, seed: 1)
        let disk = ModelDisk(DiskState(start, name: "it"))
        var (first, second) = (start, start)
        for index in [4096, 4608, 8191] { first[index] ^= 1 }
        second = first
        second[4100] ^= 1
        try disk.during {
            let file = FileDescriptor(rawValue: SystemCalls.current.openAt(AT_FDCWD, "/it", O_RDWR, 0))
            try file.writeFully(first.span.extracting(4096..<8192), at: 4096)
            // The first sector then has three versions.
            try file.writeFully(second.span.extracting(4096..<8192), at: 4096)
            try file.synchronize()
            #expect(SystemCalls.current.truncate(file.rawValue, 5000) == 0)
        }
        let crashes = try Self.crashes(disk, "it").filter { $0.call != "partOfWrite" }
        #expect(crashes.map(\.call) == ["start", "write", "write", "syncFile", "truncate"])
        #expect(crashes.map(\.contents.count) == [1, 8, 12, 1, 2])
        #expect(crashes[3].contents == [second] && crashes[4].contents == [second, [UInt8](second.prefix(5000))])
        // Killed within the first write: after its first or its second sector.
        let parts = disk.moments.filter { $0.call == .partOfWrite }
        #expect(parts.count == 2 && parts.allSatisfy { ![start, first, second].contains($0.state.bytes("it")) })
    }

    /// A lock belongs to the open file and ends with it.
    @Test func locks() throws {
        let disk = ModelDisk(DiskState(Self.old, name: "it"))
        disk.during {
            let calls = SystemCalls.current
            let (one, two) = (calls.openAt(AT_FDCWD, "/it", O_RDWR, 0), calls.openAt(AT_FDCWD, "it", O_RDONLY, 0))
            #expect(one != two && calls.lock(one, LOCK_EX | LOCK_NB) == 0)
            #expect(calls.lock(two, LOCK_EX | LOCK_NB) == -1 && SystemCalls.errorNumber == Errno.wouldBlock.rawValue)
            #expect(calls.lock(one, LOCK_SH) == 0 && calls.lock(two, LOCK_SH) == 0)
            #expect(calls.close(one) == 0 && calls.lock(two, LOCK_EX | LOCK_NB) == 0)
            #expect(calls.close(one) == -1 && calls.close(two) == 0)
        }
        #expect(disk.deadlocks == 0 && disk.openCount == 0)
    }
}
