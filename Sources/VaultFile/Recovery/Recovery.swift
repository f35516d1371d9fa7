public import VaultFormat
public import VaultStream

/// What a recovery may cost, and which header copy it is to use.
public struct RecoveryOptions: Hashable, Sendable {
    /// Where the header copy stands that is to be used; nil for any that counts. The one named is the only candidate,
    /// and nothing else is looked at.
    public var headerOffset: UInt64?
    /// What one header copy may cost (SLOT-17), and the longest plaintext that is given out.
    public var limits = OpenLimits.standard
    /// The most that passes × memory may sum up to over all passphrase slots that are tried, in KiB (RECOV-4).
    public var maximumStretchingKiB: UInt64 = 1 << 23
    /// How many times the file's length may be hashed to judge header copies (RECOV-4).
    public var maximumHashingFactor: UInt64 = 64
    /// How many bytes of intact header copies are kept until their slots are tried; equal copies count once (RECOV-4).
    public var maximumCandidateBytes = 16 << 20

    /// The limits of the Spec, and any header copy.
    public init() {}
}

/// A header copy that a key opens, wherever in the file it was found.
public struct RecoveryHeader: Hashable, Sendable {
    /// Where it stands, in bytes.
    public let offset: UInt64
    /// What it says.
    public let summary: HeaderSummary
}

/// What recovery gave out.
public struct Recovered: Hashable, Sendable {
    /// The header copy that was used.
    public let header: RecoveryHeader
    /// What the container says of its contents. Nil where no manifest was found that agrees with the records: then the
    /// end is missing, and the length is no more than what was found.
    public let manifest: Manifest?
    /// How many bytes were given out, zeros in the place of lost ones included.
    public let length: UInt64
    /// How many of them are zeros in the place of lost ones.
    public let lostLength: UInt64

    /// Whether everything that was put into the container was given out. That it is unchanged as a whole is more than
    /// recovery says: it authenticates record by record, and checks no SHA-256.
    public var isComplete: Bool { manifest != nil && lostLength == 0 }
}

/// Gets out of a damaged container what can be authenticated (Spec 11). An operation of its own: no reader falls back
/// on it.
///
/// Everything may be damaged but one header copy, wherever in the file it stands. Each record that is good is given out
/// at its place, and zeros in the place of the others. A medium that fails in single places, by `inputFailed`, has lost
/// what stands there and no more.
///
///     let recovery = try Recovery(FileSource(at: path), keys: keys)
///     let result = try recovery.read { plaintext.append(copying: $0) } onDamage: { damage.append($0) }
///     guard result.isComplete else { … }
public final class Recovery: Sendable {
    private let source: any ByteSource
    private let size: UInt64
    private let limits: OpenLimits
    private let found: [FoundHeader]

    /// Whether the search for header copies ended at a limit, so that there may be others.
    public let isSearchCut: Bool

    /// Looks for header copies in all of the file, and tries the keys on them. Keys and passphrases are let go of
    /// before this returns.
    ///
    /// - Parameters:
    ///   - onProgress: called now and then with the bytes of the file that have been looked at.
    /// - Throws: `VaultError` with `headerDamaged` if there is no header copy, with `wrongKey`, `limitExceeded` or
    ///   `headerForged` if none of them counts; what `onProgress`, the key provider and, but for `inputFailed`, the
    ///   source throw.
    public init(
        _ source: any ByteSource, keys: any KeyProvider, context: Context = .none,
        options: RecoveryOptions = RecoveryOptions(), onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        self.source = source
        limits = options.limits
        // No offset in a container reaches 2⁶³, so that none can overflow below.
        size = min(try source.size(), UInt64(Int64.max))
        var search = HeaderSearch(source, size: size, options: options)
        if let offset = options.headerOffset {
            try search.search(at: offset)
        } else {
            try search.searchAll(onProgress: onProgress)
        }
        isSearchCut = search.candidates.isCut
        var trials = SlotTrials(
            keys: keys, context: context, limits: options.limits, maximumStretchingKiB: options.maximumStretchingKiB)
        do {
            found = try trials.openAll(search.candidates)
        } catch let error as VaultError where search.candidates.isCut {
            throw VaultError(error.code, error.message + "; the search for header copies ended at its limit")
        }
    }

    /// The same, for an initialiser that waits for another thread to make it.
    init(copying other: Recovery) {
        source = other.source
        size = other.size
        limits = other.limits
        found = other.found
        isSearchCut = other.isSearchCut
    }

    /// One header copy of each container of which one counts, 64 at most. More than one means that the caller has to
    /// choose: each leads to other contents.
    public var headers: [RecoveryHeader] { found.map { RecoveryHeader($0) } }

    /// The length of the file, and of what `read` goes through.
    public var fileLength: UInt64 { size }

