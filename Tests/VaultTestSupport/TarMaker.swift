/// Makes tar streams, also such as no program makes.
public struct TarMaker {
    /// What was added.
    public private(set) var bytes: [UInt8] = []

    /// The number of the block where the next entry begins.
    public var place: UInt64 { UInt64(bytes.count / 512) }

    /// Nothing yet.
    public init() {}

    /// Adds an entry.
    ///
    /// - Parameter change: changes the header before its sum is made.
    public mutating func add(
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
    public var stream: [UInt8] { bytes + [UInt8](repeating: 0, count: 1024) }
}
