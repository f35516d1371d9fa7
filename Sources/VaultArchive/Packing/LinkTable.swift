internal import VaultFormat
internal import VaultSystem
internal import VaultTar

/// The files with several names whose other names were not found yet. The first name gets the contents, the others
/// become links to it.
struct LinkTable {
    /// A file as it was when one of its names was found.
    struct File: Equatable {
        let identity: FileIdentity
        /// How many names it has.
        let names: UInt64
        let size: Int64
        let modified: Timestamp?
        /// When it was made, as a number; 0 if the system does not say it.
        let birth: UInt64
    }

    private struct Linked {
        let file: File
        let path: [UInt8]
        var namesLeft: UInt64
    }

    private var files: [FileIdentity: Linked] = [:]
    private var bytes = 0
    /// The most bytes of paths. Files that find no room are packed once for each name: nothing is lost by that.
    private let most: Int

    init(most: Int = 64 << 20) {
        self.most = most
    }

    /// The path under which the file was packed before; nil if it was not.
    ///
    /// While a folder is packed, files are removed, and new files get their numbers. As a link, a new file would have the
    /// contents of a removed one, without a warning. So a file with one name is no link. A file whose size, time or birth
    /// has changed since it was packed is no link either. The time of the last change does not count: each new name
    /// changes it.
    mutating func earlierPath(of file: File) -> [UInt8]? {
        guard var linked = files[file.identity] else { return nil }
        guard file.names > 1, linked.file.isSame(as: file) else {
            forget(linked)
            return nil
        }
        linked.namesLeft -= 1
        files[file.identity] = linked
        if linked.namesLeft == 0 { forget(linked) }
        return linked.path
    }

    /// Remembers a file whose content is in the stream.
    ///
    /// A link can lead only to a path that a member can have. Otherwise the next name gets the content, too.
    mutating func note(_ file: File, at path: [UInt8]) {
        guard file.names > 1, bytes + path.count <= most, TarPath(path) != nil, files[file.identity] == nil else {
            return
        }
        files[file.identity] = Linked(file: file, path: path, namesLeft: file.names - 1)
        bytes += path.count
    }

    private mutating func forget(_ linked: Linked) {
        files[linked.file.identity] = nil
        bytes -= linked.path.count
    }
}

extension LinkTable.File {
    /// Whether it is the other file, unchanged.
    fileprivate func isSame(as other: LinkTable.File) -> Bool {
        identity == other.identity && size == other.size && modified == other.modified && birth == other.birth
    }
}
