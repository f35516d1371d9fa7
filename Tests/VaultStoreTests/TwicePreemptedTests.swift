import Foundation
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// One program is interrupted twice. `InterleavingTests` interrupts it once.
extension InterleavingTests {
    /// What is left of three changes, and which of them were done.
    private struct Left: Equatable {
        var items: [String: String]
        let isDone: [Bool]
    }

    /// The most interleavings of three changes that are tried, of those with evenly spread places. With
    /// VAULTFILE_INTERLEAVINGS=40, all triples of changes are tried with 40 of them, which takes minutes.
    private static let (most, isWide) = {
        let asked = ProcessInfo.processInfo.environment["VAULTFILE_INTERLEAVINGS"].flatMap { Int($0) }
        return (max(3, asked ?? 8), asked != nil)
    }()

    /// How many interleavings were tried; a wide run prints it.
    private static func count(_ name: String, _ number: Int) {
        if isWide { print("\(name): \(number) interleavings") }
    }

    /// Two places at which a program with this many interludes is interrupted.
    private static func places(_ count: Int) -> [(first: Int, second: Int)] {
        let all = (0..<count).flatMap { first in (first..<count).map { (first: first, second: $0) } }
        return all.count <= most ? all : (0..<most).map { all[$0 * (all.count - 1) / (most - 1)] }
    }

    /// The results of the first change somewhere among the others, which keep their order. A change that fails has changed
    /// nothing.
    private static func allowed(_ start: DiskState, _ changes: [Change]) throws -> [Left] {
        var allowed: [Left] = []
        let others = Array(changes.indices.dropFirst())
        for place in 0...others.count {
            let order = others.prefix(place) + [0] + others.dropFirst(place)
            for kept in 0..<1 << changes.count {
                let disk = ModelDisk(start)
                var isDone = changes.map { _ in false }
                disk.during {
                    for index in order where kept >> index & 1 == 1 { isDone[index] = Self.isDone(changes[index]) }
                }
                let left = Left(items: try Self.items(disk.state), isDone: isDone)
                if !allowed.contains(left) { allowed.append(left) }
            }
        }
        return allowed
    }

    /// Runs a change, and others before two of its calls.
    ///
    /// - Returns: what is left, and the disk.
    private static func run(
        _ start: DiskState, _ change: Change, at places: (first: Int, second: Int),
        _ others: [@Sendable () -> Bool]
    ) throws -> (left: Left, disk: ModelDisk) {
        let done = Mutex([false, false])
        var abilities = ModelDisk.Abilities()
        abilities.interlude = { now in
            for (index, place) in [places.first, places.second].enumerated() where place == now {
                let isDone = others[index]()
                done.withLock { $0[index] = isDone }
            }
        }
        let disk = ModelDisk(start, abilities: abilities)
        let isDone = disk.during { Self.isDone(change) }
        return (Left(items: try items(disk.state), isDone: [isDone] + done.withLock { $0 }), disk)
    }

    private static func interludes(_ start: DiskState, _ change: Change) -> Int {
        let disk = ModelDisk(start)
        disk.during { _ = isDone(change) }
        return disk.interludeCount
    }

    private static let firsts: [Change] = [
        .replace, .put, .remove, .move, .moveOver, .protect, .repair, .rotateComplete,
    ]
    private static let others: [Change] = [.replace, .remove, .move, .protect, .rotateComplete]

    @Test(arguments: firsts, others) func twice(_ first: Change, _ second: Change) throws {
        let start = try Self.start()
        let places = Self.places(Self.interludes(start, first))
        #expect(places.count > 2)
        var count = 0
        for (number, third) in Self.others.enumerated() {
            // Each second change has another third one.
            let isOwn = number == Self.others.firstIndex(of: second).map { ($0 + 1) % Self.others.count }
            guard Self.isWide || isOwn else { continue }
            let allowed = try Self.allowed(start, [first, second, third])
            var wrong: [String] = []
            for place in places {
                count += 1
                let (left, disk) = try Self.run(
                    start, first, at: place,
                    [{ Self.isDone(second) }, { Self.isDone(third) }])
                if !allowed.contains(left) { wrong.append("\(place): \(left)") }
                if disk.openCount != 0 { wrong.append("\(place): \(disk.openCount) files are open") }
            }
            #expect(wrong.isEmpty, "\(third): \(wrong.prefix(2)); allowed: \(allowed)")
        }
        Self.count("\(first), \(second) and another", count)
    }

