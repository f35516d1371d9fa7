import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A keyring in a folder of its own, which `testKey(1)` unlocks.
struct KeyringBox {
    let folder: TemporaryFolder
    let path: FilePath
    let unlocker = KeySet(keys: [testKey(1)])
    /// Whether it was made as a protected keyring.
    let isProtected: Bool

    init(protected isProtected: Bool = true, keys: [String] = []) throws {
        self.isProtected = isProtected
        folder = try TemporaryFolder()
        path = folder["keyring"]
        if isProtected {
            try Keyring.makeUnlockKey(at: path, for: [.key(testKey(1))])
        } else {
            try Keyring.makeUnprotectedUnlockKey(at: path)
        }
        for name in keys { try generate(name) }
    }

    @discardableResult
    func generate(_ name: String) throws -> KeyringEntry {
        try change(making: true) { change in
            try change.generate(named: try #require(KeyName(name)), created: Timestamp(seconds: 1_795_255_200))
        }
    }

    @discardableResult
    func change<R>(making isMaking: Bool = false, _ body: (inout KeyringChange) throws -> R) throws -> R {
        try Keyring.change(
            at: path, making: isMaking, unlocking: unlocker, allowsUnprotected: !isProtected, body
        ).result
    }

    /// Destroys a key.
    func destroy(_ name: String) throws -> Keyring.Traces {
        try Keyring.change(at: path, unlocking: unlocker, allowsUnprotected: !isProtected) { change in
            try change.destroy(try #require(change.entry(name)).name)
        }.traces
    }

    func open(_ keys: (any KeyProvider)? = nil) throws -> Keyring {
        try Keyring.open(at: path, unlocking: keys ?? unlocker, allowsUnprotected: !isProtected)
    }

    /// Names and states, in order.
    func states(_ keys: (any KeyProvider)? = nil) throws -> [String] {
        try open(keys).entries.map { "\($0.name) \($0.state)" }
    }
}

/// As little stretching as a passphrase may have.
let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
