public import VaultFormat
public import VaultStream

/// The changes to a keyring that one call of `Keyring.change` collects. They are written together when it ends.
public struct KeyringChange: Sendable {
    private(set) var items: [KeyringText.Item]
    /// The keyring before the change, whose secrets are kept.
    let keyring: Keyring
    private(set) var isChanged = false
    /// Whether a secret of the old file is destroyed, or was asked to be destroyed before: an earlier call that was
    /// killed may not have exchanged the unlock key.
    private(set) var destroys = false

    /// Whether anything protects the keyring.
    public let isProtected: Bool

    init(_ keyring: Keyring) {
        self.keyring = keyring
        isProtected = keyring.isProtected
        items = keyring.entries.map { KeyringText.Item($0, $0.hasSecret ? .kept : .none) }
    }

    /// The keys, recipients, identities and groups with the changes so far.
    public var entries: [KeyringEntry] { items.map(\.entry) }

    /// The key, recipient, identity or group with this name, or with this ID in 32 hexadecimal digits.
    public func entry(_ reference: String) -> KeyringEntry? {
        entries.first { $0.isCalled(reference) }
    }

    /// A name that nothing in the keyring has: `key-` and the day, then a number if that is needed.
    ///
    /// - Parameters:
    ///   - day: the day that the name has in it.
    ///   - noun: what the name begins with in place of `key`.
    public func freeName(on day: Timestamp, _ noun: String = "key") -> KeyName? {
        let stem = noun + "-" + (day.utc?.prefix(10) ?? "0")
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
        let entry = KeyringEntry(
            id: key.id, name: name, created: try Self.second(of: created), state: isCurrent ? .current : .retired)
        try checkNew(entry)
        if isCurrent { retireCurrent() }
        append(KeyringText.Item(entry, .new(key)))
        return entry
    }

    /// Makes a key the current one, and retires the key that was current; or makes a recipient that was `former` one to
    /// encrypt to again.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if it is not there, `keyDestroyed` if it was destroyed, `invalidArgument`
    ///   for an identity or a group.
    public mutating func use(_ name: KeyName) throws(VaultError) {
        let index = try living(name)
        switch items[index].entry.state {
        case .retired:
            retireCurrent()
            set(.current, at: index)
        case .former: set(.recipient, at: index)
        case .identity: throw VaultError(.invalidArgument, "it is an identity, which is always tried")
        case .group: throw VaultError(.invalidArgument, "it is a group, and only its members are used or retired")
        default: break
        }
    }

    /// Retires a key; if it was the current one, no key is current then. Or makes a recipient `former`: groups keep it,
    /// and nothing is encrypted to it by default.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if it is not there, `keyDestroyed` if it was destroyed, `invalidArgument`
    ///   for an identity or a group.
    public mutating func retire(_ name: KeyName) throws(VaultError) {
        let index = try living(name)
        switch items[index].entry.state {
        case .current: set(.retired, at: index)
        case .recipient: set(.former, at: index)
        case .group: throw VaultError(.invalidArgument, "it is a group, and only its members are used or retired")
        case .identity: throw VaultError(.invalidArgument, "it is an identity, which cannot be retired")
        default: break
        }
    }

    /// Destroys a key or an identity: its secret is removed, and containers that only it opens are lost for ever. An
    /// identity also leaves all groups, and a group of which nothing is left is removed (KEYRING-20). Destroying
    /// something again is not an error, and finishes what was interrupted.
    ///
    /// The line stays, as that of a destroyed key; only a plugin's identity whose recipient is not known leaves none.
    ///
    /// - Returns: its entry as it is then.
    /// - Throws: `VaultError` with `noSuchKey` if it is not there, `invalidArgument` for a recipient or a group, which
    ///   have no secret.
    @discardableResult
    public mutating func destroy(_ name: KeyName) throws(VaultError) -> KeyringEntry {
        let index = try index(of: name)
        let entry = items[index].entry
        let destroyed = entry.inState(.destroyed)
        guard entry.state != .destroyed else {
            destroys = true
            return destroyed
        }
        guard entry.hasSecret else { throw VaultError(.invalidArgument, "it has no secret to destroy") }
        if case .kept = items[index].secret { destroys = true }
        isChanged = true
        if entry.id == nil {
            items.remove(at: index)
        } else {
            items[index] = KeyringText.Item(destroyed, .none)
        }
        leaveGroups(name)
        return destroyed
    }

