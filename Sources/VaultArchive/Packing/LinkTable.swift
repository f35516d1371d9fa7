internal import VaultSystem

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

    /// The path under which the file was packed before; nil if this is its first name.
    mutating func earlierPath(of file: FileIdentity, names: UInt64, at path: [UInt8]) -> [UInt8]? {
        if var linked = files[file] {
            linked.namesLeft -= 1
            files[file] = linked.namesLeft > 0 ? linked : nil
            if linked.namesLeft == 0 { bytes -= linked.path.count }
            return linked.path
        }
        guard names > 1, bytes + path.count <= most else { return nil }
        files[file] = Linked(path: path, namesLeft: names - 1)
        bytes += path.count
        return nil
    }
}
