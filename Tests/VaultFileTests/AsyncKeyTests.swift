import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultSystem
import VaultTestSupport

extension AsyncTests {
    /// Asynchronous changes of keys: their results, and their cancellation while they wait for a lock.
    @Suite struct Keys {
        private static let name = KeyName("one")
        private let folder: TemporaryFolder
        private let old = KeySet(keys: [testKey(1)])
        private let new = KeySet(keys: [testKey(2)])

        init() throws {
            folder = try TemporaryFolder()
        }

        @Test("a keyring is made, gets other unlockers, and gets a new unlock key") func keyring() async throws {
            let (path, name) = (folder["keyring"], try #require(Self.name))
            let entry = try await Keyring.create(at: path, for: [.key(testKey(1))], first: name)
            #expect(try await Keyring.open(at: path, unlocking: old).current == entry)
            let exists = await #expect(throws: VaultError.self) {
                try await Keyring.create(at: path, for: [.key(testKey(1))], first: name)
            }
            #expect(exists?.code == .outputExists)

            let changed = try await Keyring.changeUnlockers(
                at: path, KeyChange(adding: [.key(testKey(2))], removing: SlotSelection(ids: [testKey(1).id])),
                unlocking: old)
            #expect(changed.result.added.map(\.keyID) == [testKey(2).id])
            #expect(changed.result.removed.map(\.keyID) == [testKey(1).id])
            #expect(try await Keyring.open(at: path, unlocking: new).current == entry)

            let traces = try await Keyring.protect(
                at: path, renewing: true, unlocking: new, with: [.key(testKey(1))])
            #expect(traces.exchange == .done && traces.unlockKey == .overwritten)
            #expect(try await Keyring.open(at: path, unlocking: old).entries == [entry])
        }

        @Test("an unlock key is made before its keyring") func unlockKey() async throws {
            let path = folder["keyring"]
            try await Keyring.makeUnlockKey(at: path, for: [.key(testKey(1))])
            #expect(try folder.names == ["keyring.key"])
            let empty = await #expect(throws: VaultError.self) { try await Keyring.makeUnlockKey(at: path, for: []) }
            #expect(empty?.code == .lastSlot)
        }

        @Test("a file in an open folder is rotated, repaired and re-encrypted") func places() async throws {
            try folder.write(try sealed([1, 2, 3]), to: "vault")
            let open = try FileDescriptor.open(folder.path, .readOnly)
            defer { try? open.close() }
            let place = FilePlace.name("vault", in: open)
            let rotation = try await Vault.rotate(
                at: place, KeyChange(adding: [.key(testKey(2))]), with: Credentials(old))
            #expect(rotation.added.count == 1)
            #expect(try await !Vault.repair(at: place, with: Credentials(new)).isRepaired)
            var options = ReencryptionOptions()
            options.mayLoseSlots = true
            let result = try await Vault.reencrypt(
                at: place, for: [.key(testKey(2))], with: Credentials(old), options: options)
            #expect(result.lost.map(\.keyID) == [testKey(1).id])
            let reader = try await SeekableVaultReader(FileSource(at: place), with: Credentials(new))
            #expect(try await reader.bytes(0..<3) == [1, 2, 3])
        }

        /// A call that waits while another program holds the lock on a file.
        enum Locked: CaseIterable {
            case rotating, repairing, reencrypting, creating, changing, protecting, changingUnlockers

            var file: String {
                switch self {
                case .rotating, .repairing, .reencrypting: "vault"
                case .creating, .changing, .protecting, .changingUnlockers: "keyring.key"
                }
            }
        }

        @Test("a cancelled task ends its wait for a lock and changes nothing", arguments: Locked.allCases)
        func locked(_ call: Locked) async throws {
            let (path, name) = (folder["keyring"], try #require(Self.name))
            try folder.write(try sealed([1, 2, 3]), to: "vault")
            if call == .creating {
                try await Keyring.makeUnlockKey(at: path, for: [.key(testKey(1))])
            } else {
                try await Keyring.create(at: path, for: [.key(testKey(1))], first: name)
            }
            let names = try folder.names
            let before = try names.map { try folder.read($0) }
            let holder = try FileDescriptor.open(folder[call.file], .readOnly)
            defer { try? holder.close() }
            #expect(SystemCalls.current.lock(holder.rawValue, 2 | 4) == 0, "LOCK_EX | LOCK_NB")

            let (vault, keys) = (folder["vault"], old)
            let change = KeyChange(adding: [.key(testKey(2))])
            let task = Task {
                switch call {
                case .rotating: _ = try await Vault.rotate(at: vault, change, with: Credentials(keys))
                case .repairing: _ = try await Vault.repair(at: vault, with: Credentials(keys))
                case .reencrypting:
                    _ = try await Vault.reencrypt(at: vault, for: [.key(testKey(1))], with: Credentials(keys))
                case .creating: _ = try await Keyring.create(at: path, for: [.key(testKey(1))], first: name)
                case .changing:
                    _ = try await Keyring.change(at: path, unlocking: keys) { try $0.retire($0.entries[0].name) }
                case .protecting:
                    _ = try await Keyring.protect(at: path, renewing: true, unlocking: keys, with: [.key(testKey(2))])
                case .changingUnlockers:
                    _ = try await Keyring.changeUnlockers(at: path, change, unlocking: keys)
                }
            }
            // From a thread of its own: a busy machine may resume a sleeping task after the wait for the lock has ended.
            try Thread.start {
                _ = SystemCalls().pause(100)
                task.cancel()
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try folder.names == names && names.map { try folder.read($0) } == before)
        }

        /// A call that reads a whole container and then changes it.
        enum Reading: CaseIterable {
            case repairingTheEnd, rotatingIntoALargerHeader, reencrypting
        }

        @Test("a cancelled task ends a change while it reads the container", arguments: Reading.allCases)
        func reading(_ call: Reading) async throws {
            var container = try sealed(mixedBytes(6 << 20, seed: 43))
            if call == .repairingTheEnd { container[container.count - 1] ^= 1 }
            try folder.write(container, to: "vault")
            let (vault, credentials) = (folder["vault"], Credentials(old))
            // The call is in the middle of its reading until the task is cancelled.
            let (isReading, mayGoOn) = (Monitor(false), Monitor(false))
            let onProgress: @Sendable (UInt64) -> Void = { _ in
                isReading.withLock { $0 = true }
                mayGoOn.wait { $0 ? () : nil }
            }
            let task = Task {
                var (options, reencryption) = (RotationOptions(), ReencryptionOptions())
                (options.onProgress, reencryption.onProgress) = (onProgress, onProgress)
                switch call {
                case .repairingTheEnd: _ = try await Vault.repair(at: vault, with: credentials, options: options)
                case .rotatingIntoALargerHeader:
                    let more = (10..<90).map { Recipient.key(testKey($0)) }
                    _ = try await Vault.rotate(
                        at: vault, KeyChange(adding: more), with: credentials, options: options)
                case .reencrypting:
                    _ = try await Vault.reencrypt(
                        at: vault, for: [.key(testKey(1))], with: credentials, options: reencryption)
                }
            }
            while !isReading.look({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
            task.cancel()
            mayGoOn.withLock { $0 = true }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try folder.read("vault") == container)
        }
    }
}
