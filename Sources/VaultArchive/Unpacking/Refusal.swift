public import SystemPackage

/// Why a member was not extracted. The other members are.
public enum Refusal: Error, Hashable, Sendable {
    /// Its path is absolute, has a component `..`, or is no path at all.
    case illegalPath
    /// Its path begins with a name that extraction uses itself.
    case reservedName
    /// Something has its name already.
    case exists
    /// A folder has its name, or a file has the name of a folder.
    case otherKind
    /// A part of its path is a link, or is no folder.
    case behindLink
    /// It is a link to this target, which leads out of the folder or cannot be followed without other links.
    case linkLeadsOut([UInt8])
    /// It is a hard link to this name, which no member of the stream can have.
    case linkTargetIllegal([UInt8])
    /// It is a hard link to this member, which was not extracted.
    case linkWithoutTarget([UInt8])
    /// It is a device.
    case device
    /// Its kind is unknown.
    case unknownKind
    /// The system refused it.
    case system(Errno)
}
