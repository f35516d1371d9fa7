import CPlatform
import Synchronization
import SystemPackage
import VaultFile
import VaultFormat
import VaultTestSupport

@testable import VaultMount

/// Makes tar streams, also such as no program makes.
struct TarMaker {
    private(set) var bytes: [UInt8] = []

    /// The number of the block where the next entry begins.
    var place: UInt64 { UInt64(bytes.count / 512) }

    mutating func add(
        _ name: String, _ content: [UInt8] = [], type: Character = "0", link: String = "", mode: Int = 0o644,
        change: (inout [UInt8]) -> Void = { _ in }
    ) {
        var header = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, _ offset: Int) {
            header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: Int, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: digits - text.count) + text
        }
        put(name, 0)
        put(octal(mode, 7), 100)
        put(octal(content.count, 11), 124)
        put(octal(1_700_000_000, 11), 136)
        put(String(type), 156)
        put(link, 157)
        put("ustar\u{0}00", 257)
        change(&header)
        header.replaceSubrange(148..<156, with: [UInt8](repeating: 0x20, count: 8))
        put(octal(header.reduce(0) { $0 + Int($1) }, 6) + "\u{0} ", 148)
        bytes += header + content + [UInt8](repeating: 0, count: (512 - content.count % 512) % 512)
    }

    /// The whole stream.
    var stream: [UInt8] { bytes + [UInt8](repeating: 0, count: 1024) }
}

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
