/// The members in the bytes of a manifest (Spec 6.1): tag u16, length u32, value, in ascending order of tag, each once.
///
/// They are read in place, as often as needed. A manifest can hold tens of thousands of them. If each became an object
/// of its own, they would take several times the memory that a reader may use for everything (CAP-4).
enum ManifestMembers {
    static let headCount = 6

    /// Passes each tag and value to `body`. Stops before a tag of 0, or if too few bytes for a head are left (MAN-11).
    ///
    /// - Returns: The offset of the end of the last member.
    /// - Throws: `manifestMalformed` (MAN-14, MAN-15), and everything that `body` throws.
    @discardableResult
    static func forEach(
        in bytes: Span<UInt8>, _ body: (UInt16, Span<UInt8>) throws(VaultError) -> Void
    ) throws(VaultError) -> Int {
        var (position, last): (Int, UInt16) = (0, 0)
        while bytes.count - position >= headCount {
            let tag: UInt16 = bytes.bigEndian(position..<position + 2)
            guard tag != 0 else { break }
            guard tag > last else {
                throw VaultError(.manifestMalformed, "the manifest's members are not in ascending order of tag")
            }
            let length = Int(bytes.bigEndian(position + 2..<position + headCount) as UInt32)
            let value = position + headCount
            guard length <= bytes.count - value else {
                throw VaultError(.manifestMalformed, "a member reaches past the manifest's end")
            }
            try body(tag, bytes.extracting(value..<value + length))
            (position, last) = (value + length, tag)
        }
        return position
    }

    /// Appends a member to `bytes`.
    static func append(_ tag: UInt16, _ value: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(bigEndian: tag)
        bytes.append(bigEndian: UInt32(value.count))
        for index in value.indices { bytes.append(value[index]) }
    }
}

/// Members with a tag from 0x8000 on that this library does not know, kept byte for byte.
package struct UnknownMembers: Hashable, Sendable {
    private var bytes: [UInt8] = []

    /// No members.
    package init() {}

    /// - Parameter count: The number of bytes that will be kept, including the heads.
    init(reserving count: Int) {
        bytes.reserveCapacity(count)
    }

    mutating func keep(_ tag: UInt16, _ value: Span<UInt8>) {
        ManifestMembers.append(tag, value, to: &bytes)
    }

    /// All of them, for a writer that carries them over.
    package var all: [(tag: UInt16, value: [UInt8])] {
        var all: [(tag: UInt16, value: [UInt8])] = []
        // What was kept is in order and whole.
        _ = try? ManifestMembers.forEach(in: bytes.span) { tag, value in all.append((tag, [UInt8](copying: value))) }
        return all
    }

    /// - Parameter value: nil leaves the member out.
    mutating func set(_ tag: UInt16, to value: [UInt8]?) {
        var others = all.filter { $0.tag != tag }
        if let value { others.append((tag, value)) }
        bytes = []
        for member in others.sorted(by: { $0.tag < $1.tag }) { keep(member.tag, member.value.span) }
    }
}
