public import VaultFormat

/// An entry of a tar stream: a header together with the extension headers before it (Spec, 24.1).
///
/// All of it comes from the maker of the stream, who may be hostile.
public struct TarEntry: Hashable, Sendable {
    /// What an entry is.
    public enum Kind: Hashable, Sendable {
        /// A file with content.
        case file
        /// Another name of an earlier entry.
        case hardLink
        /// A symbolic link.
        case symbolicLink
        /// A folder.
        case folder
        /// A device of characters.
        case characterDevice
        /// A device of blocks.
        case blockDevice
        /// A named pipe.
        case pipe
        /// Anything else, by the byte of its header.
        case other(UInt8)
    }

    /// The number of the 512-byte block of its first header.
    public let place: UInt64
    /// Its path; nil if TAR-1 does not allow the one that the headers have. Such an entry is never found by a path.
    public let path: TarPath?
    /// The path as the headers have it.
    public let name: [UInt8]
    /// What it is.
    public let kind: Kind
    /// The place of its content in the stream, in bytes.
    public let contentOffset: UInt64
    /// The number of bytes of its content in the stream.
    public let contentLength: UInt64
    /// The length of the file. It differs from `contentLength` for a sparse file.
    public let fileLength: UInt64
    /// Whether the content is in one of tar's forms for sparse files: a map, and the parts that are no holes.
    public let isSparse: Bool
    /// Permission bits, with those for set-user-ID, set-group-ID and the sticky bit; nil if the header has no number.
    public let permissions: UInt16?
    /// The time of the last modification; nil if the headers have none.
    public let modified: Timestamp?
    /// The ID of the owner; nil if the headers have none.
    public let userID: UInt64?
    /// The ID of the group; nil if the headers have none.
    public let groupID: UInt64?
    /// The target of a link, as it is in the headers; empty for others.
    public let linkTarget: [UInt8]
    /// The names of extended attributes that its pax header has in the form of star (`SCHILY.xattr.NAME`), as they are
    /// there. Programs write `%`, `=` and what is not visible ASCII as `%` and two hexadecimal digits.
    package let attributeNames: Set<[UInt8]>

    /// Whether it is the folder that the stream was made of, as `tar -c .` puts it into the stream.
    package var isRoot: Bool { [Array(".".utf8), Array("./".utf8)].contains(name) }

    /// The number of the block behind the content, where the next entry begins.
    public var nextPlace: UInt64 {
        (contentOffset + contentLength + UInt64(TarBlock.count - 1)) / UInt64(TarBlock.count)
    }
}

/// The bytes are no tar header, or no tar stream.
public struct NotTar: Error, Hashable, Sendable {
    /// Why, in words for a developer.
    public let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
