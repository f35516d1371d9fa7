import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

/// What a keyring leaves behind, and what others put in its place during a change.
@Suite struct KeyringTraces {
    /// The files of a keyring over time. Each is held open, so that it can be read when it has no name any more.
    private final class History {
        private let box: KeyringBox
        private var files: [FileDescriptor] = []
        /// The contents of the files while they had a name.
        private(set) var before: [[UInt8]] = []

        init(_ box: KeyringBox) {
            self.box = box
        }

        deinit {
            for file in files { try? file.close() }
        }

        func hold() throws {
            for name in ["keyring", "keyring.key"] {
                files.append(try FileDescriptor.open(box.folder[name], .readOnly))
                before.append(try box.folder.read(name))
            }
        }

        /// The contents of the files now.
        var now: [[UInt8]] {
            get throws {
                try files.map { file in
                    var bytes = [UInt8](repeating: 1, count: 100_000)
                    var span = bytes.mutableSpan
                    let count = try file.readSome(at: 0, into: &span)
                    return Array(bytes.prefix(count))
                }
            }
        }
    }

    @Test("no older copy of a keyring opens after a key was destroyed", arguments: [true, false])
    func everyEarlierFile(_ isProtected: Bool) throws {
        let box = try KeyringBox(protected: isProtected)
        let history = History(box)
        for name in ["one", "two"] {
            try box.generate(name)
            try history.hold()
        }
        let traces = try box.destroy("one")
        #expect(traces.keyring == .overwritten && traces.unlockKey == .overwritten && traces.exchange == .done)
        #expect(try box.states() == ["one destroyed", "two current"])
        for (old, new) in zip(history.before, try history.now) {
            #expect(old.count > 50 && old.contains { $0 != 0 })
            #expect(new.count == old.count && new.allSatisfy { $0 == 0 })
        }
        // Even if a medium kept the bytes, the old keyring does not open with the new unlock key.
        for old in [history.before[0], history.before[2]] {
            let there = try box.folder.read("keyring")
            try box.folder.write(old, to: "keyring")
            let error = #expect(throws: VaultError.self) { try box.open() }
            #expect(error?.code == .keyringMismatch)
            try box.folder.write(there, to: "keyring")
        }
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }

