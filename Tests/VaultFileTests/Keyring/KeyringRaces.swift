import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultSystem
import VaultTestSupport

/// Several changes of one keyring at once: each keeps what the others did, and the two files belong together.
@Suite struct KeyringRaces {
    /// A condition that threads wait for.
    private final class Gate: Sendable {
        private let isOpen = Monitor(false)

        func open() { isOpen.withLock { $0 = true } }
        func wait() { isOpen.wait { $0 ? () : nil } }
    }

    enum Deed: String, CaseIterable, Sendable {
        case generate, destroy, protect, renew, addUnlocker

        func run(_ box: KeyringBox) throws {
            switch self {
            case .generate:
                try box.change { change in
                    try change.generate(named: try #require(KeyName("new")), created: Timestamp(seconds: 0))
                }
            case .destroy: _ = try box.destroy("two")
            case .protect, .renew:
                let unlockers: [Recipient] = [.key(testKey(1))] + (self == .renew ? [] : [.key(testKey(2))])
                _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: unlockers)
            case .addUnlocker:
                _ = try Keyring.changeUnlockers(
                    at: box.path, KeyChange(adding: [.key(testKey(2))]), unlocking: box.unlocker)
            }
        }

        var states: [String] {
            let second = self == .destroy ? "two destroyed" : self == .generate ? "two retired" : "two current"
            return ["one destroyed", second] + (self == .generate ? ["new current"] : [])
        }
    }

    /// The first change stops when its new unlock file has its name and the keyring file still has slots of both keys.
    /// Then the second change begins, and must wait. If it does not, it puts a keyring of its own in place, and lets
    /// the first end before it goes on.
    @Test("no other program makes a change between the steps of an exchange", arguments: Deed.allCases)
    func betweenTheSteps(_ deed: Deed) throws {
        let box = try KeyringBox(keys: ["one", "two"])
        let (hasKey, mayGoOn, isDone, secondIsDone) = (Gate(), Gate(), Gate(), Gate())
        let hadToWait = Mutex(false)
        let failures = Mutex<[String]>([])

        var first = SystemCalls.withoutWaiting
        let renamed = Mutex((isRenamed: false, hasStopped: false))
        let (firstRename, firstOpen) = (first.renameAt, first.openAt)
        first.renameAt = { folder, old, new in
            let result = firstRename(folder, old, new)
            if new.string.hasSuffix(".key") { renamed.withLock { $0.isRenamed = true } }
            return result
        }
        first.openAt = { folder, path, flags, mode in
            let stops = renamed.withLock { state in
                guard state.isRenamed, !state.hasStopped else { return false }
                state.hasStopped = true
                return true
            }
            if stops {
                hasKey.open()
                mayGoOn.wait()
            }
            return firstOpen(folder, path, flags, mode)
        }

        var second = SystemCalls.withoutWaiting
        let replaced = Mutex((isRenamed: false, hasStopped: false))
        let (secondRename, secondWrite, pause) = unsafe (second.renameAt, second.writeAt, second.pause)
        second.renameAt = { folder, old, new in
            let result = secondRename(folder, old, new)
            replaced.withLock { $0.isRenamed = true }
            return result
        }
        unsafe second.writeAt = { file, bytes, offset in
            let stops = replaced.withLock { state in
                guard state.isRenamed, !state.hasStopped else { return false }
                state.hasStopped = true
                return true
            }
            if stops {
                mayGoOn.open()
                isDone.wait()
            }
            return unsafe secondWrite(file, bytes, offset)
        }
        second.pause = { milliseconds in
            hadToWait.withLock { $0 = true }
            mayGoOn.open()
            return pause(milliseconds)
        }

        let (firstCalls, secondCalls) = (first, second)
        try Thread.start {
            SystemCalls.$current.withValue(firstCalls) {
                do { _ = try box.destroy("one") } catch { failures.withLock { $0.append("the first: \(error)") } }
            }
            hasKey.open()
            isDone.open()
        }
        hasKey.wait()
        try Thread.start {
            SystemCalls.$current.withValue(secondCalls) {
                do { try deed.run(box) } catch { failures.withLock { $0.append("the second: \(error)") } }
            }
            mayGoOn.open()
            secondIsDone.open()
        }
        isDone.wait()
        secondIsDone.wait()
        #expect(renamed.withLock { $0.hasStopped })
        #expect(hadToWait.withLock { $0 })
        #expect(failures.withLock { $0 } == [])
        #expect(try box.states() == deed.states)
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }

    @Test("changes of all kinds at the same time") func manyRounds() throws {
        let box = try KeyringBox(keys: ["first"])
        let (threads, rounds) = (3, 4)
        let left = Monitor(threads)
        let failures = Mutex<[String]>([])
        for thread in 0..<threads {
            try Thread.start {
                SystemCalls.$current.withValue(.withoutWaiting) {
                    for round in 0..<rounds {
                        let name = "key\(thread).\(round)"
                        let deeds: [() throws -> Void] = [
                            { try box.generate(name) },
                            {
                                _ = try Keyring.protect(
                                    at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
                            },
                            { _ = try box.destroy(name) },
                            {
                                let change = KeyChange(adding: [.key(testKey(UInt8(10 + thread)))])
                                _ = try Keyring.changeUnlockers(at: box.path, change, unlocking: box.unlocker)
                            },
                        ]
                        for deed in deeds {
                            do { try Self.untilFree(deed) } catch { failures.withLock { $0.append("\(error)") } }
                        }
                    }
                }
                left.withLock { $0 -= 1 }
            }
        }
        left.wait { $0 == 0 ? () : nil }
        #expect(failures.withLock { $0 } == [])
        let states = try box.states()
        #expect(states.count == 1 + threads * rounds)
        #expect(states.filter { !$0.hasSuffix(" destroyed") } == ["first retired"])
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }

    /// A caller who learns that others go on changing the keyring has changed nothing, and tries again.
    private static func untilFree(_ deed: () throws -> Void) throws {
        while true {
            do {
                return try deed()
            } catch let error as VaultError {
                guard error.code == .inUse else { throw error }
            }
        }
    }
}
