// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

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
    unsafe reporting(report) { .shown(try HeaderFile(unsafe array(header, count))) }
}

@c(vaultfile_verify_header)
public func verifyHeader(
    _ header: UnsafeRawPointer?, _ count: UInt, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let credentials = Credentials(headerFile: try unsafe givenKeys(keys), try unsafe settings(options))
        return .header(try HeaderFile(unsafe array(header, count)).opened(with: credentials))
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
    let new = try HeaderFile(unsafe array(header, count)).rotated(
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
            let change = KeyChange(
                adding: try unsafe givenRecipients(adding).recipients(),
                removing: try unsafe givenRecipients(removing).selection(others: settings.has(.removeOthers)))
            return (change, try unsafe givenKeys(keys))
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
