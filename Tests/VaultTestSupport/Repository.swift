package import SystemPackage

/// Where the tests find files of the repository.
package enum Repository {
    /// The top folder.
    package static let root = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .removingLastComponent()

    package static func path(_ relative: FilePath) -> FilePath { root.pushing(relative) }

    /// The text of a file in the repository.
    package static func text(_ relative: String) throws -> String {
        String(decoding: try contents(path(FilePath(relative))), as: UTF8.self)
    }

    /// The contents of a file.
    package static func contents(_ path: FilePath) throws -> [UInt8] {
        let file = try FileDescriptor.open(path, .readOnly)
        defer { try? file.close() }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe file.read(into: $0) }
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(count)
        }
    }
}