    @Test("all unlockers keep access: if not all are given, the unlock key is not exchanged")
    func unlockersStay() throws {
        let (passphrase, other) = (testPassphrase("secret"), testPassphrase("other"))
        let box = try KeyringBox(keys: ["one", "two", "three"])
        _ = try Keyring.changeUnlockers(
            at: box.path, KeyChange(adding: [.passphrase(passphrase, cheap)]), unlocking: box.unlocker)
        let key = try box.folder.read("keyring.key")
        let traces = try box.destroy("one")
        #expect(traces.keyring == .overwritten && traces.unlockKey == .notNeeded)
        #expect(traces.exchange == .othersUnlockIt)
        #expect(try box.folder.read("keyring.key") == key)
        #expect(try box.states(KeySet(passphrases: [passphrase])).first == "one destroyed")
        _ = try Keyring.changeUnlockers(
            at: box.path, KeyChange(removing: SlotSelection(ids: [testKey(1).id])),
            unlocking: KeySet(passphrases: [passphrase]))
        let both = KeySet(passphrases: [other, passphrase])
        let alone = try Keyring.change(at: box.path, unlocking: both) { change in
            try change.destroy(try #require(change.entry("two")).name)
        }.traces
        #expect(alone.exchange == .done && alone.unlockKey == .overwritten)
        #expect(try box.folder.read("keyring.key") != key)
        #expect(throws: VaultError.self) { try box.open(KeySet(passphrases: [other])) }
        #expect(try box.states(KeySet(passphrases: [passphrase])).last == "three current")
        let seen = try Inspection(FileSource(at: box.folder["keyring.key"]))
        #expect(seen.front.summary?.slots.map(\.argon2) == [cheap])
    }

    @Test("an unlocker that is added while a key is destroyed keeps access") func addedMeanwhile() throws {
        let box = try KeyringBox(keys: ["one"])
        // After the .key file was read, before it is locked.
        let unlocking = KeyringTests.Intruder(box.unlocker) {
            _ = try Keyring.changeUnlockers(
                at: box.path, KeyChange(adding: [.key(testKey(2))]), unlocking: KeySet(keys: [testKey(1)]))
        }
        let traces = try Keyring.change(at: box.path, unlocking: unlocking) { change in
            try change.destroy(try #require(change.entry("one")).name)
        }.traces
        #expect(traces.exchange == .othersUnlockIt)
        #expect(try box.states(KeySet(keys: [testKey(2)])) == ["one destroyed"])
        #expect(try box.states() == ["one destroyed"])
    }

    /// A keyring with slots of two unlock keys, as a `protect` leaves it that cannot replace its unlock file.
    private func interrupted() throws -> KeyringBox {
        let box = try KeyringBox(keys: ["one"])
        let renames = Mutex(0)
        let faults = Faults { call in
            guard call.name == "renameAt" else { return nil }
            return renames.withLock { exchange(&$0, with: $0 + 1) } == 1 ? Errno.ioError.rawValue : nil
        }
        let error = faults.during { #expect(throws: VaultError.self) { try protect(box) } }
        #expect(error?.code == .outputFailed)
        #expect(try slotCount(box) == 2)
        return box
    }

    private func protect(_ box: KeyringBox) throws {
        _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
    }

    private func slotCount(_ box: KeyringBox) throws -> Int? {
        try Inspection(FileSource(at: box.path)).front.summary?.slots.count
    }

    private func addUnlocker(_ box: KeyringBox) throws -> Keyring.Traces {
        let change = KeyChange(adding: [.key(testKey(2))])
        return try Keyring.changeUnlockers(at: box.path, change, unlocking: box.unlocker).traces
    }

    @Test("the next change finishes an interrupted exchange and reports its reason")
    func interruptedExchange() throws {
        let box = try interrupted()
        let traces = try addUnlocker(box)
        #expect(traces.exchange == .done && traces.reason == .interrupted)
        #expect(traces.keyring == .overwritten && traces.unlockKey == .overwritten)
        #expect(try slotCount(box) == 1)
        #expect(try box.states(KeySet(keys: [testKey(2)])) == ["one current"])
        #expect(try addUnlocker(box).reason == nil)
        let destroying = try box.destroy("one")
        #expect(destroying.exchange == .othersUnlockIt && destroying.reason == .destroyedKey)
        // A change that destroys nothing does not exchange the unlock key if one of its holders is absent.
        let other = try interrupted()
        try Vault.rotate(
            at: Keyring.unlockKeyPath(of: other.path), KeyChange(adding: [.key(testKey(2))]),
            with: Credentials(other.unlocker, context: Context(Array("vaultfile keyring key".utf8))))
        let second = try addUnlocker(other)
        #expect(second.exchange == .othersUnlockIt && second.reason == .interrupted)
        #expect(try slotCount(other) == 1)
    }

    @Test("unauthenticated slots do not count as an interrupted exchange") func forgedSlots() throws {
        let box = try interrupted()
        let two = try box.folder.read("keyring")
        try protect(box)
        let one = try box.folder.read("keyring")
        // Adds a slot of the keyring that had two to the tail, with a right checksum, which needs no key.
        let capacity = try #require(HeaderCopy.claimedCapacity(one[..<HeaderCopy.prefixCount])).bytes
        let added = try #require(try HeaderCopy(parsing: Array(two[..<capacity])).slots.first).bytes
        let end =
            HeaderCopy.slotsOffset + (try HeaderCopy(parsing: Array(one[..<capacity])).slots.first?.bytes.count ?? 0)
        var tail = Array(one[..<capacity])
        tail[73] = 2
        tail.replaceSubrange(end..<end + added.count, with: added)
        let place = try #require(one.indices.dropLast(capacity).last { one[$0..<$0 + capacity] == one[..<capacity] })
        let forged = Array(one[..<place]) + withChecksum(tail) + one[(place + capacity)...]
        try box.folder.write(forged, to: "keyring")
        let seen = try Inspection(FileSource(at: box.path))
        #expect(seen.front.summary?.slots.count == 1 && seen.tail.summary?.slots.count == 2)
        let traces = try Keyring.change(at: box.path, unlocking: box.unlocker) { change in
            try change.generate(named: try #require(KeyName("two")), created: Timestamp(seconds: 0))
        }.traces
        #expect(traces.exchange == .notNeeded && traces.reason == nil)
        #expect(try box.states() == ["one retired", "two current"])
    }

    @Test("an old file under another name is not changed, and that is reported") func hardLinks() throws {
        let box = try KeyringBox(keys: ["one"])
        let here: Int32 = -100
        for name in ["keyring", "keyring.key"] {
            #expect(SystemCalls().linkAt(here, box.folder[name], here, box.folder["backup of \(name)"], 0) == 0)
        }
        let before = try box.folder.read("backup of keyring")
        let traces = try box.destroy("one")
        #expect(traces.keyring == .linkedElsewhere && traces.unlockKey == .linkedElsewhere)
        #expect(try box.folder.read("backup of keyring") == before)
        #expect(try box.states() == ["one destroyed"])
        let next = try Keyring.change(at: box.path, making: true, unlocking: box.unlocker) { change in
            try change.generate(named: try #require(KeyName("two")), created: Timestamp(seconds: 0))
        }.traces
        #expect(next.keyring == .overwritten && next.exchange == .notNeeded)
    }

    @Test("a file that could not be overwritten is reported") func failedErasures() throws {
        let box = try KeyringBox(keys: ["one"])
        let failed = Keyring.Erasure.failed(
            VaultError(.outputFailed, "writing failed", errorNumber: Errno.ioError.rawValue))
        // The old keyring file, the one that both unlock keys open, the old unlock key.
        for number in 0..<3 {
            let count = Mutex(0)
            let faults = Faults { call in
                guard call.name == "writeAt" else { return nil }
                let current = count.withLock { count in
                    defer { count += 1 }
                    return count
                }
                return current == number ? Errno.ioError.rawValue : nil
            }
            let traces = try faults.during {
                try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
            }
            #expect(count.withLock { $0 } == 3)
            #expect(traces.keyring == (number < 2 ? failed : .overwritten))
            #expect(traces.unlockKey == (number == 2 ? failed : .overwritten))
            #expect(try box.states() == ["one current"])
        }
    }

    @Test("only the owner may read the new files, even if others could read the old ones") func modes() throws {
        let box = try KeyringBox(keys: ["one"])
        let files = ["keyring", "keyring.key"]
        for name in files {
            let file = try FileDescriptor.open(box.folder[name], .readOnly)
            defer { try? file.close() }
            #expect(SystemCalls().setPermissions(file.rawValue, 0o644) == 0)
        }
        _ = try box.destroy("one")
        for name in files { #expect(try Stat(box.folder[name]).permissions == .ownerReadWrite) }
    }

    // MARK: Others

    /// Puts a file in the place of another, like a restore or a synchronisation.
    private func rename(_ bytes: [UInt8], over name: String, _ box: KeyringBox) throws {
        let path = try box.folder.write(bytes, to: "restored")
        let here: Int32 = -100
        #expect(SystemCalls().renameAt(here, path, box.folder[name]) == 0)
    }

    @Test("a keyring that another program has put there meanwhile is changed, not overwritten") func restored() throws {
        let box = try KeyringBox(keys: ["one"])
        let first = try box.folder.read("keyring")
        try box.generate("two")
        let second = try box.folder.read("keyring")
        try rename(first, over: "keyring", box)
        var calls = 0
        try box.change { change in
            calls += 1
            if calls == 1 { try rename(second, over: "keyring", box) }
            try change.generate(named: try #require(KeyName("three")), created: Timestamp(seconds: 0))
        }
        #expect(calls == 2)
        #expect(try box.states() == ["one retired", "two retired", "three current"])
        // If another program never stops, its file stays.
        let error = #expect(throws: VaultError.self) {
            try box.change { change in
                try rename(second, over: "keyring", box)
                try change.generate(named: try #require(KeyName("four")), created: Timestamp(seconds: 0))
            }
        }
        #expect(error?.code == .inUse)
        #expect(try box.folder.read("keyring") == second)
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }

    @Test("an unlock key that another program has put there meanwhile is not changed") func restoredUnlockKey() throws {
        let box = try KeyringBox(keys: ["one"])
        let key = try box.folder.read("keyring.key")
        let wasThere = Mutex(false)
        var calls = SystemCalls()
        let write = unsafe calls.write
        unsafe calls.write = { file, bytes in
            if !wasThere.withLock({ exchange(&$0, with: true) }) { try? rename(key, over: "keyring.key", box) }
            return unsafe write(file, bytes)
        }
        let error = #expect(throws: VaultError.self) {
            try SystemCalls.$current.withValue(calls) {
                try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(2))])
            }
        }
        #expect(error?.code == .inUse)
        #expect(try box.folder.read("keyring.key") == key)
        #expect(try box.states() == ["one current"])
    }

    @Test("a file that does not read back as it was written replaces nothing") func lostOnTheWay() throws {
        let box = try KeyringBox(keys: ["one"])
        let before = try box.folder.read("keyring")
        var calls = SystemCalls()
        let write = unsafe calls.write
        unsafe calls.write = { file, bytes in
            unsafe [UInt8](repeating: 0, count: bytes.count).withUnsafeBytes { unsafe write(file, $0) }
        }
        let error = #expect(throws: VaultError.self) {
            try SystemCalls.$current.withValue(calls) { try box.generate("two") }
        }
        #expect(error?.code == .outputFailed)
        #expect(try box.folder.read("keyring") == before)
        #expect(try box.states() == ["one current"])
    }

    @Test("a file that was changed in place is read again") func changedInPlace() throws {
        let box = try KeyringBox(keys: ["one"])
        let whole = try box.folder.read("keyring")
        var calls = SystemCalls()
        let openAt = calls.openAt
        let opened = Mutex(0)
        // The same file under the same name: cut short during one opening, whole again before the next.
        calls.openAt = { folder, path, flags, mode in
            if path == box.path {
                let number = opened.withLock { exchange(&$0, with: $0 + 1) }
                _ = try? box.folder.write(number == 0 ? Array(whole.dropLast(600)) : whole, to: "keyring")
            }
            return openAt(folder, path, flags, mode)
        }
        let states = try SystemCalls.$current.withValue(calls) { try box.states() }
        #expect(states == ["one current"])
        #expect(opened.withLock { $0 } == 2)
    }
}
