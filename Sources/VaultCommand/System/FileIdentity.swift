internal import SystemPackage
internal import VaultFile

#if canImport(Darwin)
@unsafe @preconcurrency internal import Darwin
#elseif canImport(Musl)
@unsafe @preconcurrency internal import Musl
#else
@unsafe @preconcurrency internal import Glibc
#endif

/// A file by what it is, whatever its names are.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ stat: Stat) {
        device = UInt64(truncatingIfNeeded: stat.deviceID.rawValue)
        inode = UInt64(truncatingIfNeeded: stat.inode.rawValue)
    }
}

extension Stat {
    /// Whether it holds bytes at places, so that writing it while it is read destroys it.
    var isStorage: Bool { type == .regular || type == .blockSpecial }

    /// The permission bits without set-ID and sticky.
    var plainPermissions: FilePermissions { FilePermissions(rawValue: permissions.rawValue & 0o777) }

    /// When the contents changed last.
    var modificationTime: Timestamp? { Self.timestamp(st_mtim) }

    /// When anything of the file changed last. No program can set it.
    var changeTime: Timestamp? { Self.timestamp(st_ctim) }

    private static func timestamp(_ time: timespec) -> Timestamp? {
        Timestamp(seconds: Int64(time.tv_sec), nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
    }
}
