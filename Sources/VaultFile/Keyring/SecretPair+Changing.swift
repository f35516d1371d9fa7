package import SystemPackage
import VaultCrypto
import VaultFormat
package import VaultStream
internal import VaultSystem

extension SecretPair {
    /// Changes the text of the container, under the locks of KEYRING-11. The unlock file stays as it is.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - keys: the secrets that open the unlock file.
    ///   - limit: the most bytes of the text.
    ///   - malformed: makes the error for what is wrong with the container.
    ///   - lock: called before the new file gets the name. What it returns is closed afterwards.
    ///   - body: gets the text, and writes another one at most once. It runs again if another program changed the files
    ///     meanwhile and nothing was written.
    /// - Returns: what `body` returns.
    /// - Throws: as `open`; `inUse` if another program keeps the files locked, `outputFailed`; what `body` and `lock`
    ///   throw.
    package func change<R>(
        at path: FilePath, unlocking keys: any KeyProvider, atMost limit: Int, orElse malformed: (String) -> any Error,
        whileHolding lock: @escaping () throws -> FileDescriptor,
        _ body: (_ text: consuming SecretBuffer, _ write: (consuming SecretBuffer) throws -> Void) throws -> R
    ) throws -> R {
        try Keyring.whileFilesChange(path) { isWriting in
            let keyPath = Keyring.unlockKeyPath(of: path)
            let unlockKey = try UnlockKey(at: keyPath, keys: keys, allowsUnprotected: false, of: self)
            let keyFile = try UnlockKey.errors { try Keyring.lock(keyPath) }
            guard try keyFile.status().version == unlockKey.version else { throw Keyring.isChanging }
            let file = try Keyring.lock(path)
            _ = try file.eraseLeftover()
            let source = FileSource(file.descriptor, locking: .heldByCaller)
            let text = try text(reader(of: source, unlockKey.key), atMost: limit, orElse: malformed)
            return try body(text) { text in
                isWriting = true
                try replace(file, with: text, unlockKey.key, lock)
            }
        }
    }

    private func replace(
        _ file: borrowing LockedFile, with text: consuming SecretBuffer, _ key: SymmetricKey,
        _ lock: () throws -> FileDescriptor
    ) throws {
        let new = try OutputFile.replacing(file)
        try text.withBytes { try new.seal($0, for: [.key(key)], context: context, contentType: contentType) }
        let isDifferent = VaultError(.outputFailed, "the new \(noun) does not read back as it was written")
        let written = try self.text(
            reader(of: FileSource(new.descriptor, locking: .heldByCaller), key), atMost: text.count,
            orElse: { _ in isDifferent })
        // mutant: only a fault of this program could make another text that is authentic
        guard written.withBytes({ written in text.withBytes { constantTimeEqual($0, written) } }) else {
            throw isDifferent
        }
        let held = try lock()
        defer { held.closeQuietly() }
        let taken = try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
        _ = Keyring.erase(file)
        taken.unlock()
    }
}
