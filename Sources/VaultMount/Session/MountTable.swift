public import SystemPackage
import VaultFile
import VaultSystem

/// The mounts that this process sees.
public enum MountTable {
    /// One mount.
    struct Mount: Equatable {
        /// The number of its file system, in the form of the table. No other file system has it as long as this one is
        /// mounted anywhere.
        let number: [UInt8]
        /// Whether it is one of this program.
        let isOwn: Bool
    }

    /// Whether a mount of this program is at a path.
    ///
    /// - Parameter point: an absolute path without links.
    /// - Returns: false also if the system does not tell.
    public static func hasOwnMount(at point: FilePath) -> Bool { mounts(at: point)?.contains(where: \.isOwn) ?? false }

    /// The mounts at a path, the one on top last; nil if the system does not tell.
    ///
    /// - Parameter point: an absolute path without links.
    static func mounts(at point: FilePath) -> [Mount]? { text.map { mounts(at: point.bytes, in: $0) } }

    /// Where a mount of this program is now. Its place changes when it is moved, or when a folder above it is renamed.
    ///
    /// - Parameter number: that of its file system.
    static func place(of number: [UInt8]) -> FilePath? { text.flatMap { place(of: number, in: $0) } }

    private static var text: [UInt8]? {
        guard let file = try? FileDescriptor.open(path, .readOnly, options: .closeOnExec) else { return nil }
        defer { try? file.close() }
        var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while text.count < longest {
            var span = buffer.mutableSpan
            guard let count = try? file.readSome(into: &span) else { return nil }
            guard count > 0 else { break }
            text += buffer.prefix(count)
        }
        return text
    }

    /// Where the table is.
    private static let path: FilePath = "/proc/self/mountinfo"

    /// A machine with more mounts than fit into this is not asked to its end.
    private static let longest = 1 << 24

    /// - Parameter text: in the form of `/proc/self/mountinfo`.
    static func mounts(at point: [UInt8], in text: [UInt8]) -> [Mount] {
        let place = escaped(point)[...]
        return lines(of: text).filter { $0.place == place }.map(\.mount)
    }

    static func place(of number: [UInt8], in text: [UInt8]) -> FilePath? {
        lines(of: text).last { $0.mount == Mount(number: number, isOwn: true) }.map {
            FilePath(bytes: unescaped($0.place))
        }
    }

    /// The places and mounts of the table: the third field of a line is the number, the fifth one is the place, and behind a
    /// field `-` comes the type.
    private static func lines(of text: [UInt8]) -> [(place: ArraySlice<UInt8>, mount: Mount)] {
        text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 4, let dash = fields.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]),
                fields.indices.contains(dash + 1)
            else { return nil }
            let isOwn = fields[dash + 1].elementsEqual("fuse.vaultfile".utf8)
            return (fields[4], Mount(number: [UInt8](fields[2]), isOwn: isOwn))
        }
    }

    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), field)
        while let first = rest.popFirst() {
            let digits = rest.prefix(3)
            if first == UInt8(ascii: "\\"), digits.count == 3,
                let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(byte)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(first)
            }
        }
        return bytes
    }

    /// A path in the form of the table: blanks, line ends and backslashes are a backslash and three octal digits.
    static func escaped(_ path: [UInt8]) -> [UInt8] {
        path.flatMap { byte -> [UInt8] in
            guard " \t\n\\".utf8.contains(byte) else { return [byte] }
            let digits = String(byte, radix: 8)
            return Array(("\\" + String(repeating: "0", count: 3 - digits.count) + digits).utf8)
        }
    }
}
