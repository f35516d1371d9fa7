import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// The state of a keyring as the secrets that unlock it show it.
struct KeyringView: Sendable, CustomStringConvertible {
    /// Nil if there is no keyring.
    var entries: [KeyringEntry]?
    /// The tried secrets that unlock the keyring. 0 stands for no secret at all.
    var unlockers: Holders = []

    /// Names and states, in order.
    var states: [String]? { entries.map { $0.map { "\($0.name) \($0.state)" } } }

    var description: String { "\(states.map { "\($0)" } ?? "nothing") for \(unlockers.sorted())" }
}

/// A keyring in some state, in which changes start.
struct KeyringScene: Sendable, CustomStringConvertible {
    static let path: FilePath = "/keyring"
    static let file = "keyring"
    static let unlockFile = "keyring.key"

    let name: String
    let disk: DiskState
    /// All secrets that may ever unlock a keyring here.
    let everybody: Holders

    var description: String { name }

    private static func made(
        _ name: String, everybody: Holders = [0, 1, 2, 3], _ body: () throws -> Void
    ) -> KeyringScene {
        let disk = ModelDisk(DiskState())
        do {
            try disk.during(body)
        } catch {
            fatalError("\(error)")
        }
        var state = disk.state.afterKill()
        state.synchronizeAll()
        return KeyringScene(name: name, disk: state, everybody: everybody)
    }

    private static func fill() throws {
        for name in ["one", "two"] { try KeyringOperation.generate(name).run(path, [1, 200]) }
    }

    static let nothing = made("no keyring") {}
    static let unlockKeyAlone = made("no keyring, but what unlocks it") {
        try Keyring.makeUnlockKey(at: path, for: [.key(Holders.key(1))])
    }
    static let unprotected = made("unprotected") {
        try Keyring.makeUnprotectedUnlockKey(at: path)
        try fill()
    }
    static let protected = made("protected") {
        try Keyring.makeUnlockKey(at: path, for: [.key(Holders.key(1))])
        try fill()
    }
    static let twoUnlockers = made("two unlock it") {
        try Keyring.makeUnlockKey(at: path, for: [.key(Holders.key(1)), .key(Holders.key(2))])
        try fill()
    }
    static let passphrase = made("a passphrase", everybody: [200, 201]) {
        try Keyring.makeUnlockKey(at: path, for: [.passphrase(Holders.passphrase(200), Holders.cheap)])
        try fill()
    }
}

/// A change of a keyring by a caller who has every secret that ever unlocked it. A second run changes nothing more.
struct KeyringOperation: Sendable, CustomStringConvertible {
    let name: String
    /// Names and states afterwards; empty if there is no keyring.
    let states: @Sendable ([String]) -> [String]
    /// The secrets that unlock the keyring afterwards.
    var unlockers: @Sendable (Holders) -> Holders = { $0 }
    /// Whether the change can make the keyring file if the unlock file is there.
    var makes = false
    /// Whether the change can make the unlock file.
    var makesUnlockKey = false
    /// Whether the keyring must be protected.
    var needsProtection = false
    /// Whether the change draws another unlock key in any case.
    var protects = false
    /// Whether the change destroys a key, and so draws another unlock key if it can.
    var destroys = false
    private let body: @Sendable (FilePath, Holders) throws -> Keyring.Traces?

    var description: String { name }

    /// - Returns: What the change reports about the files that it replaced; nil if nothing.
    @discardableResult
    func run(_ path: FilePath, _ secrets: Holders) throws -> Keyring.Traces? {
        try body(path, secrets.subtracting([0]))
    }

    /// Whether there is anything to change.
    func isPossible(_ state: DiskState, _ view: KeyringView) -> Bool {
        guard view.entries != nil else {
            return makesUnlockKey || makes && state.bytes(KeyringScene.unlockFile) != nil
        }
        return !needsProtection || !view.unlockers.contains(0)
    }

    private static func change(
        _ name: String, making isMaking: Bool = false, destroying isDestroying: Bool = false,
        states: @escaping @Sendable ([String]) -> [String],
        _ body: @escaping @Sendable (inout KeyringChange) throws -> Void
    ) -> KeyringOperation {
        KeyringOperation(name: name, states: states, makes: isMaking, destroys: isDestroying) { path, secrets in
            try Keyring.change(
                at: path, making: isMaking, unlocking: secrets.keySet, allowsUnprotected: true, body
            ).traces
        }
    }

    private static let time = Timestamp(seconds: 1_795_255_200)

    private static func retiring(_ states: [String]) -> [String] {
        states.map { $0.hasSuffix(" current") ? "\($0.dropLast(7))retired" : $0 }
    }

    /// If the key is not destroyed.
    private static func setting(_ name: String, _ state: String, _ states: [String]) -> [String] {
        guard !states.contains("\(name) destroyed") else { return states }
        return (state == "current" ? retiring(states) : states).map {
            $0.hasPrefix("\(name) ") ? "\(name) \(state)" : $0
        }
    }

    // MARK: Keys

