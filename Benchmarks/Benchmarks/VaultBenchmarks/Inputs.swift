import Foundation
import SystemPackage
import VaultFile

/// The key of all containers in these benchmarks.
let key: SymmetricKey = {
    do { return try SymmetricKey.generate() } catch { fatalError("cannot make a key: \(error)") }
}()

/// Returns bytes that do not compress, the same in every run.
func plaintext(_ count: Int) -> [UInt8] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
    }
}

extension [UInt8] {
    /// Appends the bytes that a writer lends.
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

/// Makes a container in memory.
func container(
    of plaintext: [UInt8], for recipients: [Recipient] = [.key(key)], options: SealOptions = SealOptions()
) throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(plaintext.count + plaintext.count / 100 + 65_536)
    var writer = try VaultWriter(for: recipients, options: options)
    try writer.write(plaintext.span) { bytes.append(copying: $0) }
    try writer.finish { bytes.append(copying: $0) }
    return bytes
}

/// The measured chunk sizes: the smallest, the default, a large one, the largest.
let chunkSizes: [(name: String, size: ChunkSize)] = [
    ("4 KiB", ChunkSize.minimum), ("64 KiB", .standard), ("1 MiB", ChunkSize(bytes: 1 << 20)), ("8 MiB", .maximum),
].compactMap { name, size in size.map { (name, $0) } }

/// A folder in memory, if the system has one, so that the disk does not count. It is removed with this value.
final class ScratchFolder: Sendable {
    let path: FilePath

    init() throws {
        let root = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        path = FilePath(root).appending("vaultfile-benchmarks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path.string)
    }

    func write(_ bytes: [UInt8], to name: String) throws -> FilePath {
        let file = path.appending(name)
        try Data(bytes).write(to: URL(fileURLWithPath: file.string))
        return file
    }
}
