public import VaultFormat
public import VaultStream

extension Keyring {
    /// The change that brings a container to the current key: it adds a slot for it, and removes the slots of all other
    /// keys of this keyring. Give it to `Vault.rotate`, with this keyring as `keys`.
    ///
    /// - Throws: `VaultError` with `noCurrentKey` if no key is current, `memoryUnavailable`.
    public func keyChangeToCurrent() throws(VaultError) -> KeyChange {
        let current = try currentKey()
        let keys = entries.filter { $0.isKey || $0.state == .destroyed }
        let older = Set(keys.compactMap(\.id)).subtracting([current.id])
        return KeyChange(adding: [.key(current)], removing: SlotSelection(ids: older))
    }

    /// The key that encrypts new containers.
    ///
    /// - Throws: `VaultError` with `noCurrentKey` if no key is current, `memoryUnavailable`.
    public func currentKey() throws(VaultError) -> SymmetricKey {
        guard let id = current?.id else { throw VaultError(.noCurrentKey, "no key of the keyring is current") }
        return try key(id)
    }
}
