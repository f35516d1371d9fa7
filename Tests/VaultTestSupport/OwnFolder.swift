import FoundationEssentials
import VaultSystem

#if canImport(Glibc)
import Glibc
#endif

/// Runs `body` on a thread with a working folder of its own: an unpacker changes it, and other tests start programs
/// in that of the process.
package func onThreadWithOwnFolder(_ body: @escaping @Sendable () throws -> Void) throws {
    let result = Monitor<Result<Void, any Error>?>(nil)
    try Thread.start {
        let old = FileManager.default.currentDirectoryPath
        #if canImport(Glibc)
        // Glibc's module does not have it: it is none of POSIX.
        if let call = unsafe dlsym(nil, "unshare") {
            let unshare = unsafe unsafeBitCast(call, to: (@convention(c) (CInt) -> CInt).self)
            let cloneOfFolder: CInt = 0x200
            _ = unshare(cloneOfFolder)
        }
        #endif
        let found = Result { try body() }
        // Where that is not allowed, the folder is that of the process.
        _ = FileManager.default.changeCurrentDirectoryPath(old)
        result.withLock { $0 = found }
    }
    try result.wait { $0 }.get()
}
