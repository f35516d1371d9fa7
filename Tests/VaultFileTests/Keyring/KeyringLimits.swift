import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// The cost of a passphrase slot is in the unlock file, and an attacker may have put that there (KEYRING-18).
@Suite struct KeyringLimits {
    private static let passphrase = testPassphrase("word")
    private static let dear = Argon2Parameters(passes: 1, memoryKiB: Argon2Parameters.standard.memoryKiB + 1)

    /// A slot that looks like a passphrase's. Nothing opens it.
    private static func slot(_ cost: Argon2Parameters, _ number: UInt8) -> Slot {
        let salt = KeyID(unchecked: [UInt8](repeating: number, count: 16)[...])
        return Slot(
            type: 2, keyID: salt, body: cost.encoded + [UInt8](repeating: number, count: 24 + Slot.wrappedCount))
    }

    /// Opens a keyring whose unlock file was replaced by one with these slots, and returns the error.
    private static func error(_ slots: [Slot]) throws -> VaultError.Code? {
        let box = try KeyringBox(keys: ["a"])
        let forge = try Forge(
            fileKey: [UInt8](repeating: 7, count: 32), fileID: [UInt8](repeating: 8, count: 16),
            capacity: .capacity(1024), context: testContext("vaultfile keyring key"))
        try box.folder.write(try forge.container([1], front: forge.header(slots)), to: "keyring.key")
        do {
            _ = try box.open(KeySet(passphrases: [passphrase]))
            return nil
        } catch let error as VaultError {
            return error.code
        }
    }

    @Test("a slot that costs more than a writer makes is not stretched") func planted() throws {
        #expect(try Self.error([Self.slot(Self.dear, 1)]) == .limitExceeded)
        // Within the limits, so it is tried.
        #expect(try Self.error([Self.slot(cheap, 1)]) == .wrongKey)
        let passes = Argon2Parameters(passes: 13, memoryKiB: Argon2Parameters.standard.memoryKiB)
        #expect(try Self.error([Self.slot(passes, 1)]) == .limitExceeded)
    }

    @Test("no keyring is made that its limits would lock") func making() throws {
        let folder = try TemporaryFolder()
        let path = folder["keyring"]
        let passes = Argon2Parameters(passes: 4, memoryKiB: Argon2Parameters.standard.memoryKiB)
        for cost in [Self.dear, passes] {
            let unlocker = Recipient.passphrase(Self.passphrase, cost)
            let error = #expect(throws: VaultError.self) { try Keyring.makeUnlockKey(at: path, for: [unlocker]) }
            #expect(error?.code == .invalidArgument)
            #expect(try folder.names.isEmpty)
            let box = try KeyringBox(keys: ["a"])
            let keys = try box.folder.read("keyring.key")
            let changing = #expect(throws: VaultError.self) {
                try Keyring.changeUnlockers(at: box.path, KeyChange(adding: [unlocker]), unlocking: box.unlocker)
            }
            #expect(changing?.code == .invalidArgument)
            let protecting = #expect(throws: VaultError.self) {
                try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [unlocker])
            }
            #expect(protecting?.code == .invalidArgument)
            #expect(try box.folder.read("keyring.key") == keys)
        }
    }
}
