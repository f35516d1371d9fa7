import CPlatform
import Synchronization
public import SystemPackage
public import VaultFile
import VaultFormat
import VaultSystem

/// A folder of containers. Each container `NAME.vault` is a file `NAME`, which has its plaintext. Folders are folders.
/// Nothing else is shown: no other files, and no links.
///
/// The source is read when it is asked for, through open folders: replacing a folder by a link redirects nothing. A
/// container that changes becomes another node, so what the system keeps of the old one is not mixed with the new one.
/// Open files go on with the old one.
public final class FolderView: View {
    /// What the names of containers end with.
    static let ending = Array(".vault".utf8)
    /// Folders and containers are held open for the next use, this many of each.
    private static let foldersHeldOpen = 32
    private static let containersHeldOpen = 16
    /// Deeper folders are not shown.
    private static let deepest = 500

    private struct State {
        var nodes: [NodeID: FolderNode] = [:]
        var names: [FolderNode.Place: NodeID] = [:]
        var lookups: [NodeID: UInt64] = [:]
        var last = rootNode
        var folders = RecentlyUsed<NodeID, OpenFolder>(limit: foldersHeldOpen)
        var containers = RecentlyUsed<NodeID, OpenContainer>(limit: containersHeldOpen)
    }

    private let state: Mutex<State>
    private let root: OpenFolder
    private let opener: PlacedOpener
    private let cache = PlaintextCache()

    /// Opens a container as a `ContainerOpener` does. The place is where its header file may be looked for.
    public typealias PlacedOpener = @Sendable (FileSource, FilePlace) throws -> SeekableVaultReader

    /// A view of a folder.
    ///
    /// - Parameters:
    ///   - folder: an open folder, which the view closes in the end, also if this throws.
    ///   - opener: opens the containers.
    public init(_ folder: FileDescriptor, opener: @escaping PlacedOpener) throws {
        root = try OpenFolder(folder)
        self.opener = opener
        var state = State()
        state.nodes[rootNode] = FolderNode(
            id: rootNode, parent: nil, name: [], kind: .folder(root.identity), modified: try root.modified())
        self.state = Mutex(state)
    }

    /// A second, in which the system does not ask again whether a container or a folder has changed.
    public var nameLifetime: Double { 1 }

    /// How many nodes the system remembers, without the root.
    var nodeCount: Int { state.withLock { $0.lookups.count } }

    private func node(_ id: NodeID) throws -> FolderNode {
        guard let node = state.withLock({ $0.nodes[id] }) else { throw ViewError.noSuchNode }
        return node
    }

    /// Finds a name in a folder.
    public func find(_ name: [UInt8], in folder: NodeID) throws -> FoundNode {
        try withRoom { try withNode(name, in: folder) { FoundNode(id: $0.id, attributes: try attributes(of: $0)) } }
    }

