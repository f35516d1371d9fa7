package import SystemPackage
import VaultCrypto
import VaultFormat
package import VaultStream
internal import VaultSystem

/// What a change makes of the text of a pair.
package struct TextChange: ~Copyable {
    /// The new text; nil to keep the old one.
    package var text: SecretBuffer?
    /// Whether a key is gone that older containers hold. Then the unlock key is exchanged (KEYRING-15).
    package var destroys = false
}

/// The two files of a pair, as a change has found them.
struct PairState {
    let unlockKey: UnlockKey
    /// Whether an exchange of the unlock key stopped before its end (KEYRING-13).
    var isBetweenKeys = false
    /// The state of the header copies of the container.
    var health = Health.intact
}

/// A header copy of the unlock file is damaged, and the change is possible. The file is repaired first: only an
/// undamaged one tells everything that unlocks it. A change that is refused repairs nothing.
private struct DamagedUnlockFile: Error {
    let health: Health

    static func refuse(_ health: Health) throws {
        guard [.frontDamaged, .tailDamaged].contains(health) else { return }
        throw DamagedUnlockFile(health: health)
    }
}

/// Changes of the text, and exchanges of the unlock key (KEYRING-11, KEYRING-13 to KEYRING-15).
extension SecretPair {
    // MARK: Changing the text

    /// Changes the text, or leaves it.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - keys: the secrets that open the unlock file.
    ///   - naming: runs each rename of one of the two files.
    ///   - body: gets the text, and the change to fill in. It may be called several times; the last call counts.
    /// - Returns: what `body` returned, and what is left of the files that were replaced.
    /// - Throws: as `Keyring.change`.
    package func change<R>(
        at path: FilePath, unlocking keys: any KeyProvider, naming: OutputFile.Naming,
        _ body: (consuming SecretBuffer, inout TextChange) throws -> R
    ) throws -> Keyring.Changed<R> {
        try change(at: path, making: false, unlocking: keys, allowsUnprotected: false, naming: naming) {
            text, _, change in
            guard let text = consume text else { preconditionFailure("nothing is made") }
            return try body(text, &change)
        }
    }

    /// - Parameters:
    ///   - isMaking: whether the container is made if there is none.
    ///   - body: gets nil for the text if the container is to be made.
    func change<R>(
        at path: FilePath, making isMaking: Bool, unlocking keys: any KeyProvider, allowsUnprotected: Bool,
        naming: OutputFile.Naming = OutputFile.directly,
        _ body: (consuming SecretBuffer?, PairState, inout TextChange) throws -> R
    ) throws -> Keyring.Changed<R> {
        let read = { try UnlockKey(at: $0, keys: keys, allowsUnprotected: allowsUnprotected, of: self) }
        do {
            return try change(at: path, making: isMaking, with: read, naming: naming, body)
        } catch let damaged as DamagedUnlockFile {
            _ = try UnlockKey.errors {
                try Vault.repair(
                    at: Keyring.unlockKeyPath(of: path), with: UnlockKey.credentials(keys, of: self))
            }
            do {
                var done = try change(at: path, making: isMaking, with: read, naming: naming, body)
                done.unlockKeyHealth = damaged.health
                return done
            } catch is DamagedUnlockFile {
                throw isChanging
            }
        }
    }

