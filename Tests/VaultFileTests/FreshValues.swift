import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultTestSupport

/// What must be random in a container and new in each one: the file key, the file ID, the nonces of slots and the salts
/// of passphrases. Under a file key that is known or used twice, nothing that a container encrypts is secret, and no
/// reader would notice.
@Suite struct FreshValues {
    private static let text = mixedBytes(5000, seed: 700)
    private static let passphrases = ["one", "two"].map { testPassphrase($0) }
    private static let recipients: [Recipient] =
        [.key(testKey(1)), .key(testKey(2))] + passphrases.map { .passphrase($0, cheap) }

    private static func options(_ compression: Compression) -> SealOptions {
        SealOptions(chunk: .minimum, compression: compression)
    }

    /// All values of a test that must be random, in pieces of 8 bytes. No piece may occur twice: a value that is fixed,
    /// that is random only in part, or that is used for two purposes repeats one.
    private struct Draws {
        private static let pieceCount = 8
        private var names: [[UInt8]: String] = [:]
        private var slots: Set<Slot> = []

        mutating func add(_ value: [UInt8], _ name: String) {
            #expect(!value.isEmpty && value.count.isMultiple(of: Self.pieceCount))
            for start in stride(from: 0, to: value.count, by: Self.pieceCount) {
                let piece = [UInt8](value[start..<start + Self.pieceCount])
                #expect(!piece.allSatisfy { $0 == 0 }, "\(name)")
                let other = names.updateValue("\(name), byte \(start)", forKey: piece)
                #expect(other == nil, "\(name), byte \(start), repeats \(other ?? "")")
            }
        }

        mutating func add(_ key: SymmetricKey, _ name: String) {
            add(key.withBytes { [UInt8](copying: $0) }, name)
        }

        /// Adds the values of slots that were not added before.
        mutating func add(slotsOf copy: HeaderCopy, _ name: String) {
            for (index, slot) in copy.slots.enumerated() where slots.insert(slot).inserted {
                add([UInt8](slot.nonce), "\(name): nonce of slot \(index)")
                if slot.kind == .passphrase { add(slot.keyID.bytes, "\(name): salt of slot \(index)") }
            }
        }

        /// Adds the values of a new container.
        mutating func add(
            container: [UInt8], by key: SymmetricKey = testKey(1), context: Context = .none, _ name: String
        ) throws {
            let copy = try Self.front(container)
            var trials = SlotTrials(.key(key, context: context))
            let fileKey = try trials.open([copy]).fileKey
            add(fileKey.secret.withBytes { [UInt8](copying: $0) }, "\(name): file key")
            add(copy.preamble.fileID, "\(name): file ID")
            add(slotsOf: copy, name)
        }

        static func front(_ container: [UInt8]) throws -> HeaderCopy {
            let capacity = try #require(HeaderCopy.claimedCapacity(container[...]))
            return try HeaderCopy(parsing: [UInt8](container.prefix(capacity.bytes)))
        }
    }

    @Test("two containers of each writer have no random value in common") func writers() async throws {
        var draws = Draws()
        let folder = try TemporaryFolder()
        try folder.write(Self.text, to: "text")
        for compression in [Compression.none, .deflate] {
            for number in 1...2 {
                let (options, which) = (Self.options(compression), "\(compression.name) \(number)")
                try draws.add(container: sealed(Self.text, for: Self.recipients, options: options), "writer, \(which)")
                // Threads that write to places of a file, and threads that write to a pipe in order.
                try draws.add(container: Self.encryptedFile(in: folder, options, which), "file, \(which)")
                let piped = try Self.encryptedToPipe(from: folder["text"], options)
                try draws.add(container: piped, "pipe, \(which)")
            }
            // Each iteration of one sequence makes a container.
            let sequence = Vault.encrypt(Pieces(Self.text), for: Self.recipients, options: Self.options(compression))
            for number in 1...2 {
                var bytes: [UInt8] = []
                for try await piece in sequence { bytes += piece }
                try draws.add(container: bytes, "sequence, \(compression.name) \(number)")
            }
        }
    }

    private static func encryptedFile(
        in folder: TemporaryFolder, _ options: SealOptions, _ name: String
    ) throws -> [UInt8] {
        try Vault.encryptFile(at: folder["text"], to: folder[name], for: recipients, options: options)
        return try folder.read(name)
    }

