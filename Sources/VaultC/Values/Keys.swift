// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization
import VaultFile

/// Secrets that open containers, as a C program has collected them.
struct GivenKeys: KeyProvider {
    private var keys: [KeyID: SymmetricKey] = [:]
    private var ownIdentities: [Identity] = []
    private var ownPassphrases: [Passphrase] = []
    private var keyrings: [Keyring] = []
    var callback: KeyCallback?

    mutating func add(_ key: SymmetricKey) { keys[key.id] = key }
    mutating func add(_ identities: [Identity]) { ownIdentities += identities }
    mutating func add(_ passphrase: Passphrase) { ownPassphrases.append(passphrase) }
    mutating func add(_ keyring: Keyring) { keyrings.append(keyring) }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        var found = ids.compactMap { keys[$0] }
        for keyring in keyrings { found += try keyring.symmetricKeys(for: ids) }
        if let answer = try callback?.ask(.keys, ids) { found += ids.compactMap { answer.keys[$0] } }
        return found
    }

    func identities() throws -> [Identity] {
        var found = ownIdentities
        for keyring in keyrings { found += try keyring.identities() }
        if let answer = try callback?.ask(.identities, []) { found += answer.ownIdentities }
        return found
    }

    func passphrases() throws -> [Passphrase] {
        guard let answer = try callback?.ask(.passphrases, []) else { return ownPassphrases }
        return ownPassphrases + answer.ownPassphrases
    }
}

typealias KeyFunction =
    @convention(c) (
        UnsafeMutableRawPointer?, Int32, UnsafeRawPointer?, UInt, OpaquePointer?
    ) -> Int32

/// A function of a C program that gives secrets when they are needed.
@safe struct KeyCallback: @unchecked Sendable {
    /// What it is asked for, as in `enum vaultfile_request`.
    enum Request: Int32 {
        case keys = 1
        case identities, passphrases
    }

    private let function: KeyFunction
    private let context: UnsafeMutableRawPointer?

    init(_ function: KeyFunction, _ context: UnsafeMutableRawPointer?) {
        unsafe self.function = function
        unsafe self.context = context
    }

    /// - Throws: `Failure` with `callbackFailed`.
    func ask(_ request: Request, _ ids: [KeyID]) throws(Failure) -> GivenKeys {
        let answer = KeysValue()
        let handle = unsafe Handles.insert(answer)
        defer { unsafe Handles.free(handle, KeysValue.self) }
        let bytes = ids.flatMap(\.bytes)
        let status = unsafe bytes.withUnsafeBytes { bytes in
            unsafe function(
                context, request.rawValue, ids.isEmpty ? nil : bytes.baseAddress, UInt(ids.count), handle)
        }
        guard status == 0 else { throw .callback(status) }
        return answer.given.withLock { $0 }
    }
}

/// The keys that a C program holds.
final class KeysValue: Sendable {
    let given = Mutex(GivenKeys())
}

/// The credentials of a handle, with the context, limits, pins and header file of the options. NULL stands for no keys.
func credentials(_ keys: OpaquePointer?, _ settings: Settings) throws(Failure) -> Credentials {
    Credentials(
        try unsafe givenKeys(keys), context: settings.sealing.context, limits: settings.limits,
        expecting: settings.pin, headerFile: settings.headerFile?.source, expectingHeaderFile: settings.headerPin)
}

func givenKeys(_ keys: OpaquePointer?) throws(Failure) -> GivenKeys {
    try unsafe Handles.objectIfAny(keys, KeysValue.self)?.given.withLock { $0 } ?? GivenKeys()
}

/// The same with a keyring, whose keys open too.
func givenKeys(_ keys: OpaquePointer?, adding keyring: Keyring) throws(Failure) -> GivenKeys {
    var given = try unsafe givenKeys(keys)
    given.add(keyring)
    return given
}

/// The identities in a text.
///
/// - Throws: `badKey`, and `Failure` with `pluginFailed` for an identity of a plugin.
func identities(in text: Span<UInt8>) throws -> [Identity] {
    let file = try IdentityFile(text)
    guard file.pluginIdentities.isEmpty else { throw Failure.plugin }
    return file.identities
}

extension Failure {
    static let plugin = Failure(
        name: "pluginFailed", message: "it belongs to an age plugin, and this library does not start plugins")
}

/// Adds secrets to keys.
private func adding(_ keys: OpaquePointer?, _ add: (inout GivenKeys) throws -> Void) -> OpaquePointer? {
    unsafe calling {
        let keys = try unsafe Handles.object(keys, KeysValue.self)
        // A copy is changed without the lock: stretching or reading does not make other threads wait.
        var more = GivenKeys()
        try add(&more)
        keys.given.withLock { $0.merge(more) }
    }
}

extension GivenKeys {
    mutating func merge(_ other: GivenKeys) {
        keys.merge(other.keys) { first, _ in first }
        ownIdentities += other.ownIdentities
        ownPassphrases += other.ownPassphrases
        keyrings += other.keyrings
    }
}

@c(vaultfile_keys_new)
public func keysNew(_ keys: UnsafeMutablePointer<OpaquePointer?>?) -> OpaquePointer? {
    unsafe making(keys) { KeysValue() }
}

@c(vaultfile_keys_add_key)
public func keysAddKey(_ keys: OpaquePointer?, _ key: UnsafeRawPointer?, _ count: UInt) -> OpaquePointer? {
    unsafe adding(keys) { given in
        given.add(try unsafe withBytes(key, count) { try SymmetricKey(bytes: $0) })
    }
}

@c(vaultfile_keys_add_key_file)
public func keysAddKeyFile(_ keys: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: UInt) -> OpaquePointer? {
    unsafe adding(keys) { given in
        given.add(try unsafe withBytes(text, count) { try SymmetricKey(keyFile: $0) })
    }
}

@c(vaultfile_keys_add_passphrase)
public func keysAddPassphrase(_ keys: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: UInt) -> OpaquePointer? {
    unsafe adding(keys) { given in
        given.add(try unsafe withBytes(bytes, count) { try Passphrase(bytes: $0) })
    }
}

@c(vaultfile_keys_add_identities)
public func keysAddIdentities(_ keys: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: UInt) -> OpaquePointer? {
    unsafe adding(keys) { given in given.add(try unsafe withBytes(text, count, identities)) }
}

@c(vaultfile_keys_add_keyring)
public func keysAddKeyring(_ keys: OpaquePointer?, _ keyring: OpaquePointer?) -> OpaquePointer? {
    unsafe adding(keys) { given in given.add(try unsafe Handles.object(keyring, Keyring.self)) }
}

@c(vaultfile_keys_set_callback)
public func keysSetCallback(
    _ keys: OpaquePointer?,
    _ callback: (
        @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafeRawPointer?, UInt, OpaquePointer?) -> Int32
    )?,
    _ context: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    unsafe calling {
        let keys = try unsafe Handles.object(keys, KeysValue.self)
        let callback = unsafe callback.map { unsafe KeyCallback($0, context) }
        keys.given.withLock { $0.callback = callback }
    }
}

@c(vaultfile_keys_free)
public func keysFree(_ keys: OpaquePointer?) {
    unsafe Handles.free(keys, KeysValue.self)
}
