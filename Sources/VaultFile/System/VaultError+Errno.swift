public import SystemPackage
public import VaultFormat

extension VaultError {
    /// The error of the system call that failed, if it was one.
    ///
    ///     catch let error as VaultError where error.systemError == .noSuchFileOrDirectory
    public var systemError: Errno? { errorNumber.map { Errno(rawValue: $0) } }

    /// What a ``ByteSource`` throws when its medium fails: an error with the code `inputFailed`.
    ///
    /// `SeekableVaultReader.verify` and ``Recovery`` treat this error as damage, and go on
    /// after it. They pass every other error on.
    ///
    /// - Parameters:
    ///   - message: what failed, in lower case, on one line.
    ///   - systemError: the system's error, if there is one.
    public static func inputFailed(_ message: String, systemError: Errno? = nil) -> VaultError {
        VaultError(.inputFailed, message, errorNumber: systemError?.rawValue)
    }

    init(_ code: Code, _ message: String, offset: UInt64? = nil, systemError: Errno) {
        self.init(code, message, offset: offset, errorNumber: systemError.rawValue)
    }
}
