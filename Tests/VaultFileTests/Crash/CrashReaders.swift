import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Readers beside two rotations in place, at every moment and with torn reads: a holder of a key that stays always gets
/// the right contents (SEEK-18).
@Suite struct CrashReaders {
    /// What one reading can see: the front as it was at one instant, and everything after it as it was at the same or a
    /// later instant.
    private struct Look: Hashable {
        let front: [UInt8]
        let rest: [UInt8]
    }

    /// A file that changes during reading. Every reading begins with its size; the last version stays.
    private final class PassingFile: ByteSource {
        private let looks: [Look]
        private let hasLock: Bool
        private let current = Mutex(-1)

        init(_ looks: [Look], hasLock: Bool) {
            self.looks = looks
            self.hasLock = hasLock
        }

        func size() -> UInt64 {
            let look = looks[
                current.withLock { current in
                    current = min(current + 1, looks.count - 1)
                    return current
                }]
            return UInt64(look.front.count + look.rest.count)
        }

        func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int {
            let look = looks[current.withLock { $0 }]
            let isFront = offset < UInt64(look.front.count)
            return isFront
                ? MemorySource(look.front).read(at: offset, into: &buffer)
                : MemorySource(look.rest).read(at: offset - UInt64(look.front.count), into: &buffer)
        }

        func withSharedLock<R>(_ body: (Bool) throws -> R) throws -> R { try body(hasLock) }
    }

    /// The possible contents of a file at each instant: between writes, and during a write, when any of its sectors may
    /// be new.
    private struct Timeline {
        private(set) var instants: [[[UInt8]]]
        /// The instants at which the lock is free.
        private(set) var quiet = [0]

        init(_ bytes: [UInt8]) { instants = [[bytes]] }

        mutating func add(_ run: ModelDisk) throws {
            for moment in run.moments where moment.call == .write {
                let (old, new) = (try #require(instants.last?.last), try #require(moment.state.bytes("it")))
                var state = DiskState()
                state.setBytes(new, of: state.put(old, name: "it"))
                instants.append(try #require(state.afterPowerFailure("it")).compactMap { $0.bytes("it") })
                instants.append([new])
            }
            quiet.append(instants.count - 1)
        }

        /// Every reading, with the instants between which it can happen.
        func looks(_ capacity: Int) -> [Look: [(start: Int, end: Int)]] {
            var looks: [Look: [(start: Int, end: Int)]] = [:]
            for (start, views) in instants.enumerated() {
                for front in Set(views.map { [UInt8]($0[..<capacity]) }) {
                    for (end, views) in instants.enumerated().dropFirst(start) {
                        for rest in Set(views.map { [UInt8]($0[capacity...]) }) {
                            looks[Look(front: front, rest: rest), default: []].append((start, end))
                        }
                    }
                }
            }
            return looks
        }
    }

    private static let capacity = 4096
    private static let scenes = [0, 1, 3, 8].map { CrashScene.healthy(capacity)[$0] }

    @Test(arguments: scenes) func besideTwoRotations(_ scene: CrashScene) throws {
        var timeline = Timeline(scene.container)
        var state = scene.disk
        for operation in [CrashOperation.replace, .replaceAgain] {
            let disk = ModelDisk(state)
            try disk.during { _ = try operation.run("/it") }
            try timeline.add(disk)
            state = disk.state
        }
        let looks = timeline.looks(Self.capacity)
        let last = try #require(state.bytes("it"))
        let final = Look(front: [UInt8](last[..<Self.capacity]), rest: [UInt8](last[Self.capacity...]))
        var count = 0
        var healths: [Health: Int] = [:]

        func open(_ sequence: [Look], hasLock: Bool) throws {
            count += 1
            let reading = try Reading { sink in
                let file = PassingFile(sequence, hasLock: hasLock)
                let reader = try SeekableVaultReader(file, with: Credentials(Holders([1]).keySet))
                try reader.readAll(to: sink)
                return reader.opened
            }
            guard let opened = reading.opened, opened.health != .copiesConflict,
                reading.plaintext == CrashScene.plaintext
            else {
                Issue.record("\(scene), lock \(hasLock): \(reading.result)")
                return
            }
            healths[opened.health, default: 0] += 1
        }

        /// Without a lock: every sequence of so many readings, each no earlier than the one before.
        func follow(_ sequence: [Look], after instant: Int, _ more: Int) throws {
            guard more > 0 else { return try open(sequence + [final], hasLock: false) }
            for (look, times) in looks {
                guard let end = times.filter({ $0.start >= instant }).map(\.end).min() else { continue }
                try follow(sequence + [look], after: end, more - 1)
            }
        }
        try follow([], after: 0, CrashTests.isExhaustive ? 3 : 2)

        // With a lock: no write happens during the second reading.
        for (look, times) in looks {
            let end = times.map(\.end).min() ?? 0
            for quiet in timeline.quiet where quiet >= end {
                let bytes = timeline.instants[quiet][0]
                let second = Look(front: [UInt8](bytes[..<Self.capacity]), rest: [UInt8](bytes[Self.capacity...]))
                try open([look, second], hasLock: true)
            }
        }
        print("readers beside two rotations from \(scene): \(looks.count) looks, \(count) openings, \(healths)")
        #expect(count > 200 && healths[.tailDamaged] != nil && healths[.frontDamaged] != nil)
    }

    /// Through a symbolic link; and with a second name, which sees changes in place and prevents changes that need a
    /// new file.
    @Test(arguments: [4096, 512]) func links(_ capacity: Int) throws {
        let scene = CrashScene.healthy(capacity)[0]
        var state = scene.disk
        let link = state.add(.link("it"))
        state.change(DiskState.root, [("link", link)])
        state.synchronizeAll()
        let disk = ModelDisk(state)
        try disk.during { _ = try CrashOperation.replace.run("/link") }
        #expect(disk.state.names == ["it", "link"])
        #expect(disk.state.bytes("it") != scene.container && disk.openCount == 0)

        let inode = try #require(state[folder: DiskState.root]?.entries["it"])
        state.change(DiskState.root, [("other", inode)])
        state.synchronizeAll()
        let linked = ModelDisk(state)
        do {
            try linked.during { _ = try CrashOperation.replace.run("/it") }
            #expect(capacity == 4096)
        } catch let error as VaultError {
            #expect(capacity == 512 && error.code == .hardLinks)
        }
        #expect(linked.state.bytes("other") == linked.state.bytes("it"))
        #expect((linked.state.bytes("it") == scene.container) == (capacity == 512))
    }
}
