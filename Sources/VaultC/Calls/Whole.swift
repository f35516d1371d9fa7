// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import SystemPackage
import VaultFile

@c(vaultfile_encrypt)
public func encrypt(
    _ plaintext: UnsafeRawPointer?, _ count: UInt, _ recipients: OpaquePointer?, _ options: OpaquePointer?,
    _ container: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(container) {
        let settings = try unsafe settings(options)
        let recipients = try unsafe givenRecipients(recipients).recipients()
        var made = GrowingBytes()
        var writer = try VaultWriter(for: recipients, options: settings.sealing)
        try unsafe withBytes(plaintext, count) { bytes in try writer.write(bytes) { try made.append($0) } }
        try writer.finish { try made.append($0) }
        return try DataValue(made)
    }
}

@c(vaultfile_decrypt)
public func decrypt(
    _ container: UnsafeRawPointer?, _ count: UInt, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ plaintext: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(plaintext) {
        let settings = try unsafe settings(options)
        return try unsafe BytesSource.lending(container, count) { source in
            let reader = try SeekableVaultReader(source, with: try unsafe credentials(keys, settings))
            var found = GrowingBytes()
            try reader.readAll { try found.append($0) }
            return try DataValue(found)
        }
    }
}

@c(vaultfile_encrypt_file)
public func encryptFile(
    _ input: UnsafePointer<CChar>?, _ output: UnsafePointer<CChar>?, _ recipients: OpaquePointer?,
    _ options: OpaquePointer?
) -> OpaquePointer? {
    unsafe calling {
        let settings = try unsafe settings(options)
        try Vault.encryptFile(
            at: unsafe path(input), to: unsafe path(output), replacing: settings.has(.replace),
            for: unsafe givenRecipients(recipients).recipients(), options: settings.sealing, jobs: settings.jobs,
            onProgress: settings.onProgress)
    }
}

@c(vaultfile_decrypt_file)
public func decryptFile(
    _ input: UnsafePointer<CChar>?, _ output: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?
) -> OpaquePointer? {
    unsafe calling {
        let settings = try unsafe settings(options)
        try Vault.decryptFile(
            at: unsafe path(input), to: unsafe path(output), replacing: settings.has(.replace),
            with: unsafe credentials(keys, settings), jobs: settings.jobs, sparse: settings.has(.sparse),
            onProgress: settings.onProgress)
    }
}

/// - Throws: `Failure` with `invalidArgument` for a negative number. The system waits for ever for bytes from such a
///   descriptor.
private func descriptor(_ number: Int32) throws(Failure) -> FileDescriptor {
    guard number >= 0 else { throw .invalid("a descriptor is not negative") }
    return FileDescriptor(rawValue: number)
}

@c(vaultfile_encrypt_descriptor)
public func encryptDescriptor(
    _ input: Int32, _ output: Int32, _ recipients: OpaquePointer?, _ options: OpaquePointer?
) -> OpaquePointer? {
    unsafe calling {
        let settings = try unsafe settings(options)
        try Vault.encrypt(
            from: descriptor(input), to: descriptor(output),
            for: unsafe givenRecipients(recipients).recipients(), options: settings.sealing, jobs: settings.jobs,
            onProgress: settings.onProgress)
    }
}

@c(vaultfile_decrypt_descriptor)
public func decryptDescriptor(
    _ input: Int32, _ output: Int32, _ keys: OpaquePointer?, _ options: OpaquePointer?
) -> OpaquePointer? {
    unsafe calling {
        let settings = try unsafe settings(options)
        try Vault.decrypt(
            from: descriptor(input), to: descriptor(output),
            with: unsafe credentials(keys, settings), jobs: settings.jobs, sparse: settings.has(.sparse),
            onProgress: settings.onProgress)
    }
}
