// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization
import VaultFile

typealias ProgressFunction = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Int32

/// A function of a C program that hears how far a call is, and can end it.
@safe struct ProgressCallback: @unchecked Sendable {
    private let function: ProgressFunction
    private let context: UnsafeMutableRawPointer?

    init(_ function: ProgressFunction, _ context: UnsafeMutableRawPointer?) {
        unsafe self.function = function
        unsafe self.context = context
    }

    /// - Throws: `Failure` with `callbackFailed`.
    func report(_ done: UInt64) throws(Failure) {
        let status = unsafe function(context, done)
        guard status == 0 else { throw .callback(status) }
    }
}

extension Settings {
    /// Reports how far a call is.
    var onProgress: @Sendable (UInt64) throws -> Void {
        { [progress] done in try progress?.report(done) }
    }
}

@c(vaultfile_options_set_progress)
public func optionsSetProgress(
    _ options: OpaquePointer?, _ progress: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Int32)?,
    _ context: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    unsafe calling {
        let options = try unsafe Handles.object(options, OptionsValue.self)
        let callback = unsafe progress.map { unsafe ProgressCallback($0, context) }
        options.settings.withLock { $0.progress = callback }
    }
}
