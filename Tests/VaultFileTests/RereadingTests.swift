import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A container that is not intact is read again before this is reported (Spec, SEEK-18): a rotation may be under way.
@Suite struct RereadingTests {
    private let plaintext = randomBytes(6000, seed: 30)
    private let forge: Forge
    private let keys = KeySet(keys: [testKey(1)])

    init() throws {
        forge = try Forge(seed: 80)
    }

    private func header(_ generation: Int) throws -> [UInt8] {
        forge.header([try forge.slot(testKey(1))], generation: UInt32(generation))
    }

    private func container(_ front: Int, _ tail: Int) throws -> [UInt8] {
        try forge.container(plaintext, front: header(front), tail: header(tail))
    }

    /// Both copies half written: nothing opens.
    private func torn() throws -> [UInt8] {
        let half = try header(1).prefix(256) + header(2).suffix(256)
        return try forge.container(plaintext, front: [UInt8](half), tail: [UInt8](half))
    }

    private func open(_ source: ChangingSource) throws -> Health {
        let reader = try SeekableVaultReader(source, with: Credentials(keys))
        #expect(try reader.bytes(0..<reader.length) == plaintext)
        return reader.opened.health
    }

    @Test(arguments: [false, true]) func intactIsReadOnce(hasLock: Bool) throws {
        let right = try container(1, 1)
        let source = ChangingSource(hasLock: hasLock) { _ in right }
        #expect(try open(source) == .intact)
        #expect(source.looks == 1 && source.locks == 0)
    }

    @Test(arguments: [false, true]) func whatStaysIsReadTwice(hasLock: Bool) throws {
        let unfinished = try container(1, 2)
        let source = ChangingSource(hasLock: hasLock) { _ in unfinished }
        #expect(try open(source) == .rotationUnfinished)
        #expect(source.looks == 2 && source.locks == 1)
        let broken = try torn()
        let damaged = ChangingSource(hasLock: hasLock) { _ in broken }
        let error = #expect(throws: VaultError.self) { try open(damaged) }
        #expect(error?.code == .headerDamaged && damaged.looks == 2)
    }

    /// A rotation between two readings: the result of the first, an error or not, is not reported.
    @Test(arguments: [false, true]) func rotationBetweenLooks(hasLock: Bool) throws {
        let new = try container(2, 2)
        for first in [try torn(), try container(1, 2), try container(2, 1), [], [UInt8](new.prefix(3000))] {
            let source = ChangingSource(hasLock: hasLock) { $0 == 1 ? first : new }
            #expect(try open(source) == .intact)
            #expect(source.looks == 2)
        }
    }

    /// Without a lock two readings must agree.
    @Test func twoLooksThatAgree() throws {
        let versions = [try torn(), try container(1, 3), try container(1, 2), try container(1, 2), try container(2, 2)]
        let source = ChangingSource { versions[min($0, versions.count) - 1] }
        #expect(try open(source) == .rotationUnfinished)
        #expect(source.looks == 4)
    }

    /// With a lock the second reading decides.
    @Test func secondLookUnderALock() throws {
        let versions = [try torn(), try container(1, 3), try container(1, 2)]
        let source = ChangingSource(hasLock: true) { versions[min($0, versions.count) - 1] }
        #expect(try open(source) == .copiesConflict)
        #expect(source.looks == 2 && source.locks == 1)
    }

    /// A container that changes at every reading is read ten times; the last result counts.
    @Test func tenLooksAtMost() throws {
        let versions = try (1...12).map { try container($0, $0 + 1) }
        let source = ChangingSource { versions[min($0, versions.count) - 1] }
        let reader = try SeekableVaultReader(source, with: Credentials(keys))
        #expect(reader.opened.health == .rotationUnfinished && reader.opened.header.generation == 11)
        #expect(source.looks == 10)

        let broken = try (1...12).map { place in
            var bytes = try torn()
            bytes[200] = UInt8(place)
            return bytes
        }
        let failing = ChangingSource { broken[min($0, broken.count) - 1] }
        let error = #expect(throws: VaultError.self) { try SeekableVaultReader(failing, with: Credentials(keys)) }
        #expect(error?.code == .headerDamaged && failing.looks == 10)
    }

