// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization
import VaultFile

@c(vaultfile_keyring_create)
public func keyringCreate(
    _ path: UnsafePointer<CChar>?, _ unlockers: OpaquePointer?, _ firstName: UnsafePointer<CChar>?
) -> OpaquePointer? {
    unsafe calling {
        try Keyring.create(
            at: unsafe VaultC.path(path), for: unsafe givenRecipients(unlockers).recipients(),
            first: unsafe keyName(firstName))
    }
}

@c(vaultfile_keyring_open)
public func keyringOpen(
    _ path: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ keyring: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(keyring) {
        let settings = try unsafe settings(options)
        return try Keyring.open(
            at: unsafe VaultC.path(path), unlocking: unsafe givenKeys(keys),
            allowsUnprotected: settings.has(.allowUnprotected), allowsUnlocked: settings.has(.allowUnlocked))
    }
}

@c(vaultfile_keyring_entries)
public func keyringEntries(
    _ keyring: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let keyring = try unsafe Handles.object(keyring, Keyring.self)
        return .object([
            ("isProtected", .flag(keyring.isProtected)), ("health", .text(keyring.health.rawValue)),
            ("unlockKeyHealth", .text(keyring.unlockKeyHealth.rawValue)),
            ("entries", .list(keyring.entries.map(JSON.entry))),
        ])
    }
}

@c(vaultfile_keyring_export)
public func keyringExport(
    _ keyring: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ text: UnsafeMutableRawPointer?, _ capacity: UInt,
    _ count: UnsafeMutablePointer<UInt>?
) -> OpaquePointer? {
    unsafe counting(count) {
        var output = try unsafe Output(text, capacity)
        let keyring = try unsafe Handles.object(keyring, Keyring.self)
        let name = try unsafe keyName(name)
        if let entry = keyring.entry(name.description), entry.isKey, let id = entry.id {
            try keyring.key(id).withKeyFile(created: entry.created) { try output.putAll($0) }
        } else {
            try keyring.identity(named: name).withFile { try output.putAll($0) }
        }
        return output.count
    }
}

@c(vaultfile_keyring_free)
public func keyringFree(_ keyring: OpaquePointer?) {
    unsafe Handles.free(keyring, Keyring.self)
}

// MARK: Changes

/// Changes to a keyring, in the order in which they were asked for.
final class CollectedChange: Sendable {
    typealias Step = @Sendable (inout KeyringChange) throws -> Void

    let steps = Mutex<[Step]>([])
}

private func adding(_ change: OpaquePointer?, _ step: () throws -> CollectedChange.Step) -> OpaquePointer? {
    unsafe calling {
        let change = try unsafe Handles.object(change, CollectedChange.self)
        let step = try step()
        change.steps.withLock { $0.append(step) }
    }
}

@c(vaultfile_change_new)
public func changeNew(_ change: UnsafeMutablePointer<OpaquePointer?>?) -> OpaquePointer? {
    unsafe making(change) { CollectedChange() }
}

@c(vaultfile_change_generate_key)
public func changeGenerateKey(_ change: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        return { try $0.generate(named: name, created: .now) }
    }
}

@c(vaultfile_change_add_key)
public func changeAddKey(
    _ change: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ key: UnsafeRawPointer?, _ count: UInt, _ current: Bool
) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        let key = try unsafe withBytes(key, count) { try SymmetricKey(bytes: $0) }
        return { try $0.add(key, named: name, created: .now, asCurrent: current) }
    }
}

@c(vaultfile_change_add_recipient)
public func changeAddRecipient(
    _ change: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ text: UnsafeRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        let recipient = try RecipientFile.Entry(unsafe VaultC.text(text, count))
        return { try $0.add(recipient, named: name, created: .now) }
    }
}

@c(vaultfile_change_generate_identity)
public func changeGenerateIdentity(
    _ change: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ postQuantum: Bool
) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        return { try $0.generateIdentity(postQuantum ? .xWing : .x25519, named: name, created: .now) }
    }
}

@c(vaultfile_change_add_identity)
public func changeAddIdentity(
    _ change: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ text: UnsafeRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        let found = try unsafe withBytes(text, count) { try identities(in: $0) }
        guard let identity = found.first, found.count == 1 else {
            throw Failure.invalid("there are \(found.count) identities in the text, and one has the name")
        }
        return { try $0.add(identity, named: name, created: .now) }
    }
}

@c(vaultfile_change_set_group)
public func changeSetGroup(
    _ change: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ members: UnsafePointer<CChar>?
) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        let members = try unsafe text(members).split(separator: ",", omittingEmptySubsequences: false).map { member in
            guard let name = KeyName(String(member)) else { throw Failure.invalid("a member is not a name") }
            return name
        }
        return { try $0.setGroup(name, members: members, created: .now) }
    }
}

@c(vaultfile_change_remove_group)
public func changeRemoveGroup(_ change: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        return { try $0.removeGroup(name) }
    }
}

@c(vaultfile_change_use)
public func changeUse(_ change: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        return { try $0.use(name) }
    }
}

@c(vaultfile_change_retire)
public func changeRetire(_ change: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        return { try $0.retire(name) }
    }
}

@c(vaultfile_change_destroy)
public func changeDestroy(_ change: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> OpaquePointer? {
    unsafe adding(change) {
        let name = try unsafe keyName(name)
        return { try $0.destroy(name) }
    }
}

@c(vaultfile_change_apply)
public func changeApply(
    _ change: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        let steps = try unsafe Handles.object(change, CollectedChange.self).steps.withLock { $0 }
        let changed = try Keyring.change(
            at: unsafe VaultC.path(path), unlocking: unsafe givenKeys(keys),
            allowsUnprotected: settings.has(.allowUnprotected), allowsUnlocked: settings.has(.allowUnlocked)
        ) { change in
            for step in steps { try step(&change) }
        }
        return .traces(changed.traces)
    }
}

@c(vaultfile_change_free)
public func changeFree(_ change: OpaquePointer?) {
    unsafe Handles.free(change, CollectedChange.self)
}

// MARK: What unlocks a keyring

@c(vaultfile_keyring_change_unlockers)
public func keyringChangeUnlockers(
    _ path: UnsafePointer<CChar>?, _ adding: OpaquePointer?, _ removing: OpaquePointer?, _ keys: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let change = KeyChange(
            adding: try unsafe givenRecipients(adding).recipients(),
            removing: try unsafe givenRecipients(removing).selection(others: false))
        let changed = try Keyring.changeUnlockers(
            at: unsafe VaultC.path(path), change, unlocking: unsafe givenKeys(keys))
        return .object([("rotation", .rotation(changed.result)), ("traces", .traces(changed.traces))])
    }
}

@c(vaultfile_keyring_protect)
public func keyringProtect(
    _ path: UnsafePointer<CChar>?, _ unlockers: OpaquePointer?, _ renewing: Bool, _ keys: OpaquePointer?,
    _ options: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        return .traces(
            try Keyring.protect(
                at: unsafe VaultC.path(path), renewing: renewing, unlocking: unsafe givenKeys(keys),
                allowsUnprotected: settings.has(.allowUnprotected),
                with: unsafe givenRecipients(unlockers).recipients()))
    }
}
