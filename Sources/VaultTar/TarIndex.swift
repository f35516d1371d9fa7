import VaultFormat

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
        var last: TarPath?
        for _ in 0..<count {
            guard let entry = cursor.next() else { return nil }
            if isSorted, let last, entry.path < last { return nil }
            last = entry.path
        }
        guard cursor.isAtEnd else { return nil }
    }

    /// Reads the entries in their order. It holds one path.
    package struct Cursor {
        private let value: [UInt8]
        private var position: Int
        private var left: Int
        private var last: Entry?

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
            guard left > 0, let step = varint(), let shared = varint(), let rest = varint() else { return nil }
            left -= 1
            // The first step is the place itself. Every other entry is behind the one before.
            guard last == nil || step > 0 else { return nil }
            let (place, overflow) = (last?.place ?? 0).addingReportingOverflow(step)
            guard !overflow, place < TarIndex.placeLimit else { return nil }
            let before = last?.path.bytes ?? []
            guard shared <= UInt64(before.count), rest <= UInt64(TarPath.longest),
                rest <= UInt64(value.count - position)
            else { return nil }
            let end = position + Int(rest)
            guard let path = TarPath(before.prefix(Int(shared)) + value[position..<end]) else { return nil }
            position = end
            let entry = Entry(place: place, path: path)
            last = entry
            return entry
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
