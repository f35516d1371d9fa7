internal import VaultSystem
internal import VaultTar

/// The files with several names whose other names were not found yet. The first name gets the contents, the others
/// become links to it.
struct LinkTable {
    private struct Linked {
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
    mutating func earlierPath(of file: FileIdentity) -> [UInt8]? {
        guard var linked = files[file] else { return nil }
        linked.namesLeft -= 1
        files[file] = linked.namesLeft > 0 ? linked : nil
        if linked.namesLeft == 0 { bytes -= linked.path.count }
        return linked.path
    }

    /// Remembers a file whose content is in the stream.
    ///
    /// A link can lead only to a path that a member can have. Otherwise the next name gets the content, too.
    mutating func note(_ file: FileIdentity, names: UInt64, at path: [UInt8]) {
        guard names > 1, bytes + path.count <= most, TarPath(path) != nil, files[file] == nil else { return }
        files[file] = Linked(path: path, namesLeft: names - 1)
        bytes += path.count
    }
}