    /// Makes a key the current one by its ID.
    ///
    /// - Throws: as for its name.
    public mutating func use(_ id: KeyID) throws(VaultError) { try use(name(of: id)) }

    /// Retires a key, or makes a recipient `former`, by its ID.
    ///
    /// - Throws: as for its name.
    public mutating func retire(_ id: KeyID) throws(VaultError) { try retire(name(of: id)) }

    /// Destroys a key or an identity by its ID.
    ///
    /// - Throws: as for its name.
    public mutating func destroy(_ id: KeyID) throws(VaultError) { try destroy(name(of: id)) }

    // MARK: Lines

    private func name(of id: KeyID) throws(VaultError) -> KeyName {
        guard let entry = entries.first(where: { $0.id == id }) else { throw .noSuchKey }
        return entry.name
    }

    private func index(of name: KeyName) throws(VaultError) -> Int {
        guard let index = items.firstIndex(where: { $0.entry.name == name }) else { throw .noSuchKey }
        return index
    }

    private func living(_ name: KeyName) throws(VaultError) -> Int {
        let index = try index(of: name)
        guard items[index].entry.state != .destroyed else { throw .keyDestroyed }
        return index
    }

    private mutating func retireCurrent() {
        if let index = items.firstIndex(where: { $0.entry.state == .current }) { set(.retired, at: index) }
    }

    private mutating func set(_ state: KeyringEntry.State, at index: Int) {
        items[index].entry = items[index].entry.inState(state)
        isChanged = true
    }

    /// A time as a keyring has it.
    static func second(of time: Timestamp) throws(VaultError) -> Timestamp {
        let second = Timestamp(seconds: time.seconds)
        _ = try second.utcOfKey
        return second
    }

    /// Refuses a line whose ID or name is taken.
    func checkNew(_ entry: KeyringEntry) throws(VaultError) {
        if let id = entry.id, let known = entries.first(where: { $0.id == id }) {
            throw VaultError(.keyExists, "the keyring has this key already, \(known.state.name), as \(known.name)")
        }
        guard !entries.contains(where: { $0.name == entry.name }) else {
            throw VaultError(.keyNameTaken, "the keyring has a key of this name already")
        }
        guard items.count < KeyringText.mostKeys else {
            throw VaultError(.invalidArgument, "a keyring has at most \(KeyringText.mostKeys) keys")
        }
    }

    mutating func append(_ item: KeyringText.Item) {
        items.append(item)
        isChanged = true
    }

    /// Puts an item in the place of the line with this name.
    mutating func replace(_ name: KeyName, by item: KeyringText.Item) throws(VaultError) {
        items[try index(of: name)] = item
        isChanged = true
    }

    mutating func remove(_ name: KeyName) throws(VaultError) {
        items.remove(at: try index(of: name))
        isChanged = true
    }

    private mutating func leaveGroups(_ name: KeyName) {
        for (index, item) in items.enumerated() where item.entry.members.contains(name) {
            items[index].entry = item.entry.with(members: item.entry.members.filter { $0 != name })
        }
        items.removeAll { $0.entry.state == .group && $0.entry.members.isEmpty }
    }
}

extension VaultError {
    static let noSuchKey = VaultError(.noSuchKey, "it is not in the keyring")
    static let keyDestroyed = VaultError(.keyDestroyed, "it was destroyed")
}
