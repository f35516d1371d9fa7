package import SystemPackage
package import VaultFormat
package import VaultSystem

/// What this library asks the system about a file.
package struct FileStatus: Sendable {
    package enum Kind: Sendable {
        case regular, folder, link, blockDevice, other
    }

    /// A file at one moment. Its identity alone is not enough: the system soon gives a freed inode to another file, and
    /// a rotation changes a file in place.
    struct Version: Hashable {
        let identity: FileIdentity
        let size: UInt64
        let changed: Timestamp
    }

    package let kind: Kind
    package let size: UInt64
    package let identity: FileIdentity
    /// When its bytes, its names or its mode last changed, to the system's precision.
    package let changed: Timestamp
    /// How many names it has.
    package let linkCount: Int
    package let permissions: FilePermissions
    package let owner: UInt32
    package let group: UInt32
    /// How many bytes of the disk it takes.
    package let allocated: UInt64

    package init(
        kind: Kind, size: UInt64, identity: FileIdentity, linkCount: Int = 1,
        permissions: FilePermissions = .ownerReadWrite,
        owner: UInt32 = 0, group: UInt32 = 0, changed: Timestamp = Timestamp(seconds: 0),
        allocated: UInt64 = .max
    ) {
        self.kind = kind
        self.size = size
        self.identity = identity
        self.linkCount = linkCount
        self.permissions = permissions
        self.owner = owner
        self.group = group
        self.changed = changed
        self.allocated = allocated
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
            identity: FileIdentity(stat), linkCount: stat.linkCount, permissions: stat.permissions,
            owner: UInt32(stat.userID.rawValue),
            group: UInt32(stat.groupID.rawValue),
            changed: stat.changed ?? Timestamp(seconds: 0),
            allocated: UInt64(max(0, stat.blocksAllocated)) &* 512)
    }
}

extension FilePath {
    /// The status of the file at the path.
    func status(followingLinks: Bool = true) throws(Errno) -> FileStatus {
        try SystemCalls.current.statusAt(OpenFlags.currentDirectory, self, followingLinks).get()
    }
}

extension FileDescriptor {
    /// The status of the open file.
    func status() throws(Errno) -> FileStatus {
        try SystemCalls.current.status(rawValue).get()
    }

    /// Closes the descriptor, and ignores errors: nothing more is read from it or written to it.
    package func closeQuietly() {
        _ = SystemCalls.current.close(rawValue)
    }
}
