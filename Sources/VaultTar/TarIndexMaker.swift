import VaultFormat

/// Makes the index of a tar stream that passes (TAR-7).
///
/// It holds a value of at most twice the largest one, and two paths, however long the stream is: when the value becomes
/// too long, every second entry is left out.
package struct TarIndexMaker: Sendable {
    private let largest: Int
    private var walk = TarWalk()
    /// Why there is no index.
    private var failure: NotTar?
    private var stepExponent: Int
    /// The index entries as they are encoded, and how many they are.
    private var encoded = EncodedEntries()
    private var streamCount: UInt64 = 0
    private var isSorted = true
    /// The last legal path of the stream.
    private var last: TarPath?

    package init() {
        self.init(leastStepExponent: 0, largest: TarIndex.largestValue)
    }

    /// - Parameter largest: the most bytes of the value, enough for some entries.
    package init(leastStepExponent: Int, largest: Int) {
        precondition(largest >= 1 << 14, "two entries always fit")
        stepExponent = leastStepExponent
        self.largest = largest
    }

    /// Takes the next bytes of the stream.
    package mutating func take(_ bytes: Span<UInt8>) {
        guard failure == nil else { return }
        // Taken out while it is used: a copy of what it holds of a long header would be made for every piece.
        var walk = exchange(&self.walk, with: TarWalk())
        do throws(NotTar) {
            try walk.take(bytes) { entry throws(NotTar) in try add(entry) }
        } catch {
            failure = error
            encoded = EncodedEntries()
        }
        self.walk = walk
    }

    /// The value of the member 0x8005.
    ///
    /// - Throws: `NotTar` if the stream has no index: it is no tar stream that ends, or it is too long for one.
    package consuming func finish() throws(NotTar) -> [UInt8] {
        if let failure { throw failure }
        guard walk.hasEnded else { throw NotTar("the stream does not end as tar streams do") }
        guard let total = UInt32(exactly: streamCount) else { throw NotTar("the stream has too many entries") }
        var value: [UInt8] = [1, UInt8(stepExponent), isSorted ? 1 : 0]
        value.append(bigEndian: UInt32(encoded.count))
        value.append(bigEndian: total)
        return value + encoded.bytes
    }

    private mutating func add(_ entry: TarEntry) throws(NotTar) {
        guard entry.place < TarIndex.placeLimit, streamCount < UInt64(UInt32.max) else {
            throw NotTar("the stream is too long for an index")
        }
        let number = streamCount
        streamCount += 1
        guard let path = entry.path else { return }
        if let last, path < last { isSorted = false }
        last = path
        guard number.isMultiple(of: 1 << UInt64(stepExponent)) else { return }
        encoded.append(TarIndex.Entry(place: entry.place, path: path), number: number)
        while TarIndex.headCount + encoded.bytes.count > largest {
            stepExponent += 1
            encoded.keep(multiplesOf: 1 << UInt64(stepExponent))
        }
    }
}

/// Index entries in their form (TAR-4).
private struct EncodedEntries: Sendable {
    private(set) var bytes: [UInt8] = []
    private(set) var numbers: [UInt64] = []
    private var last: TarIndex.Entry?

    var count: Int { numbers.count }

    /// - Parameter number: of the entry in the stream.
    mutating func append(_ entry: TarIndex.Entry, number: UInt64) {
        let (path, before) = (entry.path.bytes, last?.path.bytes ?? [])
        let shared = zip(path, before).prefix { $0 == $1 }.count
        append(varint: entry.place - (last?.place ?? 0))
        append(varint: UInt64(shared))
        append(varint: UInt64(path.count - shared))
        bytes += path[shared...]
        numbers.append(number)
        last = entry
    }

    private mutating func append(varint value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(value & 0x7F) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }

    /// Leaves out the entries with other numbers.
    mutating func keep(multiplesOf step: UInt64) {
        var kept = EncodedEntries()
        var cursor = TarIndex.Cursor(bytes, from: 0, count: numbers.count)
        for number in numbers {
            guard let entry = cursor.next() else { preconditionFailure("what was encoded can be read") }
            if number.isMultiple(of: step) { kept.append(entry, number: number) }
        }
        self = kept
    }
}
