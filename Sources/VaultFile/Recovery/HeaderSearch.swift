import VaultFormat
import VaultStream

/// Searches a file for intact header copies, in the order of RECOV-1.
struct HeaderSearch {
    /// How many bytes are read at a time, and how many if that fails. The smaller count is a disk sector, and also the
    /// smallest copy, so that no copy is lost to a bad sector beside it.
    private static let stepCount = 1 << 20
    private static let blockCount = 512
    /// The smallest alignment. It divides the place of every copy.
    private static let alignment = 512

    let source: any ByteSource
    let size: UInt64
    private(set) var candidates: HeaderCandidates

    init(_ source: any ByteSource, size: UInt64, options: RecoveryOptions) {
        self.source = source
        self.size = size
        let (hashing, overflow) = size.multipliedReportingOverflow(by: options.maximumHashingFactor)
        candidates = HeaderCandidates(
            hashing: overflow ? .max : hashing, bytes: options.maximumCandidateBytes)
    }

    /// Searches all of the file.
    ///
    /// - Parameter onProgress: called now and then with the count of bytes that have been searched.
    mutating func searchAll(onProgress: (UInt64) throws -> Void) throws {
        let tail = try tailOffset()
        guard try look(at: 0) else { return }
        if let tail, tail != 0 {
            guard try look(at: tail) else { return }
        }
        var buffer: [UInt8] = []
        var start: UInt64 = 0
        while start < size {
            let count = Int(min(size - start, UInt64(Self.stepCount)))
            if try fill(&buffer, count: count, at: start) {
                guard try look(through: buffer, count: count, from: start, except: tail) else { return }
            } else {
                for block in stride(from: 0, to: count, by: Self.blockCount) {
                    let part = min(Self.blockCount, count - block)
                    let place = start + UInt64(block)
                    // mutant: each copy is read again by itself, and fails if it cannot be read
                    guard try fill(&buffer, count: part, at: place) else { continue }
                    guard try look(through: buffer, count: part, from: place, except: tail) else { return }
                }
            }
            start += UInt64(count)
            try onProgress(start)
        }
    }

    /// Looks at the one place that the caller has named (RECOV-6).
    mutating func search(at offset: UInt64) throws {
        guard offset < size else { return }
        let isAnywhere = try offset == 0 || offset == tailOffset()
        _ = try look(at: offset, isAligned: !isAnywhere)
    }

    private func tailOffset() throws -> UInt64? {
        guard size >= Footer.leastContainer else { return nil }
        var footer: [UInt8] = []
        // mutant: bytes that were not read are not a footer
        guard try fill(&footer, count: Footer.count, at: size - UInt64(Footer.count)) else { return nil }
        return ContainerEnds.tailOffset(footer: footer, fileSize: size)
    }

    /// - Returns: whether the search may go on.
    private mutating func look(
        through bytes: [UInt8], count: Int, from start: UInt64, except tail: UInt64?
    ) throws -> Bool {
        for place in stride(from: 0, to: count, by: Self.alignment)
        where bytes[place] == Preamble.magic[0]
            && bytes[place..<min(count, place + Preamble.magic.count)].elementsEqual(Preamble.magic)
        {
            let offset = start + UInt64(place)
            // Each place counts once, and these two were searched first.
            // mutant: equal copies count once in any case; this saves a second reading
            guard offset != 0, offset != tail else { continue }
            guard try look(at: offset, isAligned: true) else { return false }
        }
        return true
    }

    /// - Parameter isAligned: whether the place must be a multiple of the alignment that belongs to the copy's
    ///   capacity.
    /// - Returns: whether the search may go on.
    private mutating func look(at offset: UInt64, isAligned: Bool = false) throws -> Bool {
        var copy: [UInt8] = []
        // mutant: what could not be read is no intact copy
        guard try fill(&copy, count: HeaderCopy.prefixCount, at: offset),
            let capacity = HeaderCopy.claimedCapacity(copy[...]),
            !isAligned || offset.isMultiple(of: capacity.alignment),
            try fill(&copy, count: capacity.bytes, at: offset)
        else { return true }
        return candidates.take(copy, at: offset)
    }

    /// Whether `count` bytes could be read. A place that cannot be read counts as damaged.
    private func fill(_ bytes: inout [UInt8], count: Int, at offset: UInt64) throws -> Bool {
        // mutant: what could not be read is no intact copy
        try source.fill(&bytes, exactly: count, at: offset) == nil
    }
}