    /// Lends `sink` the plaintext in order, zeros in the place of what is lost.
    ///
    /// - Parameters:
    ///   - header: which of `headers` to use; nil where there is only one.
    ///   - jobs: how many threads open the records of what is not compressed. What comes out does not depend on it. The
    ///     closures are called on the calling thread.
    ///   - sink: takes the plaintext. What it was lent is all that there is, also where this throws.
    ///   - onDamage: called with each range that is lost, before its zeros are lent. Neighbouring records are one
    ///     range. What is lost behind the last good record is not given out, and not reported, where no manifest says
    ///     how much
    ///     it is.
    ///   - onProgress: called now and then with the bytes of the file that have been looked at.
    /// - Throws: `VaultError` with `copiesDisagree` if there is a choice and none was made, `invalidArgument` for a
    ///   header that is not one of `headers`, `limitExceeded` for a plaintext that is longer than the limits allow;
    ///   what the closures and, but for `inputFailed`, the source throw.
    public func read(
        using header: RecoveryHeader? = nil, jobs: Int = Vault.processorCount, to sink: (Span<UInt8>) throws -> Void,
        onDamage: (Damage) throws -> Void = { _ in }, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Recovered {
        let chosen = try choose(header)
        var salvage = RecordSalvage(source, size: size, header: chosen)
        var output = RecoveryOutput(limits: limits)
        func take(_ feed: some RecordFeed) throws {
            try feed.open(
                jobs: jobs, stopsAtFailure: false,
                pass: { piece in
                    for record in piece.records {
                        if case .failed(let error) = record.state {
                            output.lose(UInt64(record.place.text.count), try Damage.checked(error))
                        } else {
                            try piece.withText(of: record) { try output.give($0, to: sink, onDamage: onDamage) }
                        }
                    }
                    if let last = piece.records.last { try onProgress(last.place.end) }
                })
        }
        let manifest: Manifest?
        if let stream = PackedStream(chosen.copy) {
            manifest = try readBlocks(stream, &salvage, &output, to: sink, onDamage, onProgress)
        } else if let (layout, footed) = try salvage.manifestByFooter() {
            manifest = footed
            try limits.check(plaintextLength: footed.plaintextLength)
            let records = RecordSource(source: source, layout: layout, opener: salvage.opener)
            try take(PlacedRecords(records, covering: 0..<layout.streamLength))
        } else {
            let records = WalkedRecords(salvage, chunkSize: chosen.copy.preamble.chunkSize)
            try take(records)
            manifest = records.manifest
        }
        // Without a manifest nobody knows how much of what is lost at the end was ever there.
        if manifest != nil { try output.giveZeros(to: sink, onDamage: onDamage) }
        return Recovered(
            header: RecoveryHeader(chosen), manifest: manifest, length: output.length,
            lostLength: output.lostLength)
    }

    /// The same of a packed stream, block by block (RECOV-13). Without a manifest the records are gone through twice:
    /// how long the stream is has to be known before an item can be read that lies across a lost one.
    private func readBlocks(
        _ stream: PackedStream, _ salvage: inout RecordSalvage, _ output: inout RecoveryOutput,
        to sink: (Span<UInt8>) throws -> Void, _ onDamage: (Damage) throws -> Void,
        _ onProgress: (UInt64) throws -> Void
    ) throws -> Manifest? {
        let (layout, manifest, walked): (ContainerLayout, Manifest?, UInt64)
        if let (footed, found) = try salvage.manifestByFooter() {
            (layout, manifest, walked) = (footed, found, 0)
        } else {
            var length: UInt64 = 0
            while let record = try salvage.next(at: 0) {
                length = record.place.text.upperBound
                try onProgress(record.place.end / 2)
            }
            manifest = salvage.manifestAtEnd
            layout = try ContainerLayout(
                capacity: stream.capacity, chunkSize: stream.chunkSize, streamLength: length)
            walked = size
        }
        if let manifest { try limits.check(plaintextLength: manifest.plaintextLength) }
        let records = RecordWindow(RecordSource(source: source, layout: layout, opener: salvage.opener))
        var blocks = try BlockSalvage(stream, manifest?.packing(layout), records)
        try blocks.read {
            try output.give($0, to: sink, onDamage: onDamage)
        } onLoss: { count, why in
            output.lose(count, why)
        } onPlace: { place in
            // Half of the work was the walk, where there was one.
            try onProgress(walked > 0 ? walked / 2 + place / 2 : place)
        }
        return manifest
    }

    private func choose(_ header: RecoveryHeader?) throws(VaultError) -> FoundHeader {
        if let header {
            guard let chosen = found.first(where: { $0.offset == header.offset }) else {
                throw VaultError(.invalidArgument, "no header at byte \(header.offset) was found to count")
            }
            return chosen
        }
        guard let only = found.first, found.count == 1 else {
            let offsets = found.map { String($0.offset) }.joined(separator: ", ")
            throw VaultError(
                .copiesDisagree, "headers of \(found.count) containers count, at the bytes \(offsets): name one of them"
            )
        }
        return only
    }
}

extension RecoveryHeader {
    init(_ found: FoundHeader) {
        self.init(offset: found.offset, summary: HeaderSummary(found.copy))
    }
}

/// What is given out: what is lost becomes zeros once something good follows it, or at the authenticated end.
private struct RecoveryOutput {
    private static let zeros = [UInt8](repeating: 0, count: 1 << 16)

    let limits: OpenLimits
    private(set) var length: UInt64 = 0
    private(set) var lostLength: UInt64 = 0
    private var pending: UInt64 = 0
    private var why: VaultError?

    init(limits: OpenLimits) {
        self.limits = limits
    }

    mutating func lose(_ count: UInt64, _ error: VaultError) {
        pending += count
        if why == nil { why = error }
    }

    mutating func give(
        _ text: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void, onDamage: (Damage) throws -> Void
    ) throws {
        try limits.check(plaintextLength: length + pending + UInt64(text.count))
        try giveZeros(to: sink, onDamage: onDamage)
        try sink(text)
        length += UInt64(text.count)
    }

    mutating func giveZeros(
        to sink: (Span<UInt8>) throws -> Void, onDamage: (Damage) throws -> Void
    ) throws {
        guard let why else { return }
        try onDamage(Damage(error: why, plaintextRange: length..<length + pending))
        while pending > 0 {
            let count = min(pending, UInt64(Self.zeros.count))
            try sink(Self.zeros.span.extracting(0..<Int(count)))
            length += count
            lostLength += count
            pending -= count
        }
        self.why = nil
    }
}
