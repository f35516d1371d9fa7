public import SystemPackage
import VaultFormat
public import VaultStream
internal import VaultSystem

extension Keyring {
    /// Copies a keyring to another place: to make a backup of it, or to restore it from one. The copy is opened before
    /// and after it gets its name, and is durable when this returns.
    ///
    /// A keyring at the target is replaced only if the copy has all of its keys, identities and recipients. One that does not open is never
    /// replaced, because it may hold other keys. If one of its two files is missing there and the other belongs to the
    /// keyring that is copied, only the missing file is made.
    ///
    /// - Parameters:
    ///   - source: the path of the keyring. It is read under a shared lock if its file system has locks.
    ///   - target: the path of the copy. Its folder exists.
    ///   - keys: the secrets that open both unlock keys. It is asked several times.
    ///   - allowsUnprotected: as for `open`.
    ///   - onLoss: called before a keyring is replaced that has keys which the copy does not have. It gets their entries
    ///     and the keyring that is copied, and throws if they must not be lost. By default it throws `consentNeeded`.
    /// - Returns: the copy, and what is left of the files that were replaced.
    /// - Throws: what `open`, `change` and `onLoss` throw for either keyring; `VaultError` with `outputNotReplaceable`
    ///   if the files at the target cannot be opened as a keyring, `invalidArgument` if source and target are the same
    ///   file, `outputFailed`.
    public static func copy(
        from source: FilePath, to target: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        onLoss: (_ lost: [KeyringEntry], _ source: Keyring) throws -> Void = { _, _ in throw lossNeedsConsent }
    ) throws -> Changed<Keyring> {
        let original = try whileFilesChange(source) { _ in
            try Original(at: source, keys: keys, allowsUnprotected: allowsUnprotected)
        }
        let keyTarget = unlockKeyPath(of: target)
        var traces = Traces()
        for (one, other) in [(source, target), (unlockKeyPath(of: source), keyTarget)] {
            guard let there = try? other.status().identity, try one.status().identity == there else { continue }
            throw VaultError(.invalidArgument, "a keyring cannot be copied onto itself")
        }
        let hasNoKeyFile = try UnlockKey.errors { try isMissing(keyTarget, else: .outputFailed) }
        switch (try isMissing(target, else: .outputFailed), hasNoKeyFile) {
        case (true, true):
            try original.make(at: target)
        case (false, true):
            // Its file may be newer than the one that is copied, so it stays.
            try refuseStrange { _ = try KeyringText.reader(of: FileSource(at: target), original.unlockKey.key) }
            try original.makeUnlockFile(at: keyTarget)
        case (true, false):
            try refuseStrange {
                let there = try UnlockKey(at: keyTarget, keys: keys, allowsUnprotected: allowsUnprotected)
                guard there.key.id == original.unlockKey.key.id else { throw mismatch }
            }
            try original.makeKeyringFile(at: target)
        case (false, false):
            traces = try original.replace(target, keys: keys, allowsUnprotected: allowsUnprotected, onLoss)
        }
        let copy = try open(at: target, unlocking: keys, allowsUnprotected: allowsUnprotected)
        return Changed(result: copy, traces: traces)
    }

    /// The error if keys would be lost and the caller has not agreed.
    public static var lossNeedsConsent: VaultError {
        VaultError(.consentNeeded, "the keyring there has keys that the copy does not have")
    }

    /// Runs `body`, which opens what is at the target. Files that do not open with the caller's secrets may be of
    /// another keyring, whose keys would be lost.
    fileprivate static func refuseStrange<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as VaultError {
            guard error.code != .cancelled else { throw error }
            let refused = VaultError(
                .outputNotReplaceable, "there are files of a keyring that does not open: \(error.message)")
            throw error.isAboutUnlockKey ? refused.ofUnlockKey : refused
        }
    }
}

/// A keyring that is to be copied: the bytes of its files, and the keys in them.
private struct Original {
    let unlockKey: UnlockKey
    let keyring: Keyring
    private let file: [UInt8]
    /// The unlock file; nil if nothing protects it. Then it holds a key, which stays in guarded memory.
    private let unlockFile: [UInt8]?

    /// More bytes than the file of a keyring can have.
    private static let largest: UInt64 = 4 << 20

    init(at path: FilePath, keys: any KeyProvider, allowsUnprotected: Bool) throws {
        let keyPath = Keyring.unlockKeyPath(of: path)
        let isProtected = try UnlockKey.errors { try Keyring.isProtected(at: path) }
        // The locks are taken in the order of the writers. What was read is opened in any case, so a file system without
        // locks does no harm.
        (file, unlockFile) = try UnlockKey.errors { try FileSource(at: keyPath) }.withSharedLock { _ in
            try FileSource(at: path).withSharedLock { _ in
                let unlockFile = try isProtected ? UnlockKey.errors { try Self.bytes(at: keyPath) } : nil
                return (try Self.bytes(at: path), unlockFile)
            }
        }
        unlockKey =
            try unlockFile.map { try UnlockKey(container: $0, keys: keys) }
            ?? UnlockKey(at: keyPath, keys: keys, allowsUnprotected: allowsUnprotected)
        keyring = try Keyring(MemorySource(file), unlockKey)
    }