    /// A program that keeps a second name of each item's file, as `cp --link` does.
    private static func backUp() -> Bool {
        do {
            let folder = try StoreCrashTests.Scene.open().folder
            try folder.root.makeFolder("backup", keepingOwner: true)
            let backup = try FileDescriptor.folder("backup", in: folder.root)
            defer { backup.closeQuietly() }
            for file in try folder.items.names(ItemName.isFile) {
                _ = try folder.items.link(file, as: file, in: backup)
            }
            return true
        } catch {
            return false
        }
    }

    /// What the items of the backup hold that open; an error if one is damaged, or if there is none.
    ///
    /// - Parameters:
    ///   - isRotated: whether the key of a class was replaced. Then the copies from before do not open any more, which
    ///     is what a rotation is for. If the items of another class were removed before the backup, none opens.
    ///   - old: the keys of that class that may be gone.
    private static func backedUp(
        _ state: DiskState, rotated isRotated: Bool, from old: Set<KeyID>?
    ) throws -> Set<String> {
        try ModelDisk(state).during {
            let store = try StoreCrashTests.Scene.open()
            let backup = try FileDescriptor.folder("backup", in: store.folder.root)
            defer { backup.closeQuietly() }
            let files = try backup.names(ItemName.isFile)
            try #require(!files.isEmpty)
            return try Set(
                files.compactMap { file in
                    do {
                        try FoundItem(file, in: backup, expecting: nil, by: store.opener).end()
                    } catch let error as VaultError where isRotated && error.code == .wrongKey {
                        if let old {
                            let ids = try ItemSlots.ids(ContainerEnds(reading: FoundItem.source(file, in: backup)))
                            #expect(ids.map { !old.isDisjoint(with: $0) } == true, "only items of the class are closed")
                        }
                        return nil
                    }
                    let found = try FoundItem(file, in: backup, expecting: nil, by: store.opener)
                    defer { found.end() }
                    var text: [UInt8] = []
                    try ItemReader(found).readAll { text += [UInt8](copying: $0) }
                    return String(decoding: text, as: UTF8.self)
                })
        }
    }

    /// Someone links all items away, and later another program makes its change. The backup holds whole items of before
    /// or of afterwards, and changes nothing for the two programs.
    @Test(arguments: firsts, others) func withBackup(_ first: Change, _ second: Change) throws {
        let start = try Self.start()
        let places = Self.places(Self.interludes(start, first))
        let allowed = try Self.allowed(start, [first, second])
        let old = try ModelDisk(start).during {
            try StoreCrashTests.Scene.open().gate.withKeys { Set($0.current[.complete].map { [$0.id] } ?? []) }
        }
        var wrong: [String] = []
        for place in places {
            let (left, disk) = try Self.run(start, first, at: place, [{ Self.backUp() }, { Self.isDone(second) }])
            let ofBoth = Left(items: left.items, isDone: [left.isDone[0], left.isDone[2]])
            if !allowed.contains(ofBoth) { wrong.append("\(place): \(left)") }
            guard left.isDone[1] else { continue }
            let held = try Self.backedUp(
                disk.state, rotated: first.rotatesKey || second.rotatesKey,
                // After two rotations, those of the key between them are closed too.
                from: first.rotatesKey && second.rotatesKey ? nil : old)
            let isRight = held.isSubset(of: ["one", "two", "put", "replaced"])
            let mayBeEmpty = first == .rotateComplete || second == .rotateComplete
            if !isRight || held.isEmpty && !mayBeEmpty { wrong.append("\(place): \(held)") }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(2)); allowed: \(allowed)")
        Self.count("\(first) and \(second) with a backup", places.count)
    }
}