    static func generate(_ name: String) -> KeyringOperation {
        change("generate \(name)", making: true) { states in
            states.contains { $0.hasPrefix("\(name) ") } ? states : retiring(states) + ["\(name) current"]
        } _: { change in
            guard change.entry(name) == nil else { return }
            try change.generate(named: try #require(KeyName(name)), created: time)
        }
    }

    /// Makes the unlock key and the keyring with its first key.
    static func first(protectedBy unlockers: Holders) -> KeyringOperation {
        let generate = generate("one")
        return KeyringOperation(
            name: unlockers.isEmpty ? "make one without protection" : "make one", states: generate.states,
            unlockers: { $0.isEmpty ? unlockers : $0 }, makes: true,
            makesUnlockKey: true
        ) { path, secrets in
            do {
                if unlockers.isEmpty {
                    try Keyring.makeUnprotectedUnlockKey(at: path)
                } else {
                    try Keyring.makeUnlockKey(at: path, for: unlockers.recipients)
                }
            } catch let error as VaultError where error.code == .outputExists {
                // Existing files are used.
            }
            return try generate.run(path, secrets)
        }
    }

    static let use = change("use one") {
        setting("one", "current", $0)
    } _: { change in
        guard let entry = change.entry("one"), entry.state != .destroyed else { return }
        try change.use(entry.name)
    }

    static let retire = change("retire two") {
        $0.contains("two current") ? setting("two", "retired", $0) : $0
    } _: { change in
        guard let entry = change.entry("two"), entry.state != .destroyed else { return }
        try change.retire(entry.name)
    }

    static func importing(asCurrent isCurrent: Bool) -> KeyringOperation {
        change("import\(isCurrent ? " and use" : "")") { states in
            guard !states.contains(where: { $0.hasPrefix("imported ") }) else { return states }
            return isCurrent ? retiring(states) + ["imported current"] : states + ["imported retired"]
        } _: { change in
            guard change.entry("imported") == nil else { return }
            let name = try #require(KeyName("imported"))
            try change.add(Holders.key(77), named: name, created: time, asCurrent: isCurrent)
        }
    }

    static let destroy = change("destroy one", destroying: true) { states in
        states.map { $0.hasPrefix("one ") ? "one destroyed" : $0 }
    } _: { change in
        if let entry = change.entry("one") { try change.destroy(entry.name) }
    }

    static let destroyAll = change("destroy all", destroying: true) { states in
        states.map { "\($0.prefix { $0 != " " }) destroyed" }
    } _: { change in
        for entry in change.entries { try change.destroy(entry.name) }
    }

    // MARK: Recipients

    /// Adds a recipient of a kind.
    static func meet(_ kind: UInt8) -> KeyringOperation {
        change("add the recipient \(kind)") { states in
            states.contains { $0.hasPrefix("alice ") } ? states : states + ["alice recipient"]
        } _: { change in
            guard change.entry("alice") == nil else { return }
            let name = try #require(KeyName("alice"))
            switch Holders.holder(kind) {
            case .identity(let identity): try change.add(identity.publicKey, named: name, created: time)
            case .plugin: try change.add(.plugin(Holders.pluginRecipient(kind)), named: name, created: time)
            case .key, .passphrase: Issue.record("\(kind) is no recipient")
            }
        }
    }

    /// Adds the identity of a recipient, whose line it takes if they are there.
    static func importing(_ kind: UInt8) -> KeyringOperation {
        change("import the identity \(kind)") { states in
            states.contains { $0.hasPrefix("alice ") }
                ? setting("alice", "identity", states) : states + ["alice identity"]
        } _: { change in
            guard change.entry("alice")?.state != .identity else { return }
            let name = try #require(KeyName("alice"))
            switch Holders.holder(kind) {
            case .identity(let identity): try change.add(identity, named: name, created: time)
            case .plugin(let identity): try change.add(identity, named: name, created: time)
            case .key, .passphrase: Issue.record("\(kind) is no recipient")
            }
        }
    }

    /// Adds a recipient, and makes a group of them.
    static func group(_ kind: UInt8) -> KeyringOperation {
        let meet = meet(kind)
        return change("make a group of \(kind)") { states in
            let states = meet.states(states)
            return states.contains("friends group") ? states : states + ["friends group"]
        } _: { change in
            let (alice, friends) = (try #require(KeyName("alice")), try #require(KeyName("friends")))
            if change.entry("alice") == nil, case .identity(let identity) = Holders.holder(kind) {
                try change.add(identity.publicKey, named: alice, created: time)
            } else if change.entry("alice") == nil {
                try change.add(.plugin(Holders.pluginRecipient(kind)), named: alice, created: time)
            }
            try change.setGroup(friends, members: [alice], created: time)
        }
    }

    // MARK: What unlocks it

    static func protect(_ unlockers: Holders) -> KeyringOperation {
        KeyringOperation(
            name: "protect for \(unlockers.sorted())", states: { $0 }, unlockers: { _ in unlockers },
            protects: true
        ) { path, secrets in
            try Keyring.protect(
                at: path, renewing: true, unlocking: secrets.keySet, allowsUnprotected: true, with: unlockers.recipients
            )
        }
    }

    static func changeUnlockers(adding add: Holders, removing remove: Holders) -> KeyringOperation {
        KeyringOperation(
            name: "unlockers: \(add.count > 5 ? "\(add.count) more" : "\(add.sorted())") for \(remove.sorted())",
            states: { $0 }, unlockers: { $0.subtracting(remove).union(add) }, needsProtection: true
        ) { path, secrets in
            let change = KeyChange(adding: add.recipients, removing: remove.selection)
            _ = try Keyring.changeUnlockers(at: path, change, unlocking: secrets.keySet)
            return nil
        }
    }

    static let exchangeUnlocker = changeUnlockers(adding: [3], removing: [1])
    static let addUnlocker = changeUnlockers(adding: [3], removing: [])
    /// More slots than fit in the unlock file.
    static let manyUnlockers = changeUnlockers(adding: Holders(100..<150), removing: [])
    static let changePassphrase = changeUnlockers(adding: [201], removing: [200])
}
