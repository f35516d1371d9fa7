package import VaultFormat

/// The index of a tar stream, which the manifest of its container holds (Spec, chapter 24).
///
/// It is the word of the container's maker: only the stream itself tells which of its bytes are headers (TAR-10).
public struct TarIndex: Hashable, Sendable {
    /// The tag of the member of the manifest.
    package static let tag: UInt16 = 0x8005
    /// The most bytes that a writer gives to the value (TAR-7).
    package static let largestValue = 900_000
    static let headCount = 11
    /// Places are below this number of blocks.
    static let placeLimit: UInt64 = 1 << 54

    /// One entry of the index.
    public struct Entry: Hashable, Sendable {
        /// The number of the 512-byte block where the entry of the stream begins.
        public let place: UInt64
        /// Its path.
        public let path: TarPath
    }

    /// The value of the member.
    package let value: [UInt8]
    /// The binary logarithm of S: every S-th entry of the stream can be in the index.
    public let stepExponent: Int
    /// Whether the paths of the stream ascend (TAR-2).
    public let isSorted: Bool
    /// The number of entries in the index.
    public let count: Int
    /// The number of entries of the stream.
    public let streamCount: UInt32

    /// Parses the value of the member; nil if it breaks TAR-3 to TAR-5, and counts as absent (TAR-6).
    package init?(value: [UInt8]) {
        guard value.count >= Self.headCount, value[0] == 1, value[1] <= 31, value[2] <= 1 else { return nil }
        let count: UInt32 = value[3..<7].bigEndian()
        self.value = value
        stepExponent = Int(value[1])
        isSorted = value[2] == 1
        streamCount = value[7..<11].bigEndian()
        self.count = Int(count)
        // ⌈N / S⌉ without a sum that overflows.
        let step = UInt64(1) << UInt64(stepExponent)
        guard UInt64(count) <= (UInt64(streamCount) + step - 1) / step else { return nil }
        var cursor = Cursor(self)
        for _ in 0..<count { guard cursor.advance() else { return nil } }
        guard !isSorted || cursor.ascends else { return nil }
        guard cursor.isAtEnd else { return nil }
    }

    /// Reads the entries in their order. It holds one path, of which each entry changes the end.
    ///
    /// An entry of three bytes can have a path of 4,096. So nothing here looks at the bytes that it shares with the path
    /// before: an index of a megabyte would otherwise stand for the work on a gigabyte.
    package struct Cursor {
        private let value: [UInt8]
        private var position: Int
        private var left: Int
        private var place: UInt64?
        /// The path of the last entry.
        package private(set) var path: [UInt8] = []
        /// How many bytes of it are those of the path before, at least.
        package private(set) var shared = 0
        /// Whether the paths of all entries up to the last one ascend or repeat (TAR-2).
        private(set) var ascends = true

        package init(_ index: TarIndex) {
            self.init(index.value, from: TarIndex.headCount, count: index.count)
        }

        /// - Parameter value: has the entries from `position` on.
        init(_ value: [UInt8], from position: Int, count: Int) {
            self.value = value
            self.position = position
            left = count
        }

        var isAtEnd: Bool { position == value.count }

        /// The next entry; nil behind the last one, or if the form of this one is wrong (TAR-4).
        package mutating func next() -> Entry? {
            guard advance(), let place else { return nil }
            return Entry(place: place, path: TarPath(legal: path))
        }

        /// Goes on to the next entry.
        ///
        /// - Returns: whether there is one, in the right form.
        mutating func advance() -> Bool {
            guard left > 0, let step = varint(), let start = varint(), let rest = varint() else { return false }
            left -= 1
            // The first step is the place itself. Every other entry is behind the one before.
            guard place == nil || step > 0 else { return false }
            let (next, overflow) = (place ?? 0).addingReportingOverflow(step)
            guard !overflow, next < TarIndex.placeLimit, start <= UInt64(path.count),
                rest <= UInt64(TarPath.longest), rest <= UInt64(value.count - position)
            else { return false }
            let new = value[position..<position + Int(rest)]
            position += Int(rest)
            shared = Int(start)
            guard TarPath.isLegal(new, behind: path[..<shared]) else { return false }
            if place != nil, TarPath.precedes(new, path[shared...]) { ascends = false }
            path.removeSubrange(shared...)
            path += new
            place = next
            return true
        }

        /// LEB128 in the shortest form, below 2⁶³.
        private mutating func varint() -> UInt64? {
            var (number, shift): (UInt64, UInt64) = (0, 0)
            while position < value.count, shift < 63 {
                let byte = value[position]
                position += 1
                number |= UInt64(byte & 0x7F) << shift
                guard byte >= 0x80 else { return byte == 0 && shift > 0 ? nil : number }
                shift += 7
            }
            return nil
        }
    }

    /// The error of a read that the index has led to a wrong place.
    package static var mismatch: VaultError {
        VaultError(.indexMismatch, "the index of the tar stream does not fit the stream")
    }

    /// Passes the entries of the index to `body`, until it returns false.
    ///
    /// - Throws: what `body` throws.
    public func forEach(_ body: (Entry) throws -> Bool) rethrows {
        var cursor = Cursor(self)
        while let entry = cursor.next() {
            guard try body(entry) else { return }
        }
    }
}