    /// Runs `body`. If the process has no descriptors left, what is held open for the next use gives way: it must not keep
    /// a program from what it asks for now.
    private func withRoom<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch  where [.tooManyOpenFiles, .tooManyOpenFilesInSystem].contains(errorNumber(for: error)) {
            // Closed after the lock is released.
            let closing = state.withLock { state in
                (
                    exchange(&state.folders, with: RecentlyUsed(limit: Self.foldersHeldOpen)),
                    exchange(&state.containers, with: RecentlyUsed(limit: Self.containersHeldOpen))
                )
            }
            withExtendedLifetime(closing) {}
        }
        return try body()
    }

    /// Calls `body` with the node that has a name, which the caller then gives back, unless this throws. If a container is
    /// replaced between the look and its opening, the look is repeated.
    func withNode<R>(_ name: [UInt8], in folder: NodeID, _ body: (FolderNode) throws -> R) throws -> R {
        let parent = try node(folder)
        guard parent.isFolder else { throw ViewError.notFolder }
        guard !name.isEmpty, name.count <= longestName, !name.contains(UInt8(ascii: "/")), !name.contains(0),
            name != Array(".".utf8), name != Array("..".utf8)
        else { throw ViewError.noSuchName }
        guard parent.depth < Self.deepest else { throw ViewError.tooDeep }
        let opened = try openFolder(parent)
        for _ in 0..<8 {
            guard let (kind, modified) = try opened.look(for: name) else { throw ViewError.noSuchName }
            let node = take(name, kind, modified, in: parent)
            do {
                return try body(node)
            } catch {
                forget(node.id, count: 1)
                guard case .replaced? = error as? ViewError else { throw error }
            }
        }
        throw ViewError.replaced
    }

    /// The node with this name, which is made if there is none or if it is another one by now.
    private func take(
        _ name: [UInt8], _ kind: FolderNode.Kind, _ modified: Timestamp, in parent: FolderNode
    ) -> FolderNode {
        let place = FolderNode.Place(folder: parent.id, name: name)
        return state.withLock { state in
            if let id = state.names[place], let node = state.nodes[id], node.kind == kind {
                if node.isFolder { node.note(modified) }
                state.lookups[id, default: 0] += 1
                return node
            }
            state.last += 1
            let node = FolderNode(id: state.last, parent: parent, name: name, kind: kind, modified: modified)
            state.nodes[node.id] = node
            state.names[place] = node.id
            state.lookups[node.id] = 1
            return node
        }
    }

    /// Takes a node back.
    public func forget(_ node: NodeID, count: UInt64) {
        // Closed after the lock is released.
        var closing: (OpenFolder?, OpenContainer?)
        state.withLock { state in
            guard let present = state.lookups[node] else { return }
            guard count >= present else {
                state.lookups[node] = present - count
                return
            }
            state.lookups[node] = nil
            guard let gone = state.nodes.removeValue(forKey: node) else { return }
            if let place = gone.place, state.names[place] == node { state.names[place] = nil }
            closing = (state.folders[node], state.containers[node])
            state.folders[node] = nil
            state.containers[node] = nil
        }
        withExtendedLifetime(closing) {}
    }

    /// The attributes of a node.
    public func attributes(of node: NodeID) throws -> NodeAttributes {
        let node = try self.node(node)
        return try withRoom { () throws -> NodeAttributes in
            if node.isFolder { try look(at: node) }
            return try attributes(of: node)
        }
    }

    /// Looks at the time of a folder again. One that has another place by now, or none, keeps what was seen last.
    private func look(at node: FolderNode) throws {
        guard let parent = node.parent else { return node.note(try root.modified()) }
        do {
            guard let (kind, modified) = try openFolder(parent).look(for: node.name), kind == node.kind else { return }
            node.note(modified)
        } catch ViewError.replaced {
        }
    }

    private func attributes(of node: FolderNode) throws -> NodeAttributes {
        guard !node.isFolder else { return .folder(node.modified) }
        // A container that is refused has a name and no size. Opening it gives the error.
        let refused = NodeAttributes(kind: .file, permissions: 0o400, modified: node.modified)
        if node.content.withLock({ $0 }) == nil {
            do {
                _ = try container(node)
            } catch is FolderNode.Refusal {
                return refused
            }
        }
        guard case .success(let attributes) = node.content.withLock({ $0 }) else { return refused }
        return attributes
    }

    /// The target of a link.
    public func target(of node: NodeID) throws -> [UInt8] { throw ViewError.notLink }

    /// Opens a file.
    public func open(_ id: NodeID) throws -> any OpenContent {
        let node = try node(id)
        guard !node.isFolder else { throw ViewError.isFolder }
        let opened = try withRoom { try container(node) }
        return ContentRange(opened, 0..<opened.reader.length)
    }

    /// The open container of a node. It is opened by one thread at a time; others wait for it.
    func container(_ node: FolderNode) throws -> OpenContainer {
        if let found = state.withLock({ $0.containers[node.id] }) { return found }
        return try node.opening.withLock { _ in
            if let found = state.withLock({ $0.containers[node.id] }) { return found }
            if case .failure(let refusal) = node.content.withLock({ $0 }) { throw refusal }
            guard let parent = node.parent else { throw ViewError.isFolder }
            let container: OpenContainer
            do {
                let folder = try openFolder(parent)
                container = try OpenContainer(try folder.open(node), cache: cache) { source in
                    try folder.withPlace(of: node) { try opener(source, $0) }
                }
            } catch {
                guard !isPassing(error) else { throw error }
                // A passphrase is not stretched again for a file that has not changed.
                let refusal = FolderNode.Refusal(error: error)
                node.content.withLock { $0 = .failure(refusal) }
                throw refusal
            }
            let metadata = container.metadata
            let attributes = NodeAttributes(
                kind: .file, size: container.reader.length,
                permissions: (metadata.permissions ?? 0) & 0o111 == 0 ? 0o400 : 0o500,
                modified: metadata.modified ?? node.modified)
            node.content.withLock { $0 = .success(attributes) }
            state.withLock { state in
                // A node that was forgotten meanwhile would never leave again.
                if state.nodes[node.id] != nil { state.containers[node.id] = container }
            }
            return container
        }
    }

    /// The open folder of a node. If it was closed meanwhile, it is opened again from the nearest folder above that is
    /// open.
    private func openFolder(_ node: FolderNode) throws -> OpenFolder {
        var way: [FolderNode] = []
        var here: FolderNode? = node
        var folder = root
        while let next = here, next.id != rootNode {
            if let found = state.withLock({ $0.folders[next.id] }) {
                folder = found
                break
            }
            way.append(next)
            here = next.parent
        }
        for next in way.reversed() {
            folder = try folder.folder(next)
            let opened = folder
            state.withLock { if $0.nodes[next.id] != nil { $0.folders[next.id] = opened } }
        }
        return folder
    }

    /// Opens a folder.
    public func list(_ node: NodeID) throws -> any OpenListing {
        let node = try self.node(node)
        guard node.isFolder else { throw ViewError.notFolder }
        return try withRoom { try FolderListing(try openFolder(node)) }
    }
}

