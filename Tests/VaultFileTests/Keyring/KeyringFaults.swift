import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

/// Every system call of every change fails once. What remains opens, and is the old keyring or the new one.
@Suite struct KeyringFaults {
    enum Change: CaseIterable, Sendable {
        case first, generate, destroy, destroyAll, protect, protectAnew

        var isProtecting: Bool { self == .protect || self == .protectAnew }
    }

    private static let new = KeySet(keys: [testKey(2)])

    /// Makes the change, with whatever unlocks the keyring at that time.
    private static func make(_ change: Change, _ box: KeyringBox) throws {
        switch change {
        case .first: try box.generate("one")
        case .generate: try box.generate("three")
        case .destroy:
            try box.change { change in _ = try change.destroy(try #require(change.entry("one")).name) }
        case .destroyAll:
            try box.change { change in
                for entry in change.entries { try change.destroy(entry.name) }
            }
        case .protect, .protectAnew:
            let both = KeySet(keys: [testKey(1), testKey(2)])
            let isRenewing = try change == .protectAnew || Keyring.isProtected(at: box.path)
            _ = try Keyring.protect(
                at: box.path, renewing: isRenewing, unlocking: both, allowsUnprotected: change == .protect,
                with: [.key(testKey(2))])
        }
    }

    private static func states(_ box: KeyringBox) throws -> [String] {
        do { return try box.states() } catch { return try box.states(new) }
    }

    @Test(arguments: Change.allCases) func everyCall(_ change: Change) throws {
        try SystemCalls.$current.withValue(.withoutWaiting) { try tryEveryCall(change) }
    }

    private func tryEveryCall(_ change: Change) throws {
        let old = change == .first ? [] : ["one retired", "two current"]
        let done: [String] =
            switch change {
            case .first: ["one current"]
            case .generate: ["one retired", "two retired", "three current"]
            case .destroy: ["one destroyed", "two current"]
            case .destroyAll: ["one destroyed", "two destroyed"]
            case .protect, .protectAnew: old
            }
        var failing = 0
        var failed: [String: Int] = [:]
        while true {
            let box = try KeyringBox(
                protected: change != .protect, keys: change == .first ? [] : ["one", "two"])
            let number = failing
            let faults = Faults { call in call.number == number ? Errno.ioError.rawValue : nil }
            var error: (any Error)?
            faults.during {
                do { try Self.make(change, box) } catch let thrown { error = thrown }
            }
            guard failing < faults.calls.count else {
                #expect(error == nil)
                break
            }
            let name = faults.calls[failing].name
            if error != nil { failed[name, default: 0] += 1 }
            #expect(faults.leftOpen.isEmpty, "\(name), call \(failing)")
            let isThere = try box.folder.names.contains("keyring")
            let states = isThere ? try Self.states(box) : []
            #expect(states == old || states == done, "\(name), call \(failing)")
            if error == nil { #expect(states == done, "\(name), call \(failing)") }
            // No file is left behind, unless the removal failed.
            let left = try box.folder.names.filter { $0.hasPrefix(".vaultfile-") }
            #expect(left.isEmpty || name == "unlinkAt", "\(name), call \(failing)")
            // A second try succeeds.
            if change != .first || !isThere, error != nil, change != .generate || states == old {
                try Self.make(change, box)
                #expect(try Self.states(box) == done, "again after \(name), call \(failing)")
            }
            if change.isProtecting, error == nil { #expect(throws: VaultError.self) { try box.open() } }
            failing += 1
        }
        for name in ["openAt", "write", "setPermissions", "sync", "lock"] { #expect(failed[name] != nil, "\(name)") }
        if change != .first { #expect(failed["renameAt"] != nil) }
    }

    @Test("an unlock key is made completely or not at all") func unlockKey() throws {
        var failing = 0
        while true {
            let folder = try TemporaryFolder()
            let number = failing
            let faults = Faults { call in call.number == number ? Errno.noSpace.rawValue : nil }
            var error: (any Error)?
            faults.during {
                do {
                    try Keyring.makeUnlockKey(at: folder["keyring"], for: [.key(testKey(1))])
                } catch let thrown {
                    error = thrown
                }
            }
            guard failing < faults.calls.count else { break }
            if try folder.names.contains("keyring.key") {
                let box = try KeyringBox()
                try box.folder.write(try folder.read("keyring.key"), to: "keyring.key")
                try box.generate("one")
                #expect(try box.states() == ["one current"])
            } else {
                #expect(error != nil)
            }
            failing += 1
        }
        #expect(failing > 5)
    }

    @Test(
        "a file that ends too early while its text is read is an error",
        arguments: ["keyring", "keyring.key"])
    func shortened(_ name: String) throws {
        let box = try KeyringBox(keys: ["one"])
        // The only record of the text follows the front copy directly.
        let front = try Inspection(MemorySource(box.folder.read(name))).front
        let place = Int64(try #require(front.summary).capacity.bytes)
        let real = SystemCalls()
        let file = try real.statusAt(-100, box.folder[name], true).get().identity
        var calls = SystemCalls.withoutWaiting
        unsafe calls.readAt = { descriptor, buffer, offset in
            let isThere = offset == place && (try? real.status(descriptor).get().identity) == file
            return isThere ? 0 : unsafe real.readAt(descriptor, buffer, offset)
        }
        let error = SystemCalls.$current.withValue(calls) { #expect(throws: VaultError.self) { try box.open() } }
        #expect(error?.code == .truncated && error?.record == 0)
    }
}
