import CPlatform
import Synchronization
import SystemPackage
public import VaultArchive
import VaultFile
public import VaultFormat
import VaultSystem
import VaultTar

/// The members of a tar stream in a container.
///
/// Names come from the index if it has all of them, or from all headers of the stream. Everything else about a member
/// comes from its headers, which must be at the place and give the path that the tree has (TAR-8).
public final class TarView: View {
    /// Where the names come from.
    public enum Names: Sendable {
        /// The index, which is the word of the container's maker (TAR-10).
        case index
        /// The headers of the stream, all of which were read, but for those in gaps.
        case stream
    }

    private static let headersKept = 8192

    private let container: OpenContainer
    private let source: TarSource
    private let lookup: MemberLookup
    private let tree: TarTree
    private let modified: Timestamp
    private let members = Mutex(RecentlyUsed<TarTree.Index, TarMember>(limit: headersKept))

    /// Where the names come from.
    public let names: Names

    /// Whether the container has an index whose form is wrong, which is not used.
    public let hasMalformedIndex: Bool

    /// The first part of the stream whose headers cannot be read, if names come from the stream. It has the members in
    /// it that the index has, and gives an error for them.
    public let firstGap: MemberWalk.Gap?
    /// How many such parts there are.
    public let gapCount: Int
    /// Where the last of them begins, as a block.
    private let lastGap: UInt64
    /// How many members are left out, because their path is absolute, or is another one that no tree has. With an index
    /// it is what the index tells.
    public let pathless: UInt64

    /// How many members are left out, because a component of their path is longer than 255 bytes.
    public var leftOut: Int { tree.leftOut }

    /// The members of a container.
    ///
    /// - Parameters:
    ///   - container: an open container whose plaintext is a tar stream.
    ///   - modified: the time that folders have which have none of their own.
    ///   - largest: the most names.
    /// - Throws: `NotTar` if it does not begin as one, `tooLarge` if there are too many names, and what reading throws.
    public convenience init(_ container: OpenContainer, modified: Timestamp, largest: Int = 4 << 20) throws {
        let index = container.reader.opened.manifest.tarIndex
        try self.init(container, index: index, modified: modified, largest: largest)
    }

    /// - Parameter index: of the stream; nil to read all headers.
    init(_ container: OpenContainer, index: TarIndex?, modified: Timestamp, largest: Int) throws {
        self.container = container
        hasMalformedIndex = index == nil && container.reader.opened.manifest.hasTarIndexMember
        self.modified = modified
        // Headers of small members are near each other: one record has several.
        let window = StreamWindow(length: container.reader.length) { try container.reader.bytes($0) }
        source = window.source
        // Programs look at each member, so a hostile stream must not make each look cost all of it.
        lookup = MemberLookup(window, index: index, limits: .linear(in: window.length)) { _ in }
        var (tree, pathless) = (TarTree(largest: largest), UInt64(0))
        var (firstGap, gapCount, lastGap): (MemberWalk.Gap?, Int, UInt64) = (nil, 0, 0)
        do {
            if let index, index.stepExponent == 0 {
                names = .index
                pathless = index.pathlessCount
                try index.forEach { entry in
                    try tree.insert(entry.path, at: entry.place)
                    return true
                }
            } else {
                names = .stream
                try MemberWalk(source, index: index).all { step in
                    switch step {
                    case .member(let entry):
                        if let path = entry.path {
                            try tree.insert(path, at: entry.place)
                        } else if !entry.isRoot {
                            pathless += 1
                        }
                    case .lost(let entry): try tree.insert(entry.path, at: entry.place)
                    case .gap(let gap):
                        (firstGap, gapCount, lastGap) = (firstGap ?? gap, gapCount + 1, gap.start / 512)
                    case .indexDiffers: break
                    }
                    return true
                }
            }
        } catch is TarTree.TooLarge {
            throw VaultError(.tooLarge, "the tar stream has more than \(largest) names")
        }
        self.tree = tree
        self.pathless = pathless
        (self.firstGap, self.gapCount, self.lastGap) = (firstGap, gapCount, lastGap)
    }

    /// How many headers are kept.
    var headersHeld: Int { members.withLock(\.count) }

    /// Names never change: the container stays open.
    public var nameLifetime: Double { 86400 }

    private func index(_ id: NodeID) throws -> TarTree.Index {
        guard id >= rootNode, let index = Int(exactly: id - rootNode), tree.has(index) else {
            throw ViewError.noSuchNode
        }
        return index
    }

    /// Finds a name in a folder.
    public func find(_ name: [UInt8], in folder: NodeID) throws -> FoundNode {
        let parent = try index(folder)
        guard let child = tree.child(name[...], of: parent) else { throw ViewError.noSuchName }
        return FoundNode(id: NodeID(child) + rootNode, attributes: try member(child).attributes)
    }

    /// Takes a node back.
    public func forget(_ node: NodeID, count: UInt64) {}

    /// The attributes of a node.
    public func attributes(of node: NodeID) throws -> NodeAttributes { try member(index(node)).attributes }

    /// The target of a link.
    public func target(of node: NodeID) throws -> [UInt8] {
        guard case .link(let target) = try member(index(node)).content else { throw ViewError.notLink }
        return target
    }

    /// Opens a file.
    public func open(_ node: NodeID) throws -> any OpenContent {
        switch try member(index(node)).content {
        case .folder: throw ViewError.isFolder
        case .link: throw ViewError.notFile
        case .none: throw ViewError.noContent
        case .file(let range): return ContentRange(container, range)
        }
    }

