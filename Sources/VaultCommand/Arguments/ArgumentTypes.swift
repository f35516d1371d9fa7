internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// A path as the user gave it, which may be any bytes.
struct PathArgument: ExpressibleByArgument, Hashable, Sendable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(argument: String) {
        bytes = ArgumentText.decode(argument)
    }

    /// `-`.
    static let dash = PathArgument(bytes: [UInt8(ascii: "-")])

    static var defaultCompletionKind: CompletionKind { .file() }

    /// Whether it is `-`, which means standard input or standard output.
    var isDash: Bool { bytes == [UInt8(ascii: "-")] }

    /// Whether it ends with a slash, and so names a folder.
    var endsWithSlash: Bool { bytes.last == UInt8(ascii: "/") }

    /// The path for the system.
    var path: FilePath { FilePath(bytes: bytes) }

    /// The bytes after the last slash.
    var lastComponent: [UInt8] {
        Array(bytes.suffix(from: bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0))
    }

    /// The path without the slashes at its end.
    var withoutSlashes: PathArgument {
        let end = bytes.lastIndex { $0 != UInt8(ascii: "/") }
        return PathArgument(bytes: Array(bytes[..<(end.map { $0 + 1 } ?? bytes.count)]))
    }

    /// The name of the folder that it names; empty for `.`, `..` and `/`, whose names it does not have.
    var folderName: [UInt8] {
        let slash = UInt8(ascii: "/")
        let name = Array(bytes.split(separator: slash).last ?? [])
        return name == Array(".".utf8) || name == Array("..".utf8) ? [] : name
    }

    /// The same folder with another last component.
    func replacingLastComponent(with name: [UInt8]) -> PathArgument {
        PathArgument(bytes: bytes.prefix(bytes.count - lastComponent.count) + name)
    }

    /// The path for messages, escaped.
    var escaped: String { Escaping.line(bytes) }
}

/// Operands that were joined to one argument of the parser (see `ArgumentText`).
struct OperandList: ExpressibleByArgument, Sendable {
    let paths: [PathArgument]

    /// One operand that was not typed.
    init(_ path: PathArgument) {
        paths = [path]
    }

    init(argument: String) {
        paths = ArgumentText.split(argument).map(PathArgument.init(bytes:))
    }

    static var defaultCompletionKind: CompletionKind { .file() }
}

/// Text of any bytes.
struct BytesArgument: ExpressibleByArgument, Hashable, Sendable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(argument: String) {
        bytes = ArgumentText.decode(argument)
    }
}

/// How a plaintext is compressed.
enum CompressionMethod: String, ExpressibleByArgument, Sendable {
    case deflate

    // Written out: `allCases` would add a fiftieth to the start-up time.
    static var allValueStrings: [String] { [deflate.rawValue] }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var compression: Compression {
        switch self {
        case .deflate: .deflate
        }
    }
}

/// A number of bytes: digits, then optionally a power of 1024: K, M, G, T, KiB, MiB, GiB or TiB.
struct ByteCount: ExpressibleByArgument, Hashable, Sendable {
    let value: UInt64

    init?(argument: String) {
        let digits = argument.prefix { ("0"..."9").contains($0) }
        guard let number = UInt64(digits), let shift = Self.shifts[String(argument.dropFirst(digits.count))],
            number <= UInt64(Int64.max) >> shift
        else { return nil }
        value = number << shift
    }

    private static let shifts: [String: UInt64] = [
        "": 0, "K": 10, "M": 20, "G": 30, "T": 40, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40,
    ]
}
