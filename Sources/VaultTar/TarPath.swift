import VaultFormat

/// The path of an entry of a tar stream: 1 to 4,096 bytes (TAR-1). It is not absolute, has no NUL, and no component that
/// is empty, `.` or `..`.
///
/// Paths are bytes: tar knows no encoding. They are compared component by component (TAR-2), so the order is that of a
/// walk that goes down into each folder before it takes the next name.
public struct TarPath: Hashable, Sendable {
    /// The most bytes of a path.
    public static let longest = 4096

    /// The bytes, without a `./` before them and without a `/` behind them.
    public let bytes: [UInt8]

    /// The path that these bytes are, as they are; nil if TAR-1 does not allow it.
    public init?(_ bytes: some Collection<UInt8>) {
        let bytes = [UInt8](bytes)
        guard Self.isLegal(bytes) else { return nil }
        self.bytes = bytes
    }

    /// The path that a header or a user names: one `./` before it and one `/` behind it are left out (TAR-1). Nil if
    /// TAR-1 does not allow the rest.
    public init?(trimming name: some Collection<UInt8>) {
        var name = [UInt8](name)[...]
        if name.starts(with: [UInt8(ascii: "."), UInt8(ascii: "/")]) { name = name.dropFirst(2) }
        if name.last == UInt8(ascii: "/") { name = name.dropLast() }
        self.init(name)
    }

    /// - Parameter bytes: a path that TAR-1 allows.
    init(legal bytes: [UInt8]) {
        self.bytes = bytes
    }

    private static func isLegal(_ bytes: [UInt8]) -> Bool { isLegal(bytes[...], behind: []) }

    /// Whether TAR-1 allows the path that these bytes make with those before them, the beginning of a legal path.
    ///
    /// It looks at the last three bytes of the beginning, and no others: a component that has so many is neither empty,
    /// nor `.` or `..`.
    static func isLegal(_ bytes: ArraySlice<UInt8>, behind start: ArraySlice<UInt8>) -> Bool {
        guard (1...longest).contains(start.count + bytes.count), !bytes.contains(0) else { return false }
        let last = start.suffix(3)
        let component = last.lastIndex(of: UInt8(ascii: "/")).map { last[($0 + 1)...] } ?? last
        return PathForm.hasLegalComponents([UInt8](component) + bytes)
    }

    /// The folder that it is in; nil for a single name.
    public var folder: TarPath? {
        bytes.lastIndex(of: UInt8(ascii: "/")).map { TarPath(legal: Array(bytes[..<$0])) }
    }

    /// This path, and the folders that it is below, the lowest first.
    public var withFolders: some Sequence<TarPath> { sequence(first: self, next: \.folder) }

    /// Whether this path is `folder` or below it.
    public func isBelow(orEqualTo folder: TarPath) -> Bool {
        guard bytes.starts(with: folder.bytes) else { return false }
        return bytes.count == folder.bytes.count || bytes[folder.bytes.count] == UInt8(ascii: "/")
    }
}

extension TarPath: Comparable {
    /// Whether a path comes before another (TAR-2).
    public static func < (first: TarPath, second: TarPath) -> Bool {
        precedes(first.bytes[...], second.bytes[...])
    }

    /// Whether a path comes before another, by what follows the bytes that both have.
    static func precedes(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.lexicographicallyPrecedes(second) { rank($0) < rank($1) }
    }

    /// A component ends before every byte that a longer one has there, and no path has a NUL. So the bytes are in the
    /// right order if a `/` counts as a NUL.
    static func rank(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "/") ? 0 : byte }
}

extension TarPath: CustomStringConvertible {
    /// The path as text, with replacement characters for bytes that are not UTF-8. It may hold control characters.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
