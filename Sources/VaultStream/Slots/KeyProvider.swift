public import VaultFormat

/// Finds the keys of containers. Implement it for a keychain, a key service or a prompt.
///
/// Opening asks for the symmetric keys whose IDs the header names, then for identities, then for private slots, then for
/// identities of plugins, and for passphrases only if none of these opens the container. Calls come from the thread that opens, and may wait.
///
/// **Errors.** If a provider throws, the operation ends, and the caller gets the error unchanged. A provider that does
/// not have a key does not throw: it leaves the key out, and another slot may open. If no slot opens, the error is
/// `wrongKey`.
public protocol KeyProvider: Sendable {
    /// Returns the symmetric keys that it has with these IDs.
    ///
    /// - Parameter ids: the IDs in the header, each once. The header is not authenticated yet, and there may be a
    ///   thousand IDs. Asked once for one header.
    /// - Returns: the keys, in any order. To return no key is not an error.
    /// - Throws: anything, to end the operation; the caller gets it unchanged.
    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey]

    /// The identities to try.
    ///
    /// Called at most once for one opening, however many slots and copies there are, and only if the container has a
    /// slot of a public key and no symmetric key opened it. Rotation, re-encryption and `Inspection.trySlots` call it in
    /// any case.
    ///
    /// - Throws: anything, to end the operation; the caller gets it unchanged.
    func identities() throws -> [Identity]

    /// The identities of age plugins to try.
    ///
    /// Called at most once for one opening, and only if the container has a slot with age stanzas and nothing else but a
    /// passphrase may open it. Rotation, re-encryption and `Inspection.trySlots` call it in any case.
    ///
    /// - Throws: anything, to end the operation; the caller gets it unchanged.
    func pluginIdentities() throws -> [PluginIdentity]

    /// Hands the stanzas of slots to a plugin, in one session. `AgePlugins` of `VaultFile` does this.
    ///
    /// Called at most twice for one plugin and one reading of a container (SLOT-34): first with the slots whose IDs belong
    /// to known recipients, then with the others if nothing has opened.
    ///
    /// - Parameters:
    ///   - slots: the stanzas of each slot. They are not authenticated yet.
    ///   - plugin: the name of the plugin.
    ///   - identities: all given identities of this plugin; at least one.
    /// - Returns: what the plugin unwrapped, for each slot; nil for a slot that it does not open.
    /// - Throws: `pluginFailed` if the plugin is missing or fails: then other slots are tried. Anything else ends the
    ///   operation; the caller gets it unchanged.
    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?]

    /// The passphrases to try. A program may ask its user here.
    ///
    /// Called at most once for one opening, and only if the container has a passphrase slot and no key opened it.
    /// Rotation, re-encryption and `Inspection.trySlots` call it once in any case: they must know which slots the
    /// passphrases open.
    ///
    /// - Throws: anything, to end the operation; the caller gets it unchanged. A user who gives up is such an error.
    func passphrases() throws -> [Passphrase]

    /// The private slots that belong to this program. It is shown no others.
    var privateSlots: [PrivateSlotFamily] { get }

    /// Unwraps the file key of a private slot.
    ///
    /// - Parameter slot: of one of the families in `privateSlots`. It is not authenticated yet.
    /// - Returns: the file key; nil if the slot does not open.
    /// - Throws: anything, to end the operation, for example if a key service cannot be reached; the caller gets it
    ///   unchanged.
    func fileKey(for slot: PrivateSlot) throws -> FileKey?
}

extension KeyProvider {
    /// No identities.
    ///
    /// - Throws: nothing.
    public func identities() throws -> [Identity] { [] }

    /// No identities of plugins.
    ///
    /// - Throws: nothing.
    public func pluginIdentities() throws -> [PluginIdentity] { [] }

    /// No plugins.
    ///
    /// - Throws: `pluginFailed`.
    public func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        throw VaultError(.pluginFailed, "this program does not start plugins")
    }

    /// No passphrases.
    ///
    /// - Throws: nothing.
    public func passphrases() throws -> [Passphrase] { [] }

    /// No private slots.
    public var privateSlots: [PrivateSlotFamily] { [] }

    /// No private slots.
    ///
    /// - Throws: nothing.
    public func fileKey(for slot: PrivateSlot) throws -> FileKey? { nil }
}

/// Keys, identities and passphrases in memory.
public struct KeySet: KeyProvider {
    private let keys: [KeyID: SymmetricKey]
    private let givenIdentities: [Identity]
    private let given: [Passphrase]

    /// Any one of them may open a container.
    public init(keys: [SymmetricKey] = [], passphrases: [Passphrase] = [], identities: [Identity] = []) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        givenIdentities = identities
        given = passphrases
    }

    /// Those of the keys that have these IDs.
    public func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { ids.compactMap { keys[$0] } }

    /// The identities.
    public func identities() -> [Identity] { givenIdentities }

    /// The passphrases.
    public func passphrases() -> [Passphrase] { given }
}

/// The secrets at hand when slots are changed: the caller's, those of recipients to add, and those that select slots to
/// remove. Each kind of slot adds its part in its own file.
package struct SecretsAtHand: KeyProvider {
    let keys: any KeyProvider
    let secrets: [any SlotSecret]

    package init(_ keys: any KeyProvider, adding recipients: [Recipient], removing: SlotSelection) {
        self.keys = keys
        secrets = recipients.compactMap(\.maker.secret) + removing.secrets
    }
}

extension Credentials {
    /// The same, with the secrets of a change beside the caller's.
    package func with(_ recipients: [Recipient], removing: SlotSelection) -> Credentials {
        var credentials = self
        credentials.keys = SecretsAtHand(keys, adding: recipients, removing: removing)
        return credentials
    }
}
