#if os(Linux)
import CFuse
import CPlatform
import SystemPackage
import VaultFormat

/// Answers the requests of the kernel with what a view says.
///
/// The kernel gives back only numbers of nodes and handles that it got from here, and gives each handle back once.
@safe final class FuseServer: @unchecked Sendable {
    let view: any View
    let library: FuseLibrary

    init(_ view: any View, _ library: FuseLibrary) {
        self.view = view
        self.library = library
    }

    /// Makes a session, which keeps a reference to this server as long as the process runs.
    func newSession(options: String) -> OpaquePointer? {
        var operations = Self.operations
        let words = unsafe ["vaultfile", "-o", options].map { (word: String) in unsafe strdup(word) }
        defer { unsafe words.forEach { unsafe free($0) } }
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words + [nil]
        let count = unsafe Int32(words.count)
        return unsafe pointers.withUnsafeMutableBufferPointer { pointers in
            var arguments = unsafe fuse_args(argc: count, argv: pointers.baseAddress, allocated: 0)
            return unsafe library.functions.session_new(
                &arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size,
                Unmanaged.passRetained(self).toOpaque())
        }
    }

    private static var operations: fuse_lowlevel_ops {
        var operations = fuse_lowlevel_ops()
        unsafe operations.lookup = { request, parent, name in
            guard let server = unsafe FuseServer.of(request), let name = unsafe name else { return }
            let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: name, count: strlen(name)))
            unsafe server.find(request, bytes, in: parent)
        }
        unsafe operations.forget = { request, node, count in
            guard let server = unsafe FuseServer.of(request) else { return }
            server.view.forget(node, count: count)
            unsafe server.library.functions.reply_none(request)
        }
        unsafe operations.forget_multi = { request, count, nodes in
            guard let server = unsafe FuseServer.of(request) else { return }
            unsafe UnsafeBufferPointer(start: nodes, count: count).forEach { one in
                server.view.forget(one.ino, count: one.nlookup)
            }
            unsafe server.library.functions.reply_none(request)
        }
        unsafe operations.getattr = { request, node, _ in unsafe FuseServer.of(request)?.attributes(request, node) }
        unsafe operations.readlink = { request, node in unsafe FuseServer.of(request)?.target(request, node) }
        unsafe operations.open = { request, node, info in unsafe FuseServer.of(request)?.open(request, node, info) }
        unsafe operations.read = { request, _, count, offset, info in
            unsafe FuseServer.of(request)?.read(request, count, offset, info)
        }
        unsafe operations.release = { request, _, info in
            unsafe FuseServer.of(request)?.release(request, info, as: OpenFile.self)
        }
        unsafe operations.opendir = { request, node, info in unsafe FuseServer.of(request)?.list(request, node, info) }
        unsafe operations.readdir = { request, node, count, offset, info in
            unsafe FuseServer.of(request)?.names(request, node, count, offset, info)
        }
        unsafe operations.releasedir = { request, _, info in
            unsafe FuseServer.of(request)?.release(request, info, as: OpenNames.self)
        }
        unsafe operations.statfs = { request, _ in unsafe FuseServer.of(request)?.fileSystem(request) }
        return operations
    }

    private static let loadedFunctions = try? FuseLibrary.load()

    private static func of(_ request: fuse_req_t?) -> FuseServer? {
        guard let data = unsafe loadedFunctions?.functions.req_userdata(request) else { return nil }
        return unsafe Unmanaged<FuseServer>.fromOpaque(data).takeUnretainedValue()
    }

    /// Runs `body`. What it throws is the answer.
    private func answering(_ request: fuse_req_t?, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            _ = unsafe library.functions.reply_err(request, errorNumber(for: error).rawValue)
        }
    }

    private func find(_ request: fuse_req_t?, _ name: [UInt8], in folder: NodeID) {
        unsafe answering(request) {
            let found = try view.find(name, in: folder)
            var entry = fuse_entry_param()
            entry.ino = found.id
            entry.attr = status(found.id, found.attributes)
            entry.attr_timeout = lifetime(of: found.attributes)
            entry.entry_timeout = view.nameLifetime
            // A request that was interrupted has no receiver: the node goes back at once.
            if unsafe library.functions.reply_entry(request, &entry) != 0 { view.forget(found.id, count: 1) }
        }
    }

    /// For how many seconds attributes stay what they are. A file or a link never changes: a container that does becomes
    /// another node. A folder stays the same node, and has another time after each change in it.
    private func lifetime(of attributes: NodeAttributes) -> Double {
        attributes.kind == .folder ? view.nameLifetime : 86400
    }

    private func status(_ node: NodeID, _ attributes: NodeAttributes) -> stat {
        var status = stat()
        unsafe vaultfile_fuse_stat(
            &status, node, Self.mode(attributes.kind) | UInt32(attributes.permissions), 1,
            min(attributes.size, UInt64(Int64.max)),
            attributes.modified.seconds, attributes.modified.nanoseconds)
        return status
    }

    private func attributes(_ request: fuse_req_t?, _ node: NodeID) {
        unsafe answering(request) {
            let attributes = try view.attributes(of: node)
            var status = status(node, attributes)
            _ = unsafe library.functions.reply_attr(request, &status, lifetime(of: attributes))
        }
    }

    private func target(_ request: fuse_req_t?, _ node: NodeID) {
        unsafe answering(request) {
            let target = try view.target(of: node).map(CChar.init(bitPattern:)) + [0]
            _ = unsafe library.functions.reply_readlink(request, target)
        }
    }

    /// What the kernel's handle of an open file stands for.
    private final class OpenFile: Sendable {
        let content: any OpenContent

        init(_ content: any OpenContent) { self.content = content }
    }

    private final class OpenNames: Sendable {
        let listing: any OpenListing

        init(_ listing: any OpenListing) { self.listing = listing }
    }

    private func open(_ request: fuse_req_t?, _ node: NodeID, _ info: UnsafeMutablePointer<fuse_file_info>?) {
        unsafe answering(request) {
            guard let info = unsafe info else { throw Errno.invalidArgument }
            guard unsafe info.pointee.flags & O_ACCMODE == O_RDONLY else { throw Errno.readOnlyFileSystem }
            let file = OpenFile(try view.open(node))
            // The node's content is always the same, so what the kernel keeps of it stays right.
            unsafe info.pointee.keep_cache = 1
            // Nothing is written, so closing a file has nothing to ask for. It also cannot fail after the mount has ended.
            unsafe info.pointee.noflush = 1
            unsafe reply(request, info, file)
        }
    }

    private func list(_ request: fuse_req_t?, _ node: NodeID, _ info: UnsafeMutablePointer<fuse_file_info>?) {
        unsafe answering(request) {
            guard let info = unsafe info else { throw Errno.invalidArgument }
            unsafe reply(request, info, OpenNames(try view.list(node)))
        }
    }

    /// Gives the kernel a handle.
    private func reply(_ request: fuse_req_t?, _ info: UnsafeMutablePointer<fuse_file_info>, _ handle: AnyObject) {
        let pointer = unsafe Unmanaged.passRetained(handle).toOpaque()
        unsafe info.pointee.fh = UInt64(UInt(bitPattern: pointer))
        // A request that was interrupted has no receiver, and no release follows.
        if unsafe library.functions.reply_open(request, info) != 0 {
            unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release()
        }
    }

    private func handle<Handle: AnyObject>(
        _ info: UnsafeMutablePointer<fuse_file_info>?, as type: Handle.Type
    ) throws -> Unmanaged<Handle> {
        guard let info = unsafe info, let pointer = unsafe UnsafeRawPointer(bitPattern: UInt(info.pointee.fh)) else {
            throw Errno.badFileDescriptor
        }
        return unsafe Unmanaged<Handle>.fromOpaque(pointer)
    }

    private func release<Handle: AnyObject>(
        _ request: fuse_req_t?, _ info: UnsafeMutablePointer<fuse_file_info>?, as type: Handle.Type
    ) {
        unsafe answering(request) {
            unsafe try handle(info, as: type).release()
            _ = unsafe library.functions.reply_err(request, 0)
        }
    }

    private func read(
        _ request: fuse_req_t?, _ count: Int, _ offset: off_t, _ info: UnsafeMutablePointer<fuse_file_info>?
    ) {
        unsafe answering(request) {
            let file = unsafe try handle(info, as: OpenFile.self).takeUnretainedValue()
            guard let offset = UInt64(exactly: offset) else { throw Errno.invalidArgument }
            unsafe try file.content.read(at: offset, count: count) { bytes in
                _ = unsafe library.functions.reply_buf(
                    request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            }
        }
    }

    private func names(
        _ request: fuse_req_t?, _ node: NodeID, _ count: Int, _ offset: off_t,
        _ info: UnsafeMutablePointer<fuse_file_info>?
    ) {
        unsafe answering(request) {
            let names = unsafe try handle(info, as: OpenNames.self).takeUnretainedValue()
            guard let offset = UInt64(exactly: offset) else { throw Errno.invalidArgument }
            // The offsets 1 and 2 follow the two names of the folder itself. Those of others are their cookies and 2.
            var reply = unsafe DirectoryReply(request, capacity: count, library)
            var status = status(node, .folder(Timestamp(seconds: 0)))
            if offset < 1, !reply.add(Array(".".utf8), &status, next: 1) { return reply.send() }
            if offset < 2, !reply.add(Array("..".utf8), &status, next: 2) { return reply.send() }
            do {
                try names.listing.list(after: offset.subtractingClamped(2)) { name, cookie in
                    status.st_mode = Self.mode(name.kind)
                    // Its number is not known before somebody looks for it. 0 would hide the name.
                    status.st_ino = Self.unknownNode
                    return reply.add(name.name, &status, next: cookie + 2)
                }
            } catch {
                // Names that were found before the fault are given first.
                guard !reply.isEmpty else { throw error }
            }
            reply.send()
        }
    }

    private static let unknownNode: UInt = 0xFFFF_FFFF

    private static func mode(_ kind: NodeAttributes.Kind?) -> UInt32 {
        switch kind {
        case .folder: UInt32(S_IFDIR)
        case .file: UInt32(S_IFREG)
        case .link: UInt32(S_IFLNK)
        case nil: 0
        }
    }

    private func fileSystem(_ request: fuse_req_t?) {
        var status = statvfs()
        status.f_bsize = 4096
        status.f_frsize = 4096
        status.f_namemax = UInt(longestName)
        _ = unsafe library.functions.reply_statfs(request, &status)
    }
}

/// Names on their way to the kernel, in the kernel's form.
@safe private struct DirectoryReply {
    private let request: fuse_req_t?
    private let library: FuseLibrary
    private var bytes: [CChar]
    private var count = 0

    init(_ request: fuse_req_t?, capacity: Int, _ library: FuseLibrary) {
        unsafe self.request = request
        self.library = library
        bytes = [CChar](repeating: 0, count: capacity)
    }

    var isEmpty: Bool { count == 0 }

    /// - Returns: false if there is no room for the name.
    mutating func add(_ name: [UInt8], _ status: inout stat, next: UInt64) -> Bool {
        guard let offset = off_t(exactly: next) else { return false }
        let name = name.map(CChar.init(bitPattern:)) + [0]
        let room = bytes.count - count
        let needed = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe library.functions.add_direntry(
                request, bytes.baseAddress.map { unsafe $0 + count }, room, name, &status, offset)
        }
        guard needed <= room else { return false }
        count += needed
        return true
    }

    func send() {
        _ = unsafe bytes.withUnsafeBufferPointer {
            unsafe library.functions.reply_buf(request, $0.baseAddress, count)
        }
    }
}
#endif
