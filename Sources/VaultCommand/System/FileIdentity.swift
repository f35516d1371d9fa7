internal import CPlatform
internal import SystemPackage
internal import VaultFile

/// Identifies a file by device and inode, whatever its names are.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ stat: Stat) {
        device = UInt64(truncatingIfNeeded: stat.deviceID.rawValue)
        inode = UInt64(truncatingIfNeeded: stat.inode.rawValue)
    }
}

extension Stat {
    /// Whether the file stores its bytes. Writing to such a file while it is read destroys it.
    var isStorage: Bool { type == .regular || type == .blockSpecial }

    /// The permission bits without the set-ID and sticky bits.
    var plainPermissions: FilePermissions { FilePermissions(rawValue: permissions.rawValue & 0o777) }

    /// When the contents last changed.
    var modificationTime: Timestamp? { Self.timestamp(st_mtim) }

    /// When the contents or attributes of the file last changed. No program can set this time.
    var changeTime: Timestamp? { Self.timestamp(st_ctim) }

    private static func timestamp(_ time: timespec) -> Timestamp? {
        Timestamp(
            seconds: vaultfile_seconds(time), nanoseconds: UInt32(truncatingIfNeeded: vaultfile_nanoseconds(time)))
    }
}
