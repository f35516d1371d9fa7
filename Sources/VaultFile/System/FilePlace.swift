public import SystemPackage

/// The place of a file that the library reads, changes or makes.
public enum FilePlace: Sendable {
    /// Where a path leads. Links are followed.
    case path(FilePath)
    /// The file of this name in an open folder, even if the folder is moved meanwhile: somebody who puts a link in the
    /// place of the folder cannot choose another file. A link of this name is refused. The caller keeps the folder open
    /// during the call.
    case name(FilePath, in: FileDescriptor)
}