    @Test func inspectionLooksAgain() throws {
        let new = try container(2, 2)
        let first = try torn()
        let source = ChangingSource { $0 == 1 ? first : new }
        let inspection = try Inspection(source)
        #expect(inspection.problem == nil && inspection.copiesAreIdentical && source.looks == 2)
        #expect(inspection.front.summary?.generation == 2)
    }

    /// A rotation writes the tail before the front. A reader that read the tail first could find an old tail and a new
    /// front, a state that no crash leaves (SEEK-1).
    @Test func frontBeforeTail() throws {
        let bytes = try container(1, 1)
        let (footer, capacity) = (UInt64(bytes.count - 32), UInt64(512))
        for inspects in [false, true] {
            let reads = Mutex<[String]>([])
            let source = ScriptedSource(
                size: { UInt64(bytes.count) },
                read: { offset, count in
                    let part =
                        offset < capacity
                        ? "front" : offset >= footer ? "footer" : offset >= footer - capacity ? "tail" : "rest"
                    reads.withLock { if $0.last != part { $0.append(part) } }
                    return ([UInt8](bytes.dropFirst(Int(offset)).prefix(count)), min(count, bytes.count - Int(offset)))
                })
            if inspects {
                #expect(try Inspection(source).copiesAreIdentical)
            } else {
                _ = try SeekableVaultReader(source, with: Credentials(keys))
            }
            let parts = reads.withLock { $0 }
            #expect(parts.prefix(3) == ["front", "footer", "tail"] && !parts.dropFirst().contains("front"))
        }
    }

    /// An error of the source itself ends it at once.
    @Test func errorsOfTheSource() throws {
        struct Failure: Error {}
        let sizes = Mutex(0)
        let source = ScriptedSource(
            size: {
                sizes.withLock { $0 += 1 }
                throw Failure()
            }, read: { _, _ in ([], 0) })
        #expect(throws: Failure.self) { try SeekableVaultReader(source, with: Credentials(keys)) }
        #expect(sizes.withLock { $0 } == 1)
    }

    // MARK: Files and their lock

    /// If the container is not intact, the reader takes the shared lock and gives it back; without a lock it goes on.
    @Test func fileLock() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(container(1, 2), to: "unfinished")
        let whole = try folder.write(container(1, 1), to: "whole")
        for (path, expected, health) in [(path, 2, Health.rotationUnfinished), (whole, 0, .intact)] {
            for fails in [false, true] {
                let faults = Faults { $0.name == "lock" && fails ? Errno.notSupported.rawValue : nil }
                try faults.during {
                    let reader = try SeekableVaultReader(FileSource(at: path), with: Credentials(keys))
                    #expect(reader.opened.health == health)
                }
                let locks = faults.calls.filter { $0.name == "lock" }.count
                #expect(locks == (fails ? expected / 2 : expected))
            }
        }
    }

    /// While another process has the exclusive lock, the second reading waits.
    @Test func fileLockIsWaitedFor() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(container(1, 2), to: "container")
        let right = try container(2, 2)
        let file = try FileDescriptor.open(path, .readWrite)
        defer { try? file.close() }
        let (calls, exclusive, unlock): (SystemCalls, Int32, Int32) = (SystemCalls(), 2, 8)
        #expect(calls.lock(file.rawValue, exclusive) == 0)
        var waiting = SystemCalls()
        waiting.lock = { descriptor, operation in
            // The rotation ends when the reader begins to wait for it.
            if operation != unlock, Self.rewrite(file, right) { _ = calls.lock(file.rawValue, unlock) }
            return calls.lock(descriptor, operation)
        }
        try SystemCalls.$current.withValue(waiting) {
            let reader = try SeekableVaultReader(FileSource(at: path), with: Credentials(keys))
            #expect(reader.opened.health == .intact && reader.opened.header.generation == 2)
        }
    }

    private static func rewrite(_ file: FileDescriptor, _ bytes: [UInt8]) -> Bool {
        (try? file.seek(offset: 0, from: .start)) == 0 && (try? file.writeFully(bytes.span)) != nil
    }
}
