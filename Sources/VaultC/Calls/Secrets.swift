// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import VaultFile

@c(vaultfile_generate_key)
public func generateKey(_ key: UnsafeMutableRawPointer?, _ count: UInt) -> OpaquePointer? {
    unsafe calling {
        var output = try unsafe Output(key, count)
        guard output.capacity == SymmetricKey.byteCount else { throw Failure.invalid("a key has 32 bytes") }
        try SymmetricKey.generate().withBytes { try output.putAll($0) }
    }
}

@c(vaultfile_key_id)
public func keyID(
    _ key: UnsafeRawPointer?, _ keyCount: UInt, _ id: UnsafeMutableRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe calling {
        var output = try unsafe Output(id, count)
        let key = try unsafe withBytes(key, keyCount) { try SymmetricKey(bytes: $0) }
        guard output.capacity == key.id.bytes.count else { throw Failure.invalid("an ID has 16 bytes") }
        let bytes = key.id.bytes
        try output.putAll(bytes.span)
    }
}

@c(vaultfile_key_file)
public func keyFile(
    _ key: UnsafeRawPointer?, _ keyCount: UInt, _ text: UnsafeMutableRawPointer?, _ capacity: UInt,
    _ count: UnsafeMutablePointer<UInt>?
) -> OpaquePointer? {
    unsafe counting(count) {
        var output = try unsafe Output(text, capacity)
        let key = try unsafe withBytes(key, keyCount) { try SymmetricKey(bytes: $0) }
        try key.withKeyFile(created: .now) { try output.putAll($0) }
        return output.count
    }
}

@c(vaultfile_generate_identity)
public func generateIdentity(
    _ postQuantum: Bool, _ text: UnsafeMutableRawPointer?, _ capacity: UInt, _ count: UnsafeMutablePointer<UInt>?
) -> OpaquePointer? {
    unsafe counting(count) {
        var output = try unsafe Output(text, capacity)
        let identity = try Identity.generate(postQuantum ? .xWing : .x25519)
        try identity.withFile(created: .now) { try output.putAll($0) }
        return output.count
    }
}

@c(vaultfile_identity_recipients)
public func identityRecipients(
    _ text: UnsafeRawPointer?, _ count: UInt, _ recipients: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(recipients) {
        let found = try unsafe withBytes(text, count) { try identities(in: $0) }
        let lines = found.map { $0.publicKey.text + "\n" }.joined()
        return try DataValue([UInt8](lines.utf8).span)
    }
}