    /// - Parameter read: reads the unlock key. It is called again after another program has changed the files.
    func change<R>(
        at path: FilePath, making isMaking: Bool, with read: (_ unlockFile: FilePath) throws -> UnlockKey,
        naming: OutputFile.Naming = OutputFile.directly,
        _ body: (consuming SecretBuffer?, PairState, inout TextChange) throws -> R
    ) throws -> Keyring.Changed<R> {
        try Keyring.whileFilesChange(path) { isWriting in
            let keyPath = Keyring.unlockKeyPath(of: path)
            let unlockKey = try read(keyPath)
            let unlockKeyHealth = unlockKey.health
            // Only a call that protects the pair replaces this file. Locked, the key that was read from it stays the
            // container's until the change is done.
            let keyFile = try UnlockKey.errors { try Keyring.lock(keyPath) }
            guard try keyFile.status().version == unlockKey.version else { throw isChanging }
            var traces = Keyring.Traces()
            traces.unlockKey = try keyFile.eraseLeftover()
            var change = TextChange()
            if try isMaking && Keyring.isMissing(path) {
                let result = try body(nil, PairState(unlockKey: unlockKey), &change)
                try DamagedUnlockFile.refuse(unlockKeyHealth)
                guard let text = change.text.take() else { preconditionFailure("a new container has a text") }
                isWriting = true
                var file = try OutputFile(at: path)
                file.holdKeys()
                try text.withBytes { try write($0, to: file, for: [unlockKey.key]) }
                try file.commit()
                return Keyring.Changed(result: result, traces: traces, unlockKeyHealth: unlockKeyHealth)
            }
            let file = try Keyring.lock(path)
            traces.keyring = try file.eraseLeftover()
            let reader = try reader(of: FileSource(file.descriptor, locking: .heldByCaller), unlockKey.key)
            let state = PairState(
                unlockKey: unlockKey, isBetweenKeys: reader.isBetweenKeys, health: reader.opened.health)
            let result = try body(text(reader), state, &change)
            try DamagedUnlockFile.refuse(unlockKeyHealth)
            // An exchange of the unlock key that was interrupted had a reason: a key was destroyed, or a person must
            // not unlock the pair any more.
            traces.reason = change.destroys ? .destroyedKey : state.isBetweenKeys ? .interrupted : nil
            if traces.reason != nil, unlockKey.isKept { throw KeptUnlockKey.NotEnough() }
            func changed() -> Keyring.Changed<R> {
                Keyring.Changed(
                    result: result, traces: traces, health: state.health, unlockKeyHealth: unlockKeyHealth)
            }
            let isDue = change.text != nil || state.health != .intact
            guard isDue || traces.reason != nil else { return changed() }
            var keys = [unlockKey.key]
            let successor =
                traces.reason == nil
                ? nil : Successor.forThoseOf(unlockKey, in: keyFile, of: self, &keys, &traces)
            guard isDue || state.isBetweenKeys || keys.count > 1 else { return changed() }
            if keys.count > 1 { forget(path) }
            let text = try change.text.take() ?? text(reader)
            let new = try OutputFile.replacing(file, holdingKeys: true)
            try text.withBytes { try writeAndCheck($0, to: new, for: keys) }
            // If another program has put another container there, that one has to be changed.
            guard try file.standing() == .inPlace else { throw isChanging }
            isWriting = true
            let taken = try put(new, inPlaceOf: file, naming: naming, &traces)
            if let successor {
                // The change is done, and stays if this fails.
                do {
                    try settle(successor, taken, keyFile, naming: naming, &traces)
                } catch {
                    traces.exchange = .failed(of: error)
                }
            }
            return changed()
        }
    }

    // MARK: The unlock key

    /// Makes a new unlock key, which only `unlockers` open.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - keys: the secrets that open the unlock key now.
    ///   - unlockers: the keys and passphrases that will open it; at least one.
    ///   - naming: runs each rename of one of the two files.
    /// - Returns: what is left of the files that were replaced.
    /// - Throws: as `Keyring.protect`.
    package func renew(
        at path: FilePath, unlocking keys: any KeyProvider, with unlockers: [Recipient], naming: OutputFile.Naming
    ) throws -> Keyring.Traces {
        try protect(
            at: path, renewing: true, unlocking: keys, allowsUnprotected: false, with: unlockers, naming: naming)
    }

