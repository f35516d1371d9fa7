import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// Consecutive chunks in the memory of one worker.
struct ChunkRun: ~Copyable {
    let chunkCount: Int
    /// The most chunks that it holds.
    let capacity: Int
    /// How many bytes stay free before each chunk, and after it.
    private let lead: Int
    private let trail: Int
    var bytes: ByteBuffer
    /// The length of all chunks together. Only the last may be shorter than the others.
    fileprivate(set) var length = 0
    /// The place of the chunks in the input; nil after a worker has read them.
    fileprivate var place: UInt64?
    /// Whether the chunks are in a hole of the file. They are zeros, and are not read.
    fileprivate var isHole = false

    /// - Throws: `memoryUnavailable`.
    init(_ chunkSize: ChunkSize, capacity: Int, lead: Int = 0, trail: Int = 0) throws(VaultError) {
        chunkCount = chunkSize.bytes
        self.capacity = capacity
        self.lead = lead
        self.trail = trail
        bytes = try ByteBuffer(count: capacity * (lead + chunkCount + trail))
    }

    var count: Int { (length + chunkCount - 1) / chunkCount }
    /// How many bytes of memory the chunks take, with the free bytes around each.
    var extent: Int { length + count * (lead + trail) }

    /// A chunk's bytes.
    func part(_ index: Int) -> Range<Int> {
        let start = index * (lead + chunkCount + trail) + lead
        return start..<start + min(chunkCount, length - index * chunkCount)
    }

    /// The room for the next chunk; nil if there is none.
    fileprivate var free: Range<Int>? {
        // mutant: after a chunk that is not full, no more are taken
        guard count < capacity, length == count * chunkCount else { return nil }
        let start = count * (lead + chunkCount + trail) + lead
        return start..<start + chunkCount
    }
}

/// The plaintext to be encrypted, in runs of chunks that are taken in order. A worker that takes chunks of a file reads
/// them later, while others read theirs. All other input is read when it is taken.
struct ChunkInput: ~Copyable {
    private let input: PipelineInput
    /// The bytes that were read before it was known whether the input is small.
    private var early: ArraySlice<UInt8>
    private var isAtEnd: Bool
    /// The part of a file that was not taken yet; nil if bytes are read in order. If another program appends bytes to
    /// the file, they are read in order too.
    private var places: Range<UInt64>?
    private var holes: SourceHoles?
    /// The length that a regular file had at the beginning. If it becomes shorter, encryption fails: no user wants a
    /// container of half a file.
    private let promised: UInt64
    private var passing: PassingPlaintext?
    /// The length of the plaintext that was taken.
    private(set) var length: UInt64 = 0
    /// The length of the plaintext, if it is less than 64 KiB.
    let smallCount: Int?

    /// Reads the first bytes.
    ///
    /// - Parameters:
    ///   - hasDigest: whether to compute the SHA-256 of the plaintext. Then the bytes are read in order.
    ///   - hasIndex: whether to make an index if the plaintext is a tar stream. Then the bytes are read in order.
    init(_ input: PipelineInput, hasDigest: Bool, hasIndex: Bool) throws(VaultError) {
        let places = try input.places()
        var early = [UInt8](repeating: 0, count: NewContainer.smallInput)
        let count = try input.fill(&early, 0..<early.count)
        let isAtEnd = count < early.count
        let areAtPlaces = places != nil && !hasDigest && !hasIndex && !isAtEnd
        // mutant: without places, holes are not looked at
        let holes = areAtPlaces ? input.holes() : nil
        // Nothing may throw from here on: the optimiser wrongly destroys a half-initialised value of this type.
        self.input = input
        self.isAtEnd = isAtEnd
        smallCount = isAtEnd ? count : nil
        // The kernel's virtual files state any length. Input that was read at once is complete.
        promised = isAtEnd ? 0 : UInt64(places?.count ?? 0)
        self.holes = holes
        self.places = areAtPlaces ? places : nil
        self.early = areAtPlaces ? [] : early.prefix(count)
        passing = PassingPlaintext(
            digest: hasDigest ? SHA256(engine: .preferred(isSmall: isAtEnd)) : nil, hasIndex: hasIndex)
    }

    var isSmall: Bool { smallCount != nil }

    /// Takes the next chunks: as many as the run holds, fewer if no more have come through a pipe, none at the end.
    mutating func take(_ run: inout ChunkRun) throws(VaultError) {
        run.length = 0
        run.place = nil
        run.isHole = false
        if let places {
            let count = run.capacity * run.chunkCount
            if places.count >= count {
                run.length = count
                run.place = places.lowerBound
                let end = places.lowerBound + UInt64(count)
                // One worker at a time is here, and `load` does not use the file's own offset, which this moves.
                run.isHole = holes?.contain(places.lowerBound..<end, of: input, endingAt: places.upperBound) ?? false
                self.places = end..<places.upperBound
            } else {
                // A part that was not read does not show that the file has become shorter.
                guard holes == nil || input.reaches(places.upperBound) else { throw PipelineInput.becameShorter }
                try input.seek(to: places.lowerBound)
                self.places = nil
            }
        }
        // The worker starts with the bytes that a pipe already has: the next bytes may come much later.
        while run.place == nil, let part = run.free, run.length == 0 || input.holds(run.chunkCount) {
            let filled = try read(into: &run.bytes, part)
            run.bytes.withSpan(of: part.prefix(filled)) { passing?.update($0) }
            run.length += filled
            guard filled < part.count else { continue }
            guard length + UInt64(run.length) >= promised else { throw PipelineInput.becameShorter }
            break
        }
        length += UInt64(run.length)
        // mutant: no test can read so much
        guard length < 1 << 63 else { throw VaultError(.tooLarge, "the plaintext reaches 2^63 bytes") }
    }

    /// Fills a part of `bytes`, and returns the count of bytes that were read: less than asked for only at the end.
    private mutating func read(into bytes: inout ByteBuffer, _ range: Range<Int>) throws(VaultError) -> Int {
        let held = early.prefix(range.count)
        bytes.replace(at: range.lowerBound, with: held.span)
        early = early.dropFirst(held.count)
        guard held.count < range.count, !isAtEnd else { return held.count }
        let more = try input.fill(&bytes, range.dropFirst(held.count))
        isAtEnd = held.count + more < range.count
        return held.count + more
    }

    /// What was found out about the plaintext.
    mutating func findings() -> PassingPlaintext.Findings {
        passing.take()?.finish() ?? .none
    }
}

extension PipelineInput {
    static let becameShorter = VaultError(.inputFailed, "it became shorter while it was read")

    /// Reads the chunks that a worker has taken, if they were not read yet.
    func load(_ run: inout ChunkRun) throws {
        guard let place = run.place else { return }
        run.place = nil
        for index in 0..<run.count {
            let part = run.part(index)
            guard !run.isHole else {
                run.bytes.withMutableSpan(of: part) { $0.update(repeating: 0) }
                continue
            }
            guard try fill(&run.bytes, part, at: place + UInt64(index * run.chunkCount)) == part.count else {
                throw Self.becameShorter
            }
        }
    }
}
