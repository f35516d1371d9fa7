import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// A run of chunks in one worker's hands, in memory of its own.
struct ChunkRun {
    let chunkCount: Int
    /// How many chunks it holds at most.
    let capacity: Int
    /// Bytes that stay free before each chunk, and behind it.
    private let lead: Int
    private let trail: Int
    var bytes: [UInt8]
    /// How long the chunks are together: all are full but perhaps the last.
    fileprivate(set) var length = 0
    /// Where in the input they are, until somebody reads them there.
    fileprivate var place: UInt64?

    init(_ chunkSize: ChunkSize, capacity: Int, lead: Int = 0, trail: Int = 0) {
        chunkCount = chunkSize.bytes
        self.capacity = capacity
        self.lead = lead
        self.trail = trail
        bytes = [UInt8](repeating: 0, count: capacity * (lead + chunkCount + trail))
    }

    var count: Int { (length + chunkCount - 1) / chunkCount }
    /// How much of its memory is taken, with what is free around each chunk.
    var extent: Int { length + count * (lead + trail) }

    /// Where a chunk stands.
    func part(_ index: Int) -> Range<Int> {
        let start = index * (lead + chunkCount + trail) + lead
        return start..<start + min(chunkCount, length - index * chunkCount)
    }

    /// Where the next chunk is to stand, while there is room for one.
    fileprivate var free: Range<Int>? {
        guard count < capacity, length == count * chunkCount else { return nil }
        let start = count * (lead + chunkCount + trail) + lead
        return start..<start + chunkCount
    }
}

/// What is to be encrypted, in runs of chunks that are taken in their order. What stands at places in a file is read by
/// whoever took it, while others do the same; all else as it is taken.
struct ChunkInput: ~Copyable {
    private let input: PipelineInput
    /// What was read before it was known whether the input is small.
    private var early: ArraySlice<UInt8>
    private var isAtEnd: Bool
    /// Where in a file there are bytes to be taken; nil where bytes are read as they come. What others write behind its
    /// end meanwhile comes as from a pipe.
    private var places: Range<UInt64>?
    /// How much a regular file had when it was begun. One that is cut meanwhile is no state that anybody wants, however
    /// much of it was read before.
    private let promised: UInt64
    private var digest: SHA256?
    /// What was taken.
    private(set) var length: UInt64 = 0
    /// How much there is, if it is little.
    let smallCount: Int?

    /// Reads the beginning.
    ///
    /// - Parameter hasDigest: whether a SHA-256 of all is wanted, for which bytes have to be seen in order.
    init(_ input: PipelineInput, hasDigest: Bool) throws(VaultError) {
        let places = try input.places()
        var early = [UInt8](repeating: 0, count: NewContainer.smallInput)
        let count = try input.fill(&early, 0..<early.count)
        let isAtEnd = count < early.count
        // Nothing throws from here on: one that is half made is taken apart wrongly by the optimiser.
        self.input = input
        self.isAtEnd = isAtEnd
        smallCount = isAtEnd ? count : nil
        // Files that the system makes up say anything; what was read at once is whole.
        promised = isAtEnd ? 0 : UInt64(places?.count ?? 0)
        let areAtPlaces = places != nil && !hasDigest && !isAtEnd
        self.places = areAtPlaces ? places : nil
        self.early = areAtPlaces ? [] : early.prefix(count)
        digest = hasDigest ? SHA256(engine: .preferred(isSmall: isAtEnd)) : nil
    }

    var isSmall: Bool { smallCount != nil }

    /// Takes what comes next: as much as the run holds, or has come through a pipe; nothing at the end.
    mutating func take(_ run: inout ChunkRun) throws(VaultError) {
        run.length = 0
        run.place = nil
        if let places {
            let count = run.capacity * run.chunkCount
            if places.count >= count {
                run.length = count
                run.place = places.lowerBound
                self.places = places.lowerBound + UInt64(count)..<places.upperBound
            } else {
                try input.seek(to: places.lowerBound)
                self.places = nil
            }
        }
        // What has come through a pipe goes on: it may be long until more comes.
        while run.place == nil, let part = run.free, run.length == 0 || input.holds(run.chunkCount) {
            let filled = try read(into: &run.bytes, part)
            digest?.update(run.bytes.span.extracting(part.prefix(filled)))
            run.length += filled
            guard filled < part.count else { continue }
            guard length + UInt64(run.length) >= promised else { throw PipelineInput.becameShorter }
            break
        }
        length += UInt64(run.length)
        guard length < 1 << 63 else { throw VaultError(.tooLarge, "the plaintext reaches 2^63 bytes") }
    }

    /// Reads as much as there is.
    private mutating func read(into bytes: inout [UInt8], _ range: Range<Int>) throws(VaultError) -> Int {
        let held = early.prefix(range.count)
        bytes.replaceSubrange(range.lowerBound..<range.lowerBound + held.count, with: held)
        early = early.dropFirst(held.count)
        guard held.count < range.count, !isAtEnd else { return held.count }
        let more = try input.fill(&bytes, range.dropFirst(held.count))
        isAtEnd = held.count + more < range.count
        return held.count + more
    }

    /// Of all that was taken; nil if none is wanted.
    mutating func finishDigest() -> [UInt8]? {
        digest.take()?.finish()
    }
}

extension PipelineInput {
    fileprivate static let becameShorter = VaultError(.inputFailed, "it became shorter while it was read")

    /// Reads what a worker has taken and nobody has read yet.
    func load(_ run: inout ChunkRun) throws {
        guard let place = run.place else { return }
        run.place = nil
        for index in 0..<run.count {
            let part = run.part(index)
            guard try fill(&run.bytes, part, at: place + UInt64(index * run.chunkCount)) == part.count else {
                throw Self.becameShorter
            }
        }
    }
}
