#if os(Linux)
import CFuse
import CPlatform
import Synchronization
import SystemPackage

/// libfuse3, loaded when it is first used.
@safe struct FuseLibrary: @unchecked Sendable {
    let functions: vaultfile_fuse

    private static let loaded = Mutex<Result<FuseLibrary, MountError>?>(nil)

    /// What the library has last said about an error.
    private static let lastLine = Mutex("")

    static func load() throws(MountError) -> FuseLibrary {
        try loaded.withLock { loaded in
            let result = loaded ?? find()
            loaded = result
            return result
        }.get()
    }

    private static func find() -> Result<FuseLibrary, MountError> {
        var functions = vaultfile_fuse()
        if let missing = unsafe vaultfile_fuse_load(&functions) {
            return .failure(.noLibrary(unsafe String(cString: missing)))
        }
        unsafe functions.set_log_func { _, format, arguments in
            var text = [CChar](repeating: 0, count: 512)
            guard let format = unsafe format, let arguments = unsafe arguments else { return }
            let count = unsafe vsnprintf(&text, text.count, format, arguments)
            let line = text.prefix(max(0, min(Int(count), text.count - 1))).map { UInt8(bitPattern: $0) }
            FuseLibrary.lastLine.withLock { $0 = String(decoding: line, as: UTF8.self) }
        }
        return .success(FuseLibrary(functions: functions))
    }

    /// What the library has said since the last call; empty for nothing. It is for developers.
    static func takeLine() -> String {
        let line = lastLine.withLock { exchange(&$0, with: "") }
        return String(line.prefix { $0 != "\n" })
    }
}
#endif