/// A folder or a container that the system knows.
final class FolderNode: Sendable {
    /// Where it is.
    struct Place: Hashable {
        let folder: NodeID
        let name: [UInt8]
    }

    /// What tells one state of a container from the next one. A rotation of its keys changes it too.
    struct Version: Equatable {
        let identity: FileIdentity
        let size: Int64
        let changed: Timestamp?

        init(_ stat: Stat) {
            identity = FileIdentity(stat)
            size = stat.size
            changed = stat.changed
        }
    }

    enum Kind: Equatable {
        case folder(FileIdentity)
        case container(Version)
    }

    /// Why a container is not opened. Another try would end in the same way.
    struct Refusal: Error {
        let error: any Error
    }

    let id: NodeID
    let parent: FolderNode?
    let name: [UInt8]
    let kind: Kind
    private let time: Mutex<Timestamp>
    let depth: Int
    /// What opening the container has shown; nil before that.
    let content = Mutex<Result<NodeAttributes, Refusal>?>(nil)
    /// Held while it is opened.
    let opening = Mutex(())

    init(id: NodeID, parent: FolderNode?, name: [UInt8], kind: Kind, modified: Timestamp) {
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        time = Mutex(modified)
        depth = (parent?.depth ?? -1) + 1
    }

    /// When it was last changed, as far as was seen. A container that changes becomes another node. A folder stays the
    /// same one, and its time is noted again and again.
    var modified: Timestamp { time.withLock { $0 } }

    func note(_ modified: Timestamp) { time.withLock { $0 = modified } }

    var isFolder: Bool {
        if case .folder = kind { true } else { false }
    }

    var place: Place? { parent.map { Place(folder: $0.id, name: name) } }
}
