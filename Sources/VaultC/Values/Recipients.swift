// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization
import VaultFile

/// Who can open a container, or which slots of it are meant.
struct GivenRecipients: Sendable {
    private enum Entry: Sendable {
        case key(SymmetricKey)
        case passphrase(Passphrase, Argon2Parameters)
        case publicKey(PublicKey, isHidden: Bool)
        case identity(Identity, isHidden: Bool)
        case slot(KeyID)
    }

    private var entries: [Entry] = []

    mutating func add(_ key: SymmetricKey) { entries.append(.key(key)) }

    mutating func add(_ passphrase: Passphrase, _ cost: Argon2Parameters) {
        entries.append(.passphrase(passphrase, cost))
    }

    mutating func add(_ key: PublicKey, isHidden: Bool) { entries.append(.publicKey(key, isHidden: isHidden)) }

    mutating func add(_ identity: Identity, isHidden: Bool) { entries.append(.identity(identity, isHidden: isHidden)) }

    mutating func add(_ slot: KeyID) { entries.append(.slot(slot)) }

    mutating func merge(_ other: GivenRecipients) { entries += other.entries }

    /// Adds what a keyring has under a name; the current key for nil.
    mutating func add(from keyring: Keyring, _ name: KeyName?) throws {
        guard let name else { return add(try keyring.currentKey()) }
        if let entry = keyring.entry(name.description), entry.isKey || entry.state == .destroyed, let id = entry.id {
            return add(try keyring.key(id))
        }
        let people = try keyring.recipients(named: name)
        guard !people.isEmpty else { throw Failure(name: "lastSlot", message: "nobody is left under this name") }
        for person in people {
            guard let key = person.publicKey else { throw Failure.plugin }
            add(key, isHidden: false)
        }
    }

    /// As recipients.
    ///
    /// - Throws: `Failure` with `invalidArgument` if one is only the ID of a slot.
    func recipients() throws(Failure) -> [Recipient] {
        var recipients: [Recipient] = []
        for entry in entries {
            switch entry {
            case .key(let key): recipients.append(.key(key))
            case .passphrase(let passphrase, let cost): recipients.append(.passphrase(passphrase, cost))
            case .publicKey(let key, let isHidden): recipients.append(.publicKey(key, isHidden: isHidden))
            case .identity(let identity, let isHidden): recipients.append(.identity(identity, isHidden: isHidden))
            case .slot: throw .invalid("the ID of a slot is nobody to encrypt to")
            }
        }
        return recipients
    }

    /// As slots to remove.
    func selection(others: Bool) -> SlotSelection {
        var selection = SlotSelection(others: others)
        for entry in entries {
            switch entry {
            case .key(let key): selection.ids.insert(key.id)
            case .passphrase(let passphrase, _): selection.passphrases.append(passphrase)
            case .publicKey(let key, _): selection.publicKeys.append(key)
            case .identity(let identity, _): selection.identities.append(identity)
            case .slot(let id): selection.ids.insert(id)
            }
        }
        return selection
    }
}

/// The recipients that a C program holds.
final class RecipientsValue: Sendable {
    let given = Mutex(GivenRecipients())
}

/// The recipients of a handle. NULL stands for none.
func givenRecipients(_ handle: OpaquePointer?) throws(Failure) -> GivenRecipients {
    try unsafe Handles.objectIfAny(handle, RecipientsValue.self)?.given.withLock { $0 } ?? GivenRecipients()
}

/// The public keys in a text.
///
/// - Throws: `badKey`, also for a line that another program could use: nobody is left out silently. `Failure` with
///   `pluginFailed` for a recipient of a plugin.
func publicKeys(in text: Span<UInt8>) throws -> [PublicKey] {
    let file = try RecipientFile(text)
    if let skipped = file.skipped.first {
        throw Failure(name: "badKey", message: "line \(skipped.number) cannot be used: \(skipped.reason)")
    }
    guard file.pluginRecipients.isEmpty else { throw Failure.plugin }
    return file.publicKeys
}

private func adding(
    _ recipients: OpaquePointer?, _ add: (inout GivenRecipients) throws -> Void
) -> OpaquePointer? {
    unsafe calling {
        let recipients = try unsafe Handles.object(recipients, RecipientsValue.self)
        var more = GivenRecipients()
        try add(&more)
        recipients.given.withLock { $0.merge(more) }
    }
}

@c(vaultfile_recipients_new)
public func recipientsNew(_ recipients: UnsafeMutablePointer<OpaquePointer?>?) -> OpaquePointer? {
    unsafe making(recipients) { RecipientsValue() }
}

@c(vaultfile_recipients_add_key)
public func recipientsAddKey(
    _ recipients: OpaquePointer?, _ key: UnsafeRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        given.add(try unsafe withBytes(key, count) { try SymmetricKey(bytes: $0) })
    }
}

@c(vaultfile_recipients_add_key_file)
public func recipientsAddKeyFile(
    _ recipients: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        given.add(try unsafe withBytes(text, count) { try SymmetricKey(keyFile: $0) })
    }
}

@c(vaultfile_recipients_add_passphrase)
public func recipientsAddPassphrase(
    _ recipients: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: UInt, _ passes: UInt32, _ memoryKiB: UInt32
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        let isStandard = passes == 0 && memoryKiB == 0
        given.add(
            try unsafe withBytes(bytes, count) { try Passphrase(bytes: $0) },
            isStandard ? .standard : Argon2Parameters(passes: passes, memoryKiB: memoryKiB))
    }
}

@c(vaultfile_recipients_add_public_keys)
public func recipientsAddPublicKeys(
    _ recipients: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: UInt, _ hidden: Bool
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        for key in try unsafe withBytes(text, count, publicKeys) { given.add(key, isHidden: hidden) }
    }
}

@c(vaultfile_recipients_add_identities)
public func recipientsAddIdentities(
    _ recipients: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: UInt, _ hidden: Bool
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        for identity in try unsafe withBytes(text, count, identities) { given.add(identity, isHidden: hidden) }
    }
}

@c(vaultfile_recipients_add_from_keyring)
public func recipientsAddFromKeyring(
    _ recipients: OpaquePointer?, _ keyring: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        let keyring = try unsafe Handles.object(keyring, Keyring.self)
        try given.add(from: keyring, try unsafe name.map { try unsafe keyName($0) })
    }
}

@c(vaultfile_recipients_add_slot_id)
public func recipientsAddSlotID(
    _ recipients: OpaquePointer?, _ id: UnsafeRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe adding(recipients) { given in
        guard let id = KeyID(bytes: try unsafe array(id, count)) else {
            throw Failure.invalid("the ID of a slot has 16 bytes")
        }
        given.add(id)
    }
}

@c(vaultfile_recipients_free)
public func recipientsFree(_ recipients: OpaquePointer?) {
    unsafe Handles.free(recipients, RecipientsValue.self)
}