    func protect(
        at path: FilePath, renewing isRenewing: Bool, unlocking keys: any KeyProvider, allowsUnprotected: Bool,
        with unlockers: [Recipient], naming: OutputFile.Naming = OutputFile.directly
    ) throws -> Keyring.Traces {
        try Keyring.refuseEmpty(unlockers)  // mutant: the order of these two checks makes no difference
        try UnlockKey.check(unlockers)
        return try Keyring.whileFilesChange(path) { isWriting in
            // Checked before keys are asked for: the caller may not have the keys of the person who has just protected
            // it.
            if try !isRenewing && Keyring.isProtected(at: path) { throw Self.isAlreadyProtected }
            let keyPath = Keyring.unlockKeyPath(of: path)
            let old = try UnlockKey(at: keyPath, keys: keys, allowsUnprotected: allowsUnprotected, of: self)
            let keyFile = try UnlockKey.errors { try Keyring.lock(keyPath) }
            guard try keyFile.status().version == old.version else { throw isChanging }
            guard isRenewing || !old.isProtected else { throw Self.isAlreadyProtected }
            var traces = Keyring.Traces()
            traces.reason = .asked
            traces.unlockKey = try keyFile.eraseLeftover()
            forget(path)
            if try Keyring.isMissing(path) {
                isWriting = true
                let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile, of: self)
                try successor.take(placeOf: keyFile, naming: naming)
                traces.unlockKey = max(traces.unlockKey, Keyring.erase(keyFile))
                traces.exchange = .done
                return traces
            }
            let file = try Keyring.lock(path)
            traces.keyring = try file.eraseLeftover()
            isWriting = true
            let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile, of: self)
            let both = try rewrite(file, opening: old.key, for: [old.key, successor.key], naming: naming, &traces)
            try settle(successor, both, keyFile, naming: naming, &traces)
            return traces
        }
    }

    private static let isAlreadyProtected = VaultError(
        .keyringProtected, "something protects it already; doing the same again adds to what unlocks it")

    /// Changes what opens the unlock file, by a rotation of it. An exchange of the unlock key that was interrupted is
    /// finished first: later, with more unlockers, it could need a secret that is not at hand (KEYRING-13).
    ///
    /// - Returns: what was done with the unlock file, and what is left of the files that were replaced.
    /// - Throws: what `change` and `Vault.rotate` throw; `invalidArgument` as for `make`.
    package func changeUnlockers(
        at path: FilePath, _ change: KeyChange, unlocking keys: any KeyProvider,
        naming: OutputFile.Naming = OutputFile.directly
    ) throws -> Keyring.Changed<Rotation> {
        try UnlockKey.check(change.adding)
        var traces = Keyring.Traces()
        var found = (Health.intact, Health.intact)
        let keyPath = Keyring.unlockKeyPath(of: path)
        if try Keyring.isMissing(path) {
            guard try Keyring.isProtected(at: path) else { throw Keyring.unprotected.ofUnlockKey }
            traces.unlockKey = try Keyring.lock(keyPath).eraseLeftover()
        } else {
            let secrets = SecretsAtHand(keys, adding: change.adding, removing: change.removing)
            let done = try self.change(
                at: path, making: false, unlocking: secrets, allowsUnprotected: false, naming: naming
            ) { text, _, _ in
                if let text = consume text { try check(text) }
            }
            (traces, found) = (done.traces, (done.health, done.unlockKeyHealth))
        }
        forget(path)
        let rotation = try UnlockKey.errors {
            try HeaderUpdate(
                change: change, credentials: UnlockKey.credentials(keys, of: self), options: RotationOptions(),
                randomness: .system
            ).run(at: .path(keyPath), naming: naming)
        }
        return Keyring.Changed(result: rotation, traces: traces, health: found.0, unlockKeyHealth: found.1)
    }

    /// The next unlock key (KEYRING-13), in its unfinished file.
    private struct Successor: ~Copyable {
        let key: SymmetricKey
        private let file: ReplacementFile

        private init(_ key: SymmetricKey, _ file: consuming ReplacementFile) {
            self.key = key
            self.file = file
        }

        /// Makes one. The caller holds the lock on the file of the present unlock key.
        static func make(
            for unlockers: [Recipient], inPlaceOf keyFile: borrowing LockedFile, of pair: SecretPair
        ) throws -> Successor {
            let key = try SymmetricKey.generate()
            let file = try OutputFile.replacing(keyFile, holdingKeys: true)
            try UnlockKey.write(key, to: file, for: unlockers, of: pair)
            return Successor(key, file)
        }

        /// Makes one for those who open the unlock key now (KEYRING-15), and adds it to `keys`. Nil if that is not
        /// possible; the traces then say why.
        static func forThoseOf(
            _ old: UnlockKey, in keyFile: borrowing LockedFile, of pair: SecretPair, _ keys: inout [SymmetricKey],
            _ traces: inout Keyring.Traces
        ) -> Successor? {
            do {
                if let unlockers = try old.allUnlockers(in: keyFile) {
                    let successor = try make(for: unlockers, inPlaceOf: keyFile, of: pair)
                    keys.append(successor.key)
                    return successor
                }
                traces.exchange = .othersUnlockIt
            } catch {
                traces.exchange = .failed(of: error)
            }
            return nil
        }

        @discardableResult
        consuming func take(
            placeOf keyFile: borrowing LockedFile, naming: OutputFile.Naming
        ) throws(VaultError) -> LockedFile {
            try file.take(placeOf: keyFile, mayBreakLinks: true, keepingPrivate: true, naming: naming)
        }
    }

    /// Puts the next unlock key in the place of the present one, and then removes the slot of the old one from the
    /// container. Until then the container has slots for both, because a power failure may leave either of them.
    ///
    /// The new unlock file stays locked until the container has only one slot. Without the lock, another program would
    /// take the two slots for an interrupted exchange, and begin its own. Each program would then write a container
    /// that the other's unlock file does not open.
    ///
    /// - Parameter both: the container with both slots.
    private func settle(
        _ successor: consuming Successor, _ both: borrowing LockedFile, _ keyFile: borrowing LockedFile,
        naming: OutputFile.Naming, _ traces: inout Keyring.Traces
    ) throws {
        let key = successor.key
        let newKeyFile = try successor.take(placeOf: keyFile, naming: naming)
        let settled = try rewrite(both, opening: key, for: [key], naming: naming, &traces)
        traces.unlockKey = max(traces.unlockKey, Keyring.erase(keyFile))
        traces.exchange = .done
        // Both locks are held until here. They are released in the reverse of the order in which programs take them.
        // mutant: they are released when the values go, too; a program that gets one waits for the other
        settled.unlock()
        newKeyFile.unlock()  // mutant: it is released when the value goes, too
    }

    // MARK: Writing

    /// Writes the container again, with the same text and slots for other keys.
    ///
    /// - Returns: the new container, locked.
    private func rewrite(
        _ file: borrowing LockedFile, opening key: SymmetricKey, for keys: [SymmetricKey], naming: OutputFile.Naming,
        _ traces: inout Keyring.Traces
    ) throws -> LockedFile {
        let reader = try reader(of: FileSource(file.descriptor, locking: .heldByCaller), key)
        let text = try text(reader)
        var copy = try SecretBuffer(count: text.count)
        text.withBytes { text in copy.withMutableBytes { $0.replace(at: 0, with: text) } }
        try check(copy)
        let new = try OutputFile.replacing(file, holdingKeys: true)
        try text.withBytes { try writeAndCheck($0, to: new, for: keys) }
        return try put(new, inPlaceOf: file, naming: naming, &traces)
    }

    /// Puts a container in the place of another, and overwrites the other.
    ///
    /// - Returns: the new container, locked.
    func put(
        _ new: consuming ReplacementFile, inPlaceOf file: borrowing LockedFile,
        naming: OutputFile.Naming = OutputFile.directly, _ traces: inout Keyring.Traces
    ) throws(VaultError) -> LockedFile {
        let taken = try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true, naming: naming)
        traces.keyring = max(traces.keyring, Keyring.erase(file))
        return taken
    }

    /// Writes a new container and reads it back, before it takes the place of the old one and the old one is
    /// overwritten.
    func writeAndCheck(_ text: Span<UInt8>, to file: borrowing ReplacementFile, for keys: [SymmetricKey]) throws {
        try write(text, to: file, for: keys)
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let isDifferent = VaultError(.outputFailed, "the new \(noun) does not read back as it was written")
        for key in keys {
            do {
                let written = try self.text(reader(of: source, key))
                // mutant: only a fault of this program could make another text that is authentic
                guard written.withBytes({ constantTimeEqual($0, text) }) else { throw isDifferent }
            } catch let error as VaultError {
                throw error.code == .inputFailed ? error : isDifferent
            }
        }
    }

    func write<File: BytesOutput & ~Copyable>(
        _ text: Span<UInt8>, to file: borrowing File, for keys: [SymmetricKey]
    ) throws {
        try file.seal(text, for: keys.map { .key($0) }, context: context, contentType: contentType)
    }
}

extension SeekableVaultReader {
    /// Whether a container of a pair has the slots of two unlock keys in the header that was opened, which is
    /// authenticated. Anybody may have written the other copy.
    var isBetweenKeys: Bool { opened.header.slots.count > 1 }
}
