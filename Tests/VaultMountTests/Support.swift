import CPlatform
import Synchronization
import SystemPackage
import VaultFile
import VaultFormat
import VaultTestSupport

@testable import VaultMount

extension SealOptions {
    static func indexed(_ isIndexed: Bool = true, chunk: ChunkSize = .minimum) -> SealOptions {
        var options = SealOptions(chunk: chunk)
        options.tarIndex = isIndexed
        return options
    }
}

extension TemporaryFolder {
    func opened() throws -> FileDescriptor { try FileDescriptor.open(path, .readOnly) }

    /// Writes a container.
    func seal(
        _ plaintext: [UInt8], to name: String, key: UInt8 = 1, options: SealOptions = SealOptions(chunk: .minimum)
    ) throws {
        try write(sealed(plaintext, for: [.key(testKey(key))], options: options), to: name)
    }

    /// Renames a file over another one.
    func move(_ name: String, to other: String) {
        let status = unsafe self[name].withPlatformString { old in
            unsafe self[other].withPlatformString { unsafe rename(old, $0) }
        }
        precondition(status == 0, "the test can rename its own files")
    }

    /// Sets the time of the last modification.
    func setTime(_ name: String, seconds: Int) throws {
        var times = timespec()
        times.tv_sec = seconds
        let both = [times, times]
        guard unsafe self[name].withPlatformString({ unsafe utimensat(AT_FDCWD, $0, both, 0) }) == 0 else {
            throw Errno(rawValue: vaultfile_error_number())
        }
    }

    /// A container in this folder, as a mount has it open.
    func container(_ name: String) throws -> OpenContainer {
        try OpenContainer(FileDescriptor.open(self[name], .readOnly), cache: PlaintextCache(), openWithTestKey)
    }
}

/// Counts calls of several threads.
final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    func add() { value.withLock { $0 += 1 } }
}

/// Opens with the first key.
let openWithTestKey: ContainerOpener = { source in
    try SeekableVaultReader(source, with: .key(testKey(1)))
}

extension View {
    /// The node with a path, and its attributes.
    func find(path: String) throws -> FoundNode {
        var found = FoundNode(id: rootNode, attributes: try attributes(of: rootNode))
        for name in path.split(separator: "/") { found = try find(Array(name.utf8), in: found.id) }
        return found
    }

    /// The names in a folder, some at a time.
    func names(_ folder: NodeID = rootNode, atOnce: Int = .max) throws -> [String] {
        let listing = try list(folder)
        var names: [String] = []
        var (cookie, isAtEnd) = (UInt64(0), false)
        while !isAtEnd {
            var taken = 0
            isAtEnd = true
            try listing.list(after: cookie) { name, next in
                guard taken < atOnce else {
                    isAtEnd = false
                    return false
                }
                names.append(String(decoding: name.name, as: UTF8.self))
                (cookie, taken) = (next, taken + 1)
                return true
            }
        }
        return names
    }

    /// The content of a file, or a part of it.
    func bytes(_ node: NodeID, at offset: UInt64 = 0, count: Int = 1 << 20) throws -> [UInt8] {
        try open(node).bytes(at: offset, count: count)
    }
}

extension OpenContent {
    func bytes(at offset: UInt64 = 0, count: Int = 1 << 20) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try unsafe read(at: offset, count: count) { unsafe bytes = [UInt8]($0) }
        return bytes
    }
}

/// The error number that a call gives; nil if it gives none.
func number(_ body: () throws -> Void) -> Errno? {
    do {
        try body()
        return nil
    } catch {
        return errorNumber(for: error)
    }
}
