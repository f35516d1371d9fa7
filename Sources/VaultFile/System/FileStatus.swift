package import SystemPackage
package import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What the system knows of a file, as far as this library asks.
package struct FileStatus: Sendable {
    package enum Kind: Sendable {
        case regular, folder, link, blockDevice, other
    }

    /// A file by what it is, whatever its names are.
    package struct Identity: Hashable, Sendable {
        package let device: UInt64
        package let inode: UInt64

        package init(device: UInt64, inode: UInt64) {
            self.device = device
            self.inode = inode
        }

        package init(_ stat: Stat) {
            device = UInt64(truncatingIfNeeded: stat.deviceID.rawValue)
            inode = UInt64(truncatingIfNeeded: stat.inode.rawValue)
        }
    }

    /// A file as it is at one time. Its identity alone says little: an inode that was freed is soon another file's, and
    /// a rotation changes a file in its place.
    struct Version: Hashable {
        let identity: Identity
        let size: UInt64
        let changed: Timestamp
    }

    package let kind: Kind
    package let size: UInt64
    package let identity: Identity
    /// When its bytes, its names or its mode were last changed, as exactly as the system counts.
    package let changed: Timestamp
    /// How many names it has.
    package let linkCount: Int
    package let permissions: FilePermissions
    package let owner: UInt32
    package let group: UInt32

    package init(
        kind: Kind, size: UInt64, identity: Identity, linkCount: Int = 1,
        permissions: FilePermissions = .ownerReadWrite,
        owner: UInt32 = 0, group: UInt32 = 0, changed: Timestamp = Timestamp(seconds: 0)
    ) {
        self.kind = kind
        self.size = size
        self.identity = identity
        self.linkCount = linkCount
        self.permissions = permissions
        self.owner = owner
        self.group = group
        self.changed = changed
    }

    var version: Version { Version(identity: identity, size: size, changed: changed) }

    init(_ stat: Stat) {
        let kind: Kind =
            switch stat.type {
            case .regular: .regular
            case .directory: .folder
            case .symbolicLink: .link
            case .blockSpecial: .blockDevice
            default: .other
            }
        self.init(
            kind: kind, size: UInt64(max(0, stat.size)),
            identity: Identity(stat), linkCount: stat.linkCount, permissions: stat.permissions,
            owner: UInt32(stat.userID.rawValue),
            group: UInt32(stat.groupID.rawValue),
            changed: stat.changed ?? Timestamp(seconds: 0))
    }
}

extension Stat {
    /// When the contents changed last.
    package var modified: Timestamp? { Self.timestamp(st_mtim) }

    /// When anything of the file changed last, which no program can set.
    package var changed: Timestamp? { Self.timestamp(st_ctim) }

    private static func timestamp(_ time: timespec) -> Timestamp? {
        Timestamp(seconds: Int64(time.tv_sec), nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
    }
}

extension FilePath {
    /// What stands at the path.
    func status(followingLinks: Bool = true) throws(Errno) -> FileStatus {
        try SystemCalls.current.statusAt(OpenFlags.currentDirectory, self, followingLinks).get()
    }
}

extension FileDescriptor {
    /// What the descriptor stands for.
    func status() throws(Errno) -> FileStatus {
        try SystemCalls.current.status(rawValue).get()
    }

    /// Closes a descriptor from which nothing more is wanted.
    func closeQuietly() {
        _ = SystemCalls.current.close(rawValue)
    }
}
