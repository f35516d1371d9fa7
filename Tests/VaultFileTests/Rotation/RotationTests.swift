import Synchronization
import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultTestSupport

/// What a rotation does to files, and what it refuses (Spec 13.1, 13.3).
@Suite struct RotationTests {
    private static let text = randomBytes(3 * 4096 + 17, seed: 400)
    private let old = testKey(1)
    private let new = testKey(2)
    private let other = testKey(3)

    private func container(_ recipients: [Recipient]? = nil, capacity: Int = 4096) throws -> StoredContainer {
        try StoredContainer(
            sealed(
                Self.text, for: recipients ?? [.key(old)],
                options: SealOptions(chunk: .minimum, capacity: .capacity(capacity))))
    }

    private func keys(_ keys: SymmetricKey...) -> KeySet { KeySet(keys: keys) }

    private func expect(
        _ container: StoredContainer, opensWith keys: SymmetricKey..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for key in keys {
            let reading = try container.reading(KeySet(keys: [key]))
            #expect(reading.plaintext == Self.text && reading.health == .intact, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [512, 1024, 4096, 8192]) func replacesAKey(_ capacity: Int) throws {
        let container = try container(capacity: capacity)
        let before = try container.bytes
        let inode = try Stat(container.path).inode
        let change = KeyChange(adding: [.key(new)], removing: SlotSelection(ids: [old.id]))
        let done = try Vault.rotate(at: container.path, change, with: Credentials(keys(old)))
        #expect(done.added.map(\.keyID) == [new.id] && done.removed.map(\.keyID) == [old.id])
        #expect(done.isNewHeader && !done.isRepaired && done.found == .intact)
        #expect(done.header.generation == 2 && done.header.capacity.bytes == capacity)
        try expect(container, opensWith: new)
        #expect(try container.reading(keys(old)).code == .wrongKey)
        let after = try container.bytes
        // In place from 4096 on: only the two copies change.
        #expect(done.isNewFile == (capacity < 4096))
        #expect(try (Stat(container.path).inode == inode) == (capacity >= 4096))
        let payload = capacity..<before.count - 32 - capacity
        #expect(after.count == before.count && after[payload] == before[payload])

        let again = try Vault.rotate(at: container.path, change, with: Credentials(keys(new)))
        #expect(!again.isNewHeader && again.header.generation == 2)
        #expect(try container.bytes == after)
        #expect(try container.folder.names == ["c"])
    }

    /// A program whose new slot does not open for itself learns this before any write (ROT-18).
    @Test func aPrivateSlotThatDoesNotOpen() throws {
        struct Program: KeyProvider {
            let key: SymmetricKey
            let family: PrivateSlotFamily
            let opens: Bool

            func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [key] }
            var privateSlots: [PrivateSlotFamily] { [family] }
            // Not really wrapped: this is only a test.
            func fileKey(for slot: PrivateSlot) throws -> FileKey? {
                opens ? try FileKey(bytes: slot.body.span) : nil
            }
        }
        let family = try #require(PrivateSlotFamily(type: 0x8123, idPrefix: [UInt8](repeating: 1, count: 8)))
        let own = try Recipient.privateSlot(
            family, idSuffix: [UInt8](repeating: 2, count: 8), bodyCount: 32
        ) { fileKey, _ in fileKey.secret.withBytes { [UInt8](copying: $0) } }
        let container = try container()
        let before = try container.bytes
        for opens in [false, true] {
            let code = try StoredContainer.code {
                try Vault.rotate(
                    at: container.path, KeyChange(adding: [own]),
                    with: Credentials(Program(key: old, family: family, opens: opens)))
            }
            #expect(code == (opens ? nil : .headerMalformed))
            #expect(try (container.bytes == before) == !opens)
        }
    }

    @Test func twoPassphrasesAtOnce() throws {
        let container = try container()
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let passphrases = ["one", "two", "one"].map { testPassphrase($0) }
        let done = try Vault.rotate(
            at: container.path, KeyChange(adding: passphrases.map { .passphrase($0, cheap) }),
            with: Credentials(keys(old)))
        #expect(done.added.map(\.kind) == [.passphrase, .passphrase])
        for passphrase in passphrases {
            #expect(try container.reading(KeySet(passphrases: [passphrase])).plaintext == Self.text)
        }
    }

    @Test func whatIsThereIsNotAdded() throws {
        let passphrase = testPassphrase("a passphrase")
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let container = try container([.key(old), .passphrase(passphrase, cheap)])
        let before = try container.bytes
        let same = KeyChange(
            adding: [.key(old), .key(old), .passphrase(testPassphrase("a passphrase"), cheap)],
            removing: SlotSelection(ids: [new.id], passphrases: [testPassphrase("another")]))
        let done = try Vault.rotate(at: container.path, same, with: Credentials(keys(old)))
        #expect(!done.isNewHeader && done.added.isEmpty && done.removed.isEmpty)
        #expect(try container.bytes == before)

        // A slot that is both added and removed is made again.
        let fresh = KeyChange(
            adding: [.key(old)], removing: SlotSelection(ids: [old.id], passphrases: [passphrase]))
        let made = try Vault.rotate(at: container.path, fresh, with: Credentials(keys(old)))
        #expect(made.added.map(\.keyID) == [old.id] && made.removed.count == 2)
        try expect(container, opensWith: old)
    }