    /// Opens a folder.
    public func list(_ node: NodeID) throws -> any OpenListing {
        let index = try index(node)
        guard case .folder = try member(index).content else { throw ViewError.notFolder }
        return TarListing(tree, index)
    }

    /// What the headers of a member say.
    private func member(_ index: TarTree.Index) throws -> TarMember {
        guard let place = tree.place(index) else { return .folder(modified) }
        if let known = members.withLock({ $0[index] }) { return known }
        guard let entry = try source.entry(at: place), entry.path == tree.path(index) else {
            throw TarIndex.mismatch
        }
        let member: TarMember
        if tree.hasChildren(index) {
            member = .folder(entry.modified ?? modified)
        } else if let shown = try shown(entry) {
            member = TarMember(shown, depth: tree.depth(index), modified: shown.modified ?? modified)
        } else {
            member = .none(entry.modified ?? modified)
        }
        members.withLock { $0[index] = member }
        return member
    }

    /// The member that is shown for one: another only for a hard link that leads to a member whose name a later one has
    /// (TAR-12). Otherwise the link is shown as a link.
    ///
    /// - Returns: nil for a link to nothing although a member has that name.
    /// - Throws: what reading throws, also for a link behind a gap where a later member with the name may be lost.
    private func shown(_ entry: TarEntry) throws -> TarEntry? {
        guard entry.kind == .hardLink, let node = TarPath(trimming: entry.linkTarget).flatMap(tree.find),
            let place = tree.place(node)
        else { return entry }
        if place >= entry.place { return try lookup.target(of: entry) }
        if place < lastGap { _ = try lookup.target(of: entry) }
        return entry
    }
}

/// What a mount shows of a member.
struct TarMember: Sendable {
    enum Content: Sendable {
        case folder
        case file(Range<UInt64>)
        case link([UInt8])
        /// A sparse file, a device, a pipe: it has a name, and opening it is an error (TAR-11).
        case none
    }

    let content: Content
    let attributes: NodeAttributes

    static func folder(_ modified: Timestamp) -> TarMember {
        TarMember(content: .folder, attributes: .folder(modified))
    }

    static func none(_ modified: Timestamp) -> TarMember {
        TarMember(content: .none, attributes: NodeAttributes(kind: .file, permissions: 0, modified: modified))
    }

    private init(content: Content, attributes: NodeAttributes) {
        (self.content, self.attributes) = (content, attributes)
    }

    /// - Parameters:
    ///   - entry: of a member that no other path goes through. If its content goes beyond the end of the stream, reading
    ///     that part is an error.
    ///   - depth: how many folders are above it.
    init(_ entry: TarEntry, depth: Int, modified: Timestamp) {
        var attributes = NodeAttributes(kind: .file, permissions: 0o400, modified: modified)
        let content: Content
        switch entry.kind {
        case .folder:
            self = .folder(modified)
            return
        case .file where !entry.isSparse:
            content = .file(entry.contentOffset..<entry.contentOffset + entry.contentLength)
            attributes.size = entry.contentLength
            if (entry.permissions ?? 0) & 0o111 != 0 { attributes.permissions = 0o500 }
        case .symbolicLink, .hardLink:
            if let target = Self.target(entry, depth: depth) {
                content = .link(target)
                attributes = NodeAttributes(
                    kind: .link, size: UInt64(target.count), permissions: 0o777, modified: modified)
            } else {
                content = .none
            }
        case .file, .characterDevice, .blockDevice, .pipe, .other:
            content = .none
        }
        if case .none = content {
            attributes.permissions = 0
            attributes.size = entry.kind == .file ? min(entry.fileLength, UInt64(Int64.max)) : 0
        }
        self.init(content: content, attributes: attributes)
    }

    /// The longest target that the system takes.
    private static let longestTarget = 4095

    /// The target of a link as it is shown; nil if no link can have it. A hard link is a symbolic one to the member that
    /// it names, which is below the root of the stream.
    private static func target(_ entry: TarEntry, depth: Int) -> [UInt8]? {
        var target = entry.linkTarget
        if entry.kind == .hardLink {
            guard let path = TarPath(trimming: target) else { return nil }
            target = [UInt8](repeatElement(Array("../".utf8), count: depth).joined()) + path.bytes
        }
        return (1...longestTarget).contains(target.count) && !target.contains(0) ? target : nil
    }
}

/// The listing of a folder in a tar stream. A name's cookie is the number of its node.
final class TarListing: OpenListing {
    private let tree: TarTree
    private let folder: TarTree.Index

    init(_ tree: TarTree, _ folder: TarTree.Index) {
        (self.tree, self.folder) = (tree, folder)
    }

    func list(after cookie: UInt64, _ body: (ListedName, UInt64) -> Bool) throws {
        var next: TarTree.Index?
        if cookie == 0 {
            next = tree.firstChild(folder)
        } else {
            guard let last = Int(exactly: cookie), tree.has(last), tree.parent(last) == folder else {
                throw ViewError.notFile
            }
            next = tree.nextSibling(last)
        }
        while let child = next {
            let kind: NodeAttributes.Kind? = tree.hasChildren(child) ? .folder : nil
            guard body(ListedName(name: tree.name(child), kind: kind), UInt64(child)) else { return }
            next = tree.nextSibling(child)
        }
    }
}
