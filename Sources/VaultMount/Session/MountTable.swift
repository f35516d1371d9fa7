public import SystemPackage
import VaultFile
import VaultSystem

/// The mounts that this process sees.
public enum MountTable {
    /// Whether a mount of this program is at a path.
    ///
    /// - Parameter point: an absolute path without links.
    /// - Returns: false also if the system does not tell.
    public static func hasOwnMount(at point: FilePath) -> Bool {
        guard let file = try? FileDescriptor.open(FilePath("/proc/self/mountinfo"), .readOnly, options: .closeOnExec)
        else {
            return false
        }
        defer { try? file.close() }
        var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while text.count < longest {
            var span = buffer.mutableSpan
            guard let count = try? file.readSome(into: &span), count > 0 else { break }
            text += buffer.prefix(count)
        }
        return hasOwnMount(at: point.bytes, in: text)
    }

    /// A machine with more mounts than fit into this is not asked to its end.
    private static let longest = 1 << 24

    /// - Parameter text: in the form of `/proc/self/mountinfo`: the fifth field of a line is the place, and behind a
    ///   field `-` comes the type.
    static func hasOwnMount(at point: [UInt8], in text: [UInt8]) -> Bool {
        text.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 4, unescaped(fields[4]) == point,
                let dash = fields.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]), fields.indices.contains(dash + 1)
            else { return false }
            return fields[dash + 1].elementsEqual("fuse.vaultfile".utf8)
        }
    }

    /// The bytes of a field, in which blanks, line ends and backslashes are a backslash and three octal digits.
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
}