    private static func bytes(at path: FilePath) throws -> [UInt8] {
        let source = try FileSource(at: path)
        let size = try source.size()
        guard size <= largest else { throw VaultError(.keyringMalformed, "it is longer than any file of a keyring") }
        return try source.bytes(at: 0, count: Int(size))
    }

    private func writeKeyring<File: BytesOutput & ~Copyable>(to output: borrowing File) throws {
        try output.write(file.span)
    }

    private func writeUnlockKey<File: BytesOutput & ~Copyable>(to output: borrowing File) throws {
        guard let unlockFile else { return try UnlockKey.write(unlockKey.key, to: output, for: []) }
        try output.write(unlockFile.span)
    }

    /// Makes both files. Neither gets its name before both are complete.
    func make(at path: FilePath) throws {
        let keyFile = try UnlockKey.errors {
            let output = try OutputFile(at: Keyring.unlockKeyPath(of: path))
            try writeUnlockKey(to: output)
            return output
        }
        let output = try OutputFile(at: path)
        try writeKeyring(to: output)
        try Keyring.commit(keyFile, output, at: path)
    }

    func makeKeyringFile(at path: FilePath) throws {
        let output = try OutputFile(at: path)
        try writeKeyring(to: output)
        try output.commit()
    }

    func makeUnlockFile(at path: FilePath) throws {
        try UnlockKey.errors {
            let output = try OutputFile(at: path)
            try writeUnlockKey(to: output)
            try output.commit()
        }
    }

    /// Replaces a keyring of which it has all keys. If it has another unlock key, the keyring file has slots for both
    /// until the unlock file is replaced: whatever happens in between, the two files are a keyring that opens.
    func replace(
        _ path: FilePath, keys: any KeyProvider, allowsUnprotected: Bool,
        _ onLoss: (_ lost: [KeyringEntry], _ source: Keyring) throws -> Void
    ) throws -> Keyring.Traces {
        let keyPath = Keyring.unlockKeyPath(of: path)
        let unlockKey = try Keyring.refuseStrange {
            try UnlockKey(at: keyPath, keys: keys, allowsUnprotected: allowsUnprotected)
        }
        let keyFile = try UnlockKey.errors { try Keyring.lock(keyPath) }
        guard try keyFile.status().version == unlockKey.version else { throw Keyring.isChanging }
        let file = try Keyring.lock(path)
        let descriptor = file.descriptor
        let there = try Keyring.refuseStrange {
            try Keyring(FileSource(descriptor, locking: .heldByCaller), unlockKey)
        }
        let lost = there.entries.filter { !keyring.holds($0, of: there) }
        if !lost.isEmpty { try onLoss(lost, keyring) }
        var traces = Keyring.Traces()
        let newKeyFile = try UnlockKey.errors {
            let new = try OutputFile.replacing(keyFile)
            try writeUnlockKey(to: new)
            return new
        }
        let between: LockedFile
        if unlockKey.key.id == self.unlockKey.key.id {
            between = file
        } else {
            let both = try OutputFile.replacing(file)
            let pair = SecretPair.keyring
            try keyring.text.withBytes {
                try pair.writeAndCheck($0, to: both, for: [unlockKey.key, self.unlockKey.key])
            }
            between = try pair.put(both, inPlaceOf: file, &traces)
        }
        let new = try OutputFile.replacing(between)
        try writeKeyring(to: new)
        let taken: LockedFile
        do {
            taken = try newKeyFile.take(placeOf: keyFile, mayBreakLinks: true, keepingPrivate: true)
        } catch {
            throw error.ofUnlockKey
        }
        try SecretPair.keyring.put(new, inPlaceOf: between, &traces).unlock()
        traces.unlockKey = Keyring.erase(keyFile)
        taken.unlock()
        return traces
    }
}

extension Keyring {
    /// Whether this keyring has what another one has in an entry. A group and a destroyed key hold nothing. An identity
    /// also has the recipient.
    fileprivate func holds(_ entry: KeyringEntry, of other: Keyring) -> Bool {
        switch entry.state {
        case .destroyed, .group: true
        case .recipient, .former: entries.contains { $0.id == entry.id && $0.canBeMember }
        // A plugin's identity whose recipient is not known has no ID, so the texts are compared.
        case .identity where entry.id == nil:
            entries.contains { text.hasSameSecret(as: other.text, $0.name, entry.name) }
        default: entries.contains { $0.id == entry.id && $0.hasSecret }
        }
    }
}
