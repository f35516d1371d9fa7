internal import CPlatform
internal import SystemPackage
internal import VaultSystem

/// The open folders on the way to the last member. Each is opened in the one above it, and a link is never followed:
/// otherwise a member could put a link into the way of the next one, which would then be written outside.
struct FolderChain: ~Copyable {
    private struct Level {
        let name: ArraySlice<UInt8>
        let folder: FileDescriptor
    }

    /// More folders are opened again for each member, so that a deep path does not use up the descriptors.
    private static let mostOpen = 64

    private let root: FileDescriptor
    private var levels: [Level] = []

    init(_ root: FileDescriptor) {
        self.root = root
    }

    deinit {
        for level in levels { try? level.folder.close() }
    }

    /// Calls `body` with the folder of these components.
    ///
    /// - Parameters:
    ///   - made: called with each folder that had to be made; nil to make none.
    /// - Throws: `Refusal`; `Errno.noSuchFileOrDirectory` in it if a folder is missing and none is to be made.
    mutating func with<R>(
        _ components: ArraySlice<ArraySlice<UInt8>>, making made: ((FileIdentity) -> Void)?,
        _ body: (FileDescriptor) throws -> R
    ) throws -> R {
        var known = 0
        for (level, name) in zip(levels, components) {
            guard level.name == name else { break }
            known += 1
        }
        for level in levels[known...] { try? level.folder.close() }
        levels.removeSubrange(known...)
        var (folder, isKept) = (levels.last?.folder ?? root, true)
        defer { if !isKept { try? folder.close() } }
        for name in components.dropFirst(known) {
            let next = try Self.open(name, in: folder, making: made)
            if !isKept { try? folder.close() }
            (folder, isKept) = (next, levels.count < Self.mostOpen)
            if isKept { levels.append(Level(name: name, folder: next)) }
        }
        return try body(folder)
    }

    private static func open(
        _ name: ArraySlice<UInt8>, in folder: FileDescriptor, making made: ((FileIdentity) -> Void)?
    ) throws -> FileDescriptor {
        let path = FilePath(bytes: [UInt8](name))
        do {
            return try FileDescriptor.openForReading(path, in: folder, .folder)
        } catch .noSuchFileOrDirectory where made != nil {
        } catch .notDirectory, .tooManySymbolicLinkLevels {
            throw Refusal.behindLink
        } catch {
            throw Refusal.system(error)
        }
        do {
            try retrying { unsafe path.withPlatformString { unsafe mkdirat(folder.rawValue, $0, 0o777) } }
            let new = try FileDescriptor.openForReading(path, in: folder, .folder)
            made?(FileIdentity(try new.stat()))
            return new
        } catch {
            throw Refusal.system(error)
        }
    }
}
