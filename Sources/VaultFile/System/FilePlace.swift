public import SystemPackage

/// The place of a file that the library reads, changes or makes.
public enum FilePlace: Sendable {
    /// The file that a path leads to. Links are followed.
    case path(FilePath)
    /// The file of this name in an open folder, even if the folder is moved meanwhile. So an attacker who replaces the
    /// folder with a link cannot choose another file. A link of this name is refused. The caller keeps the folder open
    /// during the call.
    case name(FilePath, in: FileDescriptor)
}
