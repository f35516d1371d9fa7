internal import CPlatform
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultTestSupport

/// Everybody who may read a file may lock it, and keep the lock. No reader waits for that longer than a rotation does.
@Suite struct LockWaits {
    private struct Outcome {
        var reader: SeekableVaultReader?
        var code: VaultError.Code?
        /// How often the source told its caller that it waits.
        var waits = 0
        /// How long it waited altogether, in milliseconds.
        var milliseconds: Int32 = 0
    }

    /// Opens a file that another open file has locked. Time does not pass; the waits are counted.
    ///
    /// - Parameter releasing: after how many waits the lock is released; nil for never.
    private static func open(_ bytes: [UInt8], releasing: Int? = nil) throws -> Outcome {
        let folder = try TemporaryFolder()
        let path = try folder.write(bytes, to: "a.vault")
        let owner = try FileDescriptor.open(path, .readOnly)
        try #require(flock(owner.rawValue, LOCK_EX | LOCK_NB) == 0)
        let waits = Mutex(0)
        let pauses = Mutex<[Int32]>([])
        var calls = SystemCalls.current
        calls.pause = { time in
            let count = pauses.withLock { pauses in
                pauses.append(time)
                return pauses.count
            }
            if count == releasing { flock(owner.rawValue, LOCK_UN) }
            return 0
        }
        var outcome = Outcome()
        do {
            outcome.reader = try SystemCalls.$current.withValue(calls) {
                let source = try FileSource(at: path, onWaiting: { waits.withLock { $0 += 1 } })
                return try SeekableVaultReader(source, with: .key(testKey(1)))
            }
        } catch let error as VaultError {
            outcome.code = error.code
        }
        outcome.waits = waits.withLock { $0 }
        outcome.milliseconds = pauses.withLock { $0.reduce(0, +) }
        try owner.close()
        return outcome
    }

    private static func container(_ damaged: Int? = nil) throws -> [UInt8] {
        var bytes = try sealed(randomBytes(10_000, seed: 1))
        if let damaged { bytes[damaged] ^= 1 }
        return bytes
    }

    @Test("an intact container is opened without a lock") func intact() throws {
        let outcome = try Self.open(Self.container())
        #expect(outcome.reader?.opened.health == .intact && outcome.waits == 0 && outcome.milliseconds == 0)
    }

    @Test("a damaged front is reported although the lock is never released") func damagedFront() throws {
        let outcome = try Self.open(Self.container(100))
        #expect(outcome.reader?.opened.health == .frontDamaged)
        #expect(outcome.waits == 1 && outcome.milliseconds == 1980)
    }

    @Test("a file that is no container is reported although the lock is never released") func noContainer() throws {
        let outcome = try Self.open(randomBytes(5000, seed: 2))
        #expect(outcome.code == .notVaultfile)
        #expect(outcome.waits == 1 && outcome.milliseconds == 1980)
    }

    @Test("the wait ends when the lock is released") func released() throws {
        let outcome = try Self.open(Self.container(100), releasing: 3)
        #expect(outcome.reader?.opened.health == .frontDamaged)
        #expect(outcome.waits == 1 && outcome.milliseconds == 60)
    }

    @Test(
        "a change tells its caller that it waits for a lock, once for each lock",
        arguments: [nil, 100], [Change.rotating, .repairing, .reencrypting])
    fileprivate func changes(damaged: Int?, _ change: Change) throws {
        let folder = try TemporaryFolder()
        let bytes = try Self.container(damaged)
        let path = try folder.write(bytes, to: "a.vault")
        let owner = try FileDescriptor.open(path, .readOnly)
        defer { try? owner.close() }
        try #require(flock(owner.rawValue, LOCK_EX | LOCK_NB) == 0)
        let waits = Mutex(0)
        var calls = SystemCalls.current
        calls.pause = { _ in 0 }
        let faults = Faults { _ in nil }
        let error = SystemCalls.$current.withValue(calls) {
            #expect(throws: VaultError.self) {
                try faults.during { try change.run(at: path) { waits.withLock { $0 += 1 } } }
            }
        }
        #expect(error?.code == .inUse)
        // Each attempt opens the file and its folder again.
        #expect(faults.leftOpen.isEmpty)
        #expect(waits.withLock { $0 } == (damaged == nil ? 1 : 2))
        #expect(try folder.read("a.vault") == bytes)
    }

    @Test("a free lock is not waited for", arguments: [Change.rotating, .repairing, .reencrypting])
    fileprivate func freeLock(_ change: Change) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.container(100), to: "a.vault")
        var calls = SystemCalls.withoutWaiting
        // The lock is free by definition. A real one is not always: a process that another test starts holds all locks
        // of this process for an instant.
        calls.lock = { _, _ in 0 }
        calls.pause = { _ in
            Issue.record("it waits")
            return 0
        }
        try SystemCalls.$current.withValue(calls) {
            try change.run(at: path) { Issue.record("it says that it waits") }
        }
    }

    fileprivate enum Change {
        case rotating, repairing, reencrypting

        func run(at path: FilePath, _ onWaiting: @escaping @Sendable () -> Void) throws {
            let credentials = Credentials.key(testKey(1))
            var (options, reencryption) = (RotationOptions(), ReencryptionOptions())
            options.onWaiting = onWaiting
            reencryption.onWaiting = onWaiting
            switch self {
            case .rotating:
                try Vault.rotate(at: path, KeyChange(adding: [.key(testKey(2))]), with: credentials, options: options)
            case .repairing: try Vault.repair(at: path, with: credentials, options: options)
            case .reencrypting:
                try Vault.reencrypt(
                    at: path, for: [.key(testKey(1)), .key(testKey(2))], with: credentials, options: reencryption)
            }
        }
    }

    @Test("a source that has waited in vain does not wait again") func oneWait() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([1], to: "a")
        let owner = try FileDescriptor.open(path, .readOnly)
        try #require(flock(owner.rawValue, LOCK_EX | LOCK_NB) == 0)
        let pauses = Mutex(0)
        var calls = SystemCalls.current
        calls.pause = { _ in
            pauses.withLock { $0 += 1 }
            return 0
        }
        try SystemCalls.$current.withValue(calls) {
            let source = try FileSource(at: path)
            #expect(try !source.withSharedLock { $0 })
            #expect(try !source.withSharedLock { $0 })
            #expect(pauses.withLock { $0 } == 99)
            flock(owner.rawValue, LOCK_UN)
            #expect(try source.withSharedLock { $0 })
            // It has released its own.
            #expect(flock(owner.rawValue, LOCK_EX | LOCK_NB) == 0)
        }
        try owner.close()
    }
}
