// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import SystemPackage
import VaultFile

extension Credentials {
    /// For a header file without its body. There is only one state that a pin can mean then.
    init(headerFile keys: GivenKeys, _ settings: Settings) {
        self.init(
            keys, context: settings.sealing.context, limits: settings.limits,
            expectingHeaderFile: settings.headerPin ?? settings.pin)
    }
}

@c(vaultfile_inspect_header)
public func inspectHeader(
    _ header: UnsafeRawPointer?, _ count: UInt, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) { .shown(try unsafe headerFile(header, count)) }
}

@c(vaultfile_verify_header)
public func verifyHeader(
    _ header: UnsafeRawPointer?, _ count: UInt, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let credentials = Credentials(headerFile: try unsafe givenKeys(keys), try unsafe settings(options))
        return .header(try unsafe headerFile(header, count).opened(with: credentials))
    }
}

/// Runs a change of a header file, which gives its new bytes and a report.
///
/// - Parameters:
///   - header: the bytes of the header file.
///   - settings: the options.
///   - report: gets the handle of the report; may be NULL.
///   - change: gives what changes, and the keys that open it now.
/// - Returns: the new bytes.
private func rotating(
    _ header: UnsafeRawPointer?, _ count: UInt, _ settings: Settings,
    _ report: UnsafeMutablePointer<OpaquePointer?>?, _ change: () throws -> (KeyChange, GivenKeys)
) throws -> any AnyObject & Sendable {
    let (change, keys) = try change()
    let new = try unsafe headerFile(header, count).rotated(
        change, with: Credentials(headerFile: keys, settings), mayLoseAccess: settings.has(.loseAccess),
        mayMixRecipients: settings.sealing.mayMixRecipients)
    let bytes = new.file.bytes
    let made = try DataValue(bytes.span)
    // Last: after an error there is no report.
    if let report = unsafe report { unsafe report.pointee = try JSON.rotated(new).handle }
    return made
}

@c(vaultfile_rotate_header)
public func rotateHeader(
    _ header: UnsafeRawPointer?, _ count: UInt, _ adding: OpaquePointer?, _ removing: OpaquePointer?,
    _ keys: OpaquePointer?, _ options: OpaquePointer?, _ rotated: UnsafeMutablePointer<OpaquePointer?>?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    if let report = unsafe report { unsafe report.pointee = nil }
    return unsafe making(rotated) {
        let settings = try unsafe settings(options)
        return try unsafe rotating(header, count, settings, report) {
            (try unsafe keyChange(adding, removing, settings), try unsafe givenKeys(keys))
        }
    }
}

@c(vaultfile_rotate_header_to_current)
public func rotateHeaderToCurrent(
    _ header: UnsafeRawPointer?, _ count: UInt, _ keyring: OpaquePointer?, _ keys: OpaquePointer?,
    _ options: OpaquePointer?, _ rotated: UnsafeMutablePointer<OpaquePointer?>?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    if let report = unsafe report { unsafe report.pointee = nil }
    return unsafe making(rotated) {
        let settings = try unsafe settings(options)
        return try unsafe rotating(header, count, settings, report) {
            let keyring = try unsafe Handles.object(keyring, Keyring.self)
            return (try keyring.keyChangeToCurrent(), try unsafe givenKeys(keys, adding: keyring))
        }
    }
}

@c(vaultfile_rotate_header_file)
public func rotateHeaderFile(
    _ path: UnsafePointer<CChar>?, _ adding: OpaquePointer?, _ removing: OpaquePointer?, _ keys: OpaquePointer?,
    _ options: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        let change = try unsafe keyChange(adding, removing, settings)
        return .rotation(
            try Vault.rotateHeaderFile(
                at: unsafe VaultC.path(path), change,
                with: Credentials(headerFile: unsafe givenKeys(keys), settings), options: settings.rotation))
    }
}

@c(vaultfile_detach)
public func detach(
    _ path: UnsafePointer<CChar>?, _ header: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        let header: FilePath? = if unsafe header == nil { nil } else { try unsafe VaultC.path(header) }
        return .detachment(
            try Vault.detach(
                at: unsafe VaultC.path(path), to: header, with: unsafe credentials(keys, settings),
                capacity: settings.sealing.headerCapacity, mayLoseSlots: settings.has(.loseSlots),
                options: settings.rotation))
    }
}

@c(vaultfile_attach)
public func attach(
    _ path: UnsafePointer<CChar>?, _ header: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        return .rotation(
            try Vault.attach(
                at: unsafe VaultC.path(path), from: unsafe VaultC.path(header),
                with: unsafe credentials(keys, settings), options: settings.rotation))
    }
}

// MARK: New containers

/// Gives the header file of a new container its handle.
///
/// - Throws: `Failure` with `invalidArgument` if there is no place for it: without it nobody opens the container.
private func give(_ header: HeaderFile?, _ place: UnsafeMutablePointer<OpaquePointer?>?) throws {
    guard let place = unsafe place else { throw Failure.invalid("there is no place for the header file") }
    let bytes = header?.bytes ?? []
    unsafe place.pointee = Handles.insert(try DataValue(bytes.span))
}

@c(vaultfile_encrypt_detached)
public func encryptDetached(
    _ plaintext: UnsafeRawPointer?, _ count: UInt, _ recipients: OpaquePointer?, _ options: OpaquePointer?,
    _ header: UnsafeMutablePointer<OpaquePointer?>?, _ container: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    if let header = unsafe header { unsafe header.pointee = nil }
    return unsafe making(container) {
        let settings = try unsafe settings(options)
        let recipients = try unsafe givenRecipients(recipients).recipients()
        var made = GrowingBytes()
        var writer = try VaultWriter(detachedFor: recipients, options: settings.sealing)
        let file = writer.headerFile
        try unsafe withBytes(plaintext, count) { bytes in try writer.write(bytes) { try made.append($0) } }
        try writer.finish { try made.append($0) }
        let value = try DataValue(made)
        // Last: after an error there is none.
        try unsafe give(file, header)
        return value
    }
}

@c(vaultfile_encryptor_new_detached)
public func encryptorNewDetached(
    _ recipients: OpaquePointer?, _ options: OpaquePointer?, _ header: UnsafeMutablePointer<OpaquePointer?>?,
    _ encryptor: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    if let header = unsafe header { unsafe header.pointee = nil }
    return unsafe making(encryptor) {
        let settings = try unsafe settings(options)
        let recipients = try unsafe givenRecipients(recipients).recipients()
        let writer = try VaultWriter(detachedFor: recipients, options: settings.sealing)
        try unsafe give(writer.headerFile, header)
        return Encryptor(Encrypting(writer))
    }
}

@c(vaultfile_writer_open_detached)
public func writerOpenDetached(
    _ path: UnsafePointer<CChar>?, _ recipients: OpaquePointer?, _ options: OpaquePointer?,
    _ header: UnsafeMutablePointer<OpaquePointer?>?, _ writer: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    if let header = unsafe header { unsafe header.pointee = nil }
    return unsafe making(writer) {
        let settings = try unsafe settings(options)
        let recipients = try unsafe givenRecipients(recipients).recipients()
        let file = try OutputFile(at: unsafe VaultC.path(path), replacing: settings.has(.replace))
        let made = try VaultWriter(detachedFor: recipients, options: settings.sealing)
        try unsafe give(made.headerFile, header)
        return FileWriter(made, file)
    }
}
