public import SystemPackage

/// Where a file is that the library reads, changes or makes.
public enum FilePlace: Sendable {
    /// Where a path leads. Links are followed.
    case path(FilePath)
    /// The file of this name in an open folder, whatever becomes of the folder's path: nobody who exchanges a folder
    /// for a link chooses which file it is. A link of this name is refused. The folder stays the caller's, who keeps it
    /// open during the call.
    case name(FilePath, in: FileDescriptor)
}
