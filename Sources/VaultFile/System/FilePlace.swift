package import SystemPackage

/// Where a file stands that is to be changed there.
package enum FilePlace: Sendable {
    /// Where a path leads, links followed.
    case path(FilePath)
    /// Under a name in an open folder, whatever has become of the folder's own path; a link under that name is refused.
    case entry(FileDescriptor, FilePath, name: FilePath)
}
