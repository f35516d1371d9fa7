public import VaultFormat
public import VaultStream

/// The changes to a keyring that one call of `Keyring.change` collects. They are written together when it ends.
public struct KeyringChange: Sendable {
    var items: [KeyringText.Item]
    private(set) var isChanged = false
    /// Whether a secret of the old file is destroyed, or was asked to be destroyed before: an earlier call that was
    /// killed may not have exchanged the unlock key.
    private(set) var destroys = false

    /// Whether anything protects the keyring.
    public let isProtected: Bool

    init(_ keyring: Keyring) {
        isProtected = keyring.isProtected
        items = keyring.entries.map { KeyringText.Item($0, $0.state == .destroyed ? .none : .kept) }
    }

    /// The keys with the changes so far.
    public var entries: [KeyringEntry] { items.map(\.entry) }

    /// The key with this name, or with this ID in 32 hexadecimal digits.
    public func entry(_ reference: String) -> KeyringEntry? {
        entries.first { $0.isCalled(reference) }
    }

    /// A name that no key has: `key-` and the day, then a number if that is needed.
    public func freeName(on day: Timestamp) -> KeyName? {
        let stem = "key-" + (day.utc?.prefix(10) ?? "0")
        let taken = Set(entries.map(\.name.description))
        let number = (1...KeyringText.mostKeys + 1).first { !taken.contains($0 == 1 ? stem : "\(stem)-\($0)") }
        return number.flatMap { KeyName($0 == 1 ? stem : "\(stem)-\($0)") }
    }

    /// Adds a new random key, which becomes the current one. The key that was current is retired.
    ///
    /// - Throws: `VaultError` with `keyNameTaken`, `invalidArgument`, `memoryUnavailable`.
    @discardableResult
    public mutating func generate(named name: KeyName, created: Timestamp) throws(VaultError) -> KeyringEntry {
        try add(SymmetricKey.generate(), named: name, created: created, asCurrent: true)
    }

    /// Adds an existing key.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - name: what people call it.
    ///   - created: when it was made, to the second.
    ///   - isCurrent: whether it becomes the current key; otherwise it is retired.
    /// - Throws: `VaultError` with `keyExists` if the keyring has it, even destroyed; `keyNameTaken` if another key has
    ///   this name; `invalidArgument` if the year does not have four digits, or there are too many keys.
    @discardableResult
    public mutating func add(
        _ key: SymmetricKey, named name: KeyName, created: Timestamp, asCurrent isCurrent: Bool
    ) throws(VaultError) -> KeyringEntry {
        if let known = entries.first(where: { $0.id == key.id }) {
            throw VaultError(.keyExists, "the keyring has this key already, \(known.state.name), as \(known.name)")
        }
        guard !entries.contains(where: { $0.name == name }) else {
            throw VaultError(.keyNameTaken, "the keyring has a key of this name already")
        }
        guard items.count < KeyringText.mostKeys else {
            throw VaultError(.invalidArgument, "a keyring has at most \(KeyringText.mostKeys) keys")
        }
        let second = Timestamp(seconds: created.seconds)
        _ = try second.utcOfKey
        if isCurrent { retireCurrent() }
        let entry = KeyringEntry(
            id: key.id, name: name, created: second, state: isCurrent ? .current : .retired)
        items.append(KeyringText.Item(entry, .new(key)))
        isChanged = true
        return entry
    }

    /// Makes a key the current one. The key that was current is retired.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if it is not there, `keyDestroyed` if it was destroyed.
    public mutating func use(_ id: KeyID) throws(VaultError) {
        let index = try living(id)
        guard items[index].entry.state != .current else { return }
        retireCurrent()
        set(.current, at: index)
    }

    /// Retires a key. If it was the current one, no key is current then.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if it is not there, `keyDestroyed` if it was destroyed.
    public mutating func retire(_ id: KeyID) throws(VaultError) {
        let index = try living(id)
        if items[index].entry.state == .current { set(.retired, at: index) }
    }

    /// Destroys a key: its secret is removed, and containers that only this key opens are lost for ever. Destroying a
    /// key again is not an error, and finishes what was interrupted.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if it is not there.
    public mutating func destroy(_ id: KeyID) throws(VaultError) {
        guard let index = items.firstIndex(where: { $0.entry.id == id }) else {
            throw .noSuchKey
        }
        guard items[index].entry.state != .destroyed else {
            destroys = true
            return
        }
        if case .kept = items[index].secret { destroys = true }
        items[index].secret = .none
        set(.destroyed, at: index)
    }

    private func living(_ id: KeyID) throws(VaultError) -> Int {
        guard let index = items.firstIndex(where: { $0.entry.id == id }) else {
            throw .noSuchKey
        }
        guard items[index].entry.state != .destroyed else { throw .keyDestroyed }
        return index
    }

    private mutating func retireCurrent() {
        if let index = items.firstIndex(where: { $0.entry.state == .current }) { set(.retired, at: index) }
    }

    private mutating func set(_ state: KeyringEntry.State, at index: Int) {
        let old = items[index].entry
        items[index].entry = KeyringEntry(id: old.id, name: old.name, created: old.created, state: state)
        isChanged = true
    }
}

extension VaultError {
    static let noSuchKey = VaultError(.noSuchKey, "it is not in the keyring")
    static let keyDestroyed = VaultError(.keyDestroyed, "it was destroyed")
}
