public import SystemPackage

/// Why a view cannot be mounted.
public enum MountError: Error, Equatable, Sendable {
    /// The library is missing, or a function in it: which one.
    case noLibrary(String)
    /// The system has no such file system.
    case unavailable
    /// The system refuses it: what libfuse says, which may be nothing.
    case refused(String)
    /// The system cannot start a process that it needs.
    case noProcess(Errno)
    /// It is still mounted: the system refuses to unmount it, or another mount hides it.
    case stuck
    /// The system has no thread for it.
    case noThread(Errno)
}