    @Test func others() throws {
        let passphrase = testPassphrase("p")
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let container = try container([.key(old), .key(other), .passphrase(passphrase, cheap)])
        let change = KeyChange(
            adding: [.key(new), .passphrase(passphrase, cheap)], removing: SlotSelection(others: true))
        let done = try Vault.rotate(at: container.path, change, with: Credentials(keys(other)))
        #expect(done.removed.map(\.keyID) == [old.id, other.id] && done.added.map(\.keyID) == [new.id])
        #expect(done.header.slots.map(\.kind) == [.passphrase, .symmetric])
        try expect(container, opensWith: new)
    }

    @Test func refusesBeforeItWrites() throws {
        let container = try container([.key(old), .key(other)])
        let before = try container.bytes
        func code(_ change: KeyChange, _ keys: KeySet, context: Context = .none) throws -> VaultError.Code? {
            try StoredContainer.code {
                try Vault.rotate(at: container.path, change, with: Credentials(keys, context: context))
            }
        }
        let both = SlotSelection(ids: [old.id, other.id])
        #expect(try code(KeyChange(removing: both), keys(old)) == .lastSlot)
        #expect(try code(KeyChange(removing: SlotSelection(others: true)), keys(old)) == .lastSlot)
        #expect(try code(KeyChange(removing: SlotSelection(ids: [old.id])), keys(old)) == .consentNeeded)
        #expect(try code(KeyChange(adding: [.key(new)]), keys(new)) == .wrongKey)
        #expect(try code(KeyChange(adding: [.key(new)]), keys(old), context: testContext("c")) == .wrongKey)
        let dear = Recipient.passphrase(testPassphrase("p"), Argon2Parameters(passes: 1, memoryKiB: 8))
        #expect(try code(KeyChange(adding: [dear]), keys(old)) == .invalidArgument)
        #expect(try container.bytes == before)

        var options = RotationOptions()
        options.mayLoseAccess = true
        try Vault.rotate(
            at: container.path, KeyChange(removing: SlotSelection(ids: [old.id])), with: Credentials(keys(old)),
            options: options)
        try expect(container, opensWith: other)
    }

    @Test("no lock is held while a person is asked for keys") func failingProvider() throws {
        struct Gone: Error {}
        struct Service: KeyProvider {
            func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { throw Gone() }
        }
        let container = try container([.key(old)])
        let faults = Faults { _ in nil }
        faults.during {
            _ = #expect(throws: Gone.self) {
                try Vault.rotate(at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(Service()))
            }
        }
        #expect(!faults.calls.contains { $0.name == "lock" })
        try faults.during {
            _ = try Vault.rotate(at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
        }
        #expect(faults.calls.contains { $0.name == "lock" })
    }