    private static func encryptedToPipe(from path: FilePath, _ options: SealOptions) throws -> [UInt8] {
        let input = try FileDescriptor.open(path, .readOnly)
        defer { try? input.close() }
        let (result, bytes) = try collecting { output in
            try Vault.encrypt(from: input, to: output, for: recipients, options: options)
        }
        _ = try result.get()
        return bytes
    }

    @Test("a re-encryption takes no random value over", arguments: [Compression.none, .deflate])
    func reencryption(_ compression: Compression) throws {
        var draws = Draws()
        let container = try StoredContainer(
            sealed(Self.text, for: Self.recipients, options: Self.options(compression)))
        try draws.add(container: container.bytes, "before")
        for number in 1...2 {
            try Vault.reencrypt(at: container.path, for: Self.recipients, with: .key(testKey(1)))
            try draws.add(container: container.bytes, "re-encrypted \(number)")
        }
    }

    @Test("each slot that a rotation makes has a nonce and a salt of its own", arguments: [512, 4096])
    func rotation(_ capacity: Int) throws {
        var draws = Draws()
        let container = try StoredContainer(
            sealed(
                Self.text, for: [.key(testKey(1))],
                options: SealOptions(chunk: .minimum, capacity: .capacity(capacity))))
        try draws.add(container: container.bytes, "before")
        // The second rotation makes new slots for the same secrets.
        for number in 1...2 {
            let change = KeyChange(
                adding: Self.recipients,
                removing: SlotSelection(ids: [testKey(1).id, testKey(2).id], passphrases: Self.passphrases))
            let done = try Vault.rotate(at: container.path, change, with: .key(testKey(1)))
            #expect(done.added.count == Self.recipients.count)
            try draws.add(slotsOf: Draws.front(container.bytes), "rotation \(number)")
        }
    }

    @Test("both files of a keyring, and all keys in it") func keyrings() throws {
        var draws = Draws()
        let (ring, file) = (testContext("vaultfile keyring"), testContext("vaultfile keyring key"))
        for number in 1...2 {
            let box = try KeyringBox()
            var unlockFile: [UInt8] = []
            /// Adds what a change has made.
            func look(_ name: String, isNewUnlockKey: Bool) throws {
                let name = "keyring \(number), \(name)"
                let now = try box.folder.read("keyring.key")
                #expect((now != unlockFile) == isNewUnlockKey)
                let reader = try SeekableVaultReader(MemorySource(now), with: .key(testKey(1), context: file))
                let text = try reader.bytes(0..<reader.length)
                let key = try SymmetricKey(keyFile: text.span)
                if isNewUnlockKey {
                    try draws.add(container: now, context: file, "\(name): unlock file")
                    draws.add(key, "\(name): unlock key")
                }
                unlockFile = now
                try draws.add(container: box.folder.read("keyring"), by: key, context: ring, "\(name): keyring file")
            }
            for (index, name) in ["one", "two"].enumerated() {
                let entry = try box.generate(name)
                draws.add(try box.open().key(try #require(entry.id)), "keyring \(number): key \(name)")
                try look(name, isNewUnlockKey: index == 0)
            }
            _ = try box.destroy("one")
            try look("destroyed", isNewUnlockKey: true)
            _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
            try look("renewed", isNewUnlockKey: true)
        }
    }

    @Test("generated keys, and the names of unfinished files") func others() throws {
        var draws = Draws()
        for number in 1...20 {
            draws.add(try SymmetricKey.generate(), "key \(number)")
            let folder = try TemporaryFolder()
            // No files without names, so each gets a temporary one.
            let faults = Faults { $0.name == "openNameless" ? Errno.notSupported.rawValue : nil }
            try faults.during {
                let output = try OutputFile(at: folder["out"])
                let name = try #require(try folder.names.first)
                draws.add([UInt8](name.utf8.suffix(16)), "name \(number)")
                try output.commit(synchronize: false)
            }
        }
    }
}

/// A sequence of one element, which can be iterated several times.
private struct Pieces: AsyncSequence, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    struct Iterator: AsyncIteratorProtocol {
        var left: [UInt8]?

        mutating func next() async -> [UInt8]? { left.take() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(left: bytes) }
}
