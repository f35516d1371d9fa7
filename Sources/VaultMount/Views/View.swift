public import VaultFormat

/// The number of a node: a file, a folder or a link that a mount shows.
public typealias NodeID = UInt64

/// What the system may know about a node.
public struct NodeAttributes: Equatable, Sendable {
    /// What a node is. Nothing else is shown: no devices and no pipes.
    public enum Kind: Equatable, Sendable {
        case folder, file, link
    }

    /// What it is.
    public var kind: Kind
    /// The bytes of a file, or of a link's target.
    public var size: UInt64 = 0
    /// Permission bits. Nobody may write.
    public var permissions: UInt16
    /// When it was last changed.
    public var modified: Timestamp

    /// The attributes of a folder.
    public static func folder(_ modified: Timestamp) -> NodeAttributes {
        NodeAttributes(kind: .folder, permissions: 0o500, modified: modified)
    }
}

/// A node that was found by its name.
public struct FoundNode: Equatable, Sendable {
    /// Its number.
    public let id: NodeID
    /// What the system may know about it.
    public let attributes: NodeAttributes
}

/// The content of an open file.
public protocol OpenContent: AnyObject, Sendable {
    /// Passes the bytes from an offset on to `body`: `count`, or fewer at the end only.
    ///
    /// A short answer would look like the end of the file. So there is an error if a single byte cannot be read.
    func read(at offset: UInt64, count: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws
}

/// One name in the listing of a folder.
public struct ListedName: Equatable, Sendable {
    /// The name.
    public let name: [UInt8]
    /// What it is; nil if only a look at it tells.
    public let kind: NodeAttributes.Kind?
}

/// The listing of an open folder, without `.` and `..`.
public protocol OpenListing: AnyObject, Sendable {
    /// Passes names to `body` until it returns false.
    ///
    /// - Parameters:
    ///   - cookie: 0 for the first name, or the cookie of the last name that was taken.
    ///   - body: takes a name, with its cookie, which is not 0. If it returns false, it has not taken it.
    func list(after cookie: UInt64, _ body: (ListedName, UInt64) -> Bool) throws
}

/// A tree of nodes to mount. Its methods are called by several threads at once. What they throw becomes an error number
/// by `errorNumber(for:)`.
public protocol View: Sendable {
    /// Finds a name in a folder. The caller gives each node back that it gets.
    func find(_ name: [UInt8], in folder: NodeID) throws -> FoundNode

    /// Takes a node back.
    ///
    /// - Parameter count: how often the caller has got it.
    func forget(_ node: NodeID, count: UInt64)

    /// The attributes of a node.
    func attributes(of node: NodeID) throws -> NodeAttributes

    /// The target of a link.
    func target(of node: NodeID) throws -> [UInt8]

    /// Opens a file.
    func open(_ node: NodeID) throws -> any OpenContent

    /// Opens a folder.
    func list(_ node: NodeID) throws -> any OpenListing

    /// For how many seconds a name leads to the same node, and a folder keeps its time, whatever happens to the source.
    var nameLifetime: Double { get }
}

/// The root of every view.
public let rootNode: NodeID = 1

/// The longest name of a component, as in most file systems.
let longestName = 255
