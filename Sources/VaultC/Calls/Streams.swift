// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import VaultFile

typealias Encryptor = StreamValue<Encrypting>
typealias Decryptor = StreamValue<Decrypting>

@c(vaultfile_encryptor_new)
public func encryptorNew(
    _ recipients: OpaquePointer?, _ options: OpaquePointer?, _ encryptor: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(encryptor) {
        let settings = try unsafe settings(options)
        let recipients = try unsafe givenRecipients(recipients).recipients()
        return Encryptor(Encrypting(try VaultWriter(for: recipients, options: settings.sealing)))
    }
}

@c(vaultfile_encryptor_update)
public func encryptorUpdate(
    _ encryptor: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: UInt, _ output: UnsafeMutableRawPointer?,
    _ capacity: UInt, _ outputCount: UnsafeMutablePointer<UInt>?
) -> OpaquePointer? {
    unsafe counting(outputCount) {
        var output = try unsafe Output(output, capacity)
        let stream = try unsafe Handles.object(encryptor, Encryptor.self)
        try unsafe withBytes(bytes, count) { try stream.update($0, &output) }
        return output.count
    }
}

@c(vaultfile_encryptor_finish)
public func encryptorFinish(_ encryptor: OpaquePointer?) -> OpaquePointer? {
    unsafe calling { try unsafe Handles.object(encryptor, Encryptor.self).finish() }
}

@c(vaultfile_encryptor_free)
public func encryptorFree(_ encryptor: OpaquePointer?) {
    unsafe Handles.free(encryptor, Encryptor.self)
}

@c(vaultfile_decryptor_new)
public func decryptorNew(
    _ keys: OpaquePointer?, _ options: OpaquePointer?, _ decryptor: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(decryptor) {
        let settings = try unsafe settings(options)
        return Decryptor(Decrypting(VaultReader(with: try unsafe credentials(keys, settings))))
    }
}

@c(vaultfile_decryptor_update)
public func decryptorUpdate(
    _ decryptor: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: UInt, _ output: UnsafeMutableRawPointer?,
    _ capacity: UInt, _ outputCount: UnsafeMutablePointer<UInt>?
) -> OpaquePointer? {
    unsafe counting(outputCount) {
        var output = try unsafe Output(output, capacity)
        let stream = try unsafe Handles.object(decryptor, Decryptor.self)
        try unsafe withBytes(bytes, count) { try stream.update($0, &output) }
        return output.count
    }
}

@c(vaultfile_decryptor_finish)
public func decryptorFinish(_ decryptor: OpaquePointer?) -> OpaquePointer? {
    unsafe calling { try unsafe Handles.object(decryptor, Decryptor.self).finish() }
}

@c(vaultfile_decryptor_free)
public func decryptorFree(_ decryptor: OpaquePointer?) {
    unsafe Handles.free(decryptor, Decryptor.self)
}
