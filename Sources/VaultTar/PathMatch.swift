/// Compares a path with others that come one after the other, such as those of an index. It looks only at the bytes of
/// each that are not those of the one before.
struct PathMatch {
    /// Where a path is, seen from the one that is looked for (TAR-2).
    enum Order {
        case before, equal, after
    }

    private let wanted: [UInt8]
    /// How many bytes the last path begins with that the wanted one has.
    private var common = 0

    init(_ path: TarPath) {
        wanted = path.bytes
    }

    /// - Parameter shared: how many bytes the path begins with that are those of the last one.
    mutating func order(of path: [UInt8], sharing shared: Int) -> Order {
        // Otherwise it differs from the wanted path where the last one did.
        if shared <= common {
            common = shared
            while common < min(path.count, wanted.count), path[common] == wanted[common] { common += 1 }
        }
        guard common < path.count else { return common == wanted.count ? .equal : .before }
        guard common < wanted.count else { return .after }
        return TarPath.rank(path[common]) < TarPath.rank(wanted[common]) ? .before : .after
    }
}