    @Test func growsWhenTheSlotsDoNotFit() throws {
        let container = try container(capacity: 512)
        let many = (10..<60).map { testKey(UInt8($0)) }
        var options = RotationOptions()
        options.isDryRun = true
        let change = KeyChange(adding: many.map { .key($0) })
        let before = try container.bytes
        let foreseen = try Vault.rotate(at: container.path, change, with: Credentials(keys(old)), options: options)
        #expect(foreseen.isNewFile && foreseen.header.capacity.bytes == 8192)
        #expect(try container.bytes == before)
        let done = try Vault.rotate(at: container.path, change, with: Credentials(keys(old)))
        #expect(done.isNewFile && done.header.capacity.bytes == 8192 && done.header.slots.count == 51)
        try expect(container, opensWith: old, many[0], many[49])
        // The next change after it is in place.
        #expect(
            try !Vault.rotate(at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
                .isNewFile)
        try expect(container, opensWith: new)
        let tooMany = KeyChange(adding: (0..<1025).map { .key(testKey(randomBytes(32, seed: 9000 + UInt64($0)))) })
        #expect(
            try StoredContainer.code { try Vault.rotate(at: container.path, tooMany, with: Credentials(keys(old))) }
                == .doesNotFit)
        try expect(container, opensWith: old)
    }

    @Test func modeAndLinks() throws {
        let container = try container(capacity: 512)
        let folder = container.folder
        try folder.makeLink("link", to: "c")
        let file = try FileDescriptor.open(container.path, .readOnly)
        #expect(SystemCalls.current.setPermissions(file.rawValue, 0o640) == 0)
        try file.close()
        // Through a symbolic link the file itself changes, and the link stays.
        try Vault.rotate(at: folder["link"], KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
        #expect(try Stat(folder["link"], followTargetSymlink: false).type == .symbolicLink)
        #expect(try Stat(container.path).permissions.rawValue & 0o777 == 0o640)
        try expect(container, opensWith: old, new)

        #expect(SystemCalls.current.linkAt(-100, container.path, -100, folder["hard"], 0) == 0)
        let before = try container.bytes
        let change = KeyChange(adding: [.key(other)])
        #expect(
            try StoredContainer.code { try Vault.rotate(at: container.path, change, with: Credentials(keys(old))) }
                == .hardLinks)
        #expect(try container.bytes == before)
        var options = RotationOptions()
        options.isDryRun = true
        #expect(
            try StoredContainer.code {
                try Vault.rotate(at: container.path, change, with: Credentials(keys(old)), options: options)
            } == .hardLinks)
        options.isDryRun = false
        options.mayBreakLinks = true
        try Vault.rotate(at: container.path, change, with: Credentials(keys(old)), options: options)
        #expect(try folder.read("hard") == before)
        try expect(container, opensWith: other)
    }

    @Test func inPlaceAllNamesSeeTheChange() throws {
        let container = try container()
        #expect(SystemCalls.current.linkAt(-100, container.path, -100, container.folder["hard"], 0) == 0)
        try Vault.rotate(at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
        #expect(try container.folder.read("hard") == container.bytes)
        try expect(container, opensWith: old, new)
    }

    @Test func locked() throws {
        let container = try container()
        let before = try container.bytes
        // LOCK_EX | LOCK_NB, held by another process; a reader's reading does not hinder it.
        let holder = try FileDescriptor.open(container.path, .readOnly)
        #expect(SystemCalls.current.lock(holder.rawValue, 2 | 4) == 0)
        var quick = SystemCalls()
        quick.pause = { _ in 0 }
        let code = try SystemCalls.$current.withValue(quick) {
            try StoredContainer.code {
                try Vault.rotate(at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
            }
        }
        #expect(code == .inUse)
        #expect(try container.bytes == before)
        try holder.close()
        try Vault.rotate(at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
        try expect(container, opensWith: old, new)
    }

    /// Otherwise the file that has lost its name would get the new key, and the file under the name would not (ROT-1).
    @Test("the file that is changed is the one that has the path when it is locked") func replacedBeforeTheLock() throws
    {
        let container = try container()
        let before = try container.bytes
        let (path, newer) = (container.path, try container.folder.write(before, to: "newer"))
        #expect(SystemCalls.current.linkAt(-100, path, -100, container.folder["lost"], 0) == 0)
        var calls = SystemCalls()
        calls.pause = { _ in 0 }
        let lock = calls.lock
        let isReplaced = Mutex(false)
        calls.lock = { file, operation in
            let isFirst = isReplaced.withLock { isReplaced in
                // LOCK_EX
                guard !isReplaced, operation & 2 != 0 else { return false }
                isReplaced = true
                return true
            }
            if isFirst { _ = SystemCalls().renameAt(-100, newer, path) }
            return lock(file, operation)
        }
        try SystemCalls.$current.withValue(calls) {
            _ = try Vault.rotate(at: path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
        }
        try expect(container, opensWith: old, new)
        #expect(try container.folder.read("lost") == before)
        #expect(try container.folder.names == ["c", "lost"])
    }

    @Test("the only copy is not replaced on a medium that loses writes") func lyingMedium() throws {
        for operation in [0, 1] {
            for lie in 0..<8 {
                let container = try container(capacity: 512)
                let before = try container.bytes
                let real = SystemCalls()
                let count = Mutex(0)
                var lying = SystemCalls()
                unsafe lying.write = { file, bytes in
                    let number = count.withLock { count in
                        defer { count += 1 }
                        return count
                    }
                    guard number == lie, bytes.count > 100 else { return unsafe real.write(file, bytes) }
                    _ = unsafe real.write(file, UnsafeRawBufferPointer(rebasing: bytes.prefix(100)))
                    return bytes.count
                }
                let code = try SystemCalls.$current.withValue(lying) {
                    try StoredContainer.code {
                        if operation == 0 {
                            try Vault.rotate(
                                at: container.path, KeyChange(adding: [.key(new)]), with: Credentials(keys(old)))
                        } else {
                            try Vault.reencrypt(at: container.path, for: [.key(old)], with: Credentials(keys(old)))
                        }
                    }
                }
                guard code == nil || lie >= count.withLock({ $0 }) else {
                    #expect(code == .outputFailed)
                    #expect(try container.bytes == before)
                    continue
                }
                try expect(container, opensWith: old)
            }
        }
    }

    @Test func whatIsNoContainer() throws {
        let folder = try TemporaryFolder()
        let change = KeyChange(adding: [.key(new)])
        func code(_ name: String) throws -> VaultError.Code? {
            try StoredContainer.code { try Vault.rotate(at: folder[name], change, with: Credentials(keys(old))) }
        }
        try folder.write([], to: "empty")
        try folder.write([UInt8]("text".utf8), to: "text")
        try folder.makeFolder("folder")
        #expect(try code("empty") == .truncated)
        #expect(try code("text") == .notVaultfile)
        #expect(try code("folder") == .inputFailed)
        #expect(try code("missing") == .inputFailed)
        #expect(
            try StoredContainer.code { try Vault.rotate(at: "/dev/null", change, with: Credentials(keys(old))) }
                == .inputFailed)
    }
}
