// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import SystemPackage
import VaultFile

extension Settings {
    var rotation: RotationOptions {
        var options = RotationOptions()
        options.keeping = keeping
        options.mayLoseAccess = has(.loseAccess)
        options.mayBreakLinks = has(.breakLinks)
        options.mayMixRecipients = sealing.mayMixRecipients
        options.isDryRun = has(.dryRun)
        options.onProgress = onProgress
        return options
    }

    var reencryption: ReencryptionOptions {
        var options = ReencryptionOptions()
        options.mayLoseSlots = has(.loseSlots)
        options.mayBreakLinks = has(.breakLinks)
        options.mayMixRecipients = sealing.mayMixRecipients
        options.isDryRun = has(.dryRun)
        options.onProgress = onProgress
        if has(.keepSlots) { options.keepsSlot = { _ in true } }
        // Without this question a container that nobody here can open would take the place of one that opens.
        if !has(.loseAccess) {
            options.onAccessLoss = {
                throw Failure(name: "consentNeeded", message: "no given secret would open the new container")
            }
        }
        return options
    }
}

/// What the caller wants to add and to remove.
func keyChange(_ adding: OpaquePointer?, _ removing: OpaquePointer?, _ settings: Settings) throws -> KeyChange {
    KeyChange(
        adding: try unsafe givenRecipients(adding).recipients(),
        removing: try unsafe givenRecipients(removing).selection(others: settings.has(.removeOthers)))
}

/// Runs a rotation of a container. If there is a header file, the error names the other call.
private func rotating(_ path: FilePath, _ body: (FilePath) throws -> Rotation) throws -> JSON {
    do {
        return .rotation(try body(path))
    } catch let error as VaultError where error.code == .truncated && !error.isAboutHeaderFile {
        let seen = try? Inspection(FileSource(at: path))
        guard seen?.isHeaderFile == true else { throw error }
        throw Failure(
            name: error.code.name, message: error.message + "; rotate_header_file changes the keys of a header file",
            offset: error.offset)
    }
}

@c(vaultfile_rotate)
public func rotate(
    _ path: UnsafePointer<CChar>?, _ adding: OpaquePointer?, _ removing: OpaquePointer?, _ keys: OpaquePointer?,
    _ options: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        let change = try unsafe keyChange(adding, removing, settings)
        return try rotating(unsafe VaultC.path(path)) {
            try Vault.rotate(
                at: $0, change, with: unsafe credentials(keys, settings),
                options: settings.rotation)
        }
    }
}

@c(vaultfile_rotate_to_current)
public func rotateToCurrent(
    _ path: UnsafePointer<CChar>?, _ keyring: OpaquePointer?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        let keyring = try unsafe Handles.object(keyring, Keyring.self)
        var credentials = try credentials(nil, settings)
        credentials.keys = try unsafe givenKeys(keys, adding: keyring)
        return try rotating(unsafe VaultC.path(path)) {
            try Vault.rotate(
                at: $0, keyring.keyChangeToCurrent(), with: credentials,
                options: settings.rotation)
        }
    }
}

@c(vaultfile_repair)
public func repair(
    _ path: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        return .rotation(
            try Vault.repair(
                at: unsafe VaultC.path(path), with: unsafe credentials(keys, settings), options: settings.rotation))
    }
}

@c(vaultfile_reencrypt)
public func reencrypt(
    _ path: UnsafePointer<CChar>?, _ recipients: OpaquePointer?, _ dropping: OpaquePointer?, _ keys: OpaquePointer?,
    _ options: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        var choices = settings.reencryption
        var credentials = try unsafe credentials(keys, settings)
        // A header file of which there are only bytes cannot be replaced: the library refuses it.
        if case .path(let path) = settings.headerFile {
            choices.headerFile = .path(path)
            credentials.headerFile = nil
        }
        choices.dropping = try unsafe givenRecipients(dropping).selection(others: settings.has(.removeOthers))
        return .reencryption(
            try Vault.reencrypt(
                at: unsafe VaultC.path(path), for: unsafe givenRecipients(recipients).recipients(),
                with: credentials, options: choices, jobs: settings.jobs))
    }
}
