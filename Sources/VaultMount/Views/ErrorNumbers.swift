import CPlatform
public import SystemPackage
import VaultFile

/// The error number that a program gets which reads from a mount.
public func errorNumber(for error: any Error) -> Errno {
    switch error {
    case let error as Errno: error
    case let error as VaultError: errorNumber(for: error)
    case let error as ViewError: error.number
    case let error as FolderNode.Refusal: errorNumber(for: error.error)
    default: .ioError
    }
}

private func errorNumber(for error: VaultError) -> Errno {
    switch error.code {
    case .limitExceeded where error.systemError == .noMemory: .noMemory
    // No key opens it, or what would open it was not tried.
    case _ where areKeysRefused(error), .limitExceeded, .pluginFailed: .permissionDenied
    case .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags, .unsupportedMember:
        .notSupported
    case .memoryUnavailable: .noMemory
    case .inputFailed: error.systemError ?? .ioError
    default: .ioError
    }
}

/// Whether the keys were tried on a container, and none opens it.
func areKeysRefused(_ error: any Error) -> Bool {
    guard let error = error as? VaultError else { return false }
    return [.wrongKey, .badKey, .badPassphrase, .noSuchKey, .keyDestroyed, .noCurrentKey, .badContext]
        .contains(error.code)
}

/// Whether another try could end differently although the file stays the same: a medium failed, or memory or
/// descriptors ran out.
func isPassing(_ error: any Error) -> Bool {
    switch error {
    // A link in the place of a header file.
    case let error as VaultError where error.systemError == .tooManySymbolicLinkLevels: false
    case let error as VaultError:
        [.inputFailed, .memoryUnavailable, .inUse].contains(error.code) || error.systemError == .noMemory
    case let error as Errno: error != .permissionDenied
    default: true
    }
}

/// Why a view cannot give what is asked for.
enum ViewError: Error {
    /// There is no such node.
    case noSuchNode
    case noSuchName
    case notFolder, isFolder, notFile, notLink
    /// The name leads to another file by now.
    case replaced
    /// Deeper than a view goes.
    case tooDeep
    /// A member that cannot be given out right: a sparse file, a device.
    case noContent

    var number: Errno {
        switch self {
        case .noSuchNode, .replaced: Errno(rawValue: ESTALE)
        case .noSuchName: .noSuchFileOrDirectory
        case .notFolder: .notDirectory
        case .isFolder: .isDirectory
        case .notFile, .notLink: .invalidArgument
        case .tooDeep: .fileNameTooLong
        case .noContent: .notSupported
        }
    }
}
