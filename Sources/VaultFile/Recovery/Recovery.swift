public import SystemPackage
public import VaultFormat
public import VaultStream

/// Limits on the cost of a recovery, and the header copy that it uses.
public struct RecoveryOptions: Hashable, Sendable {
    /// The offset of the header copy to use; nil for any copy that counts. If it is given, the rest of the file is not
    /// searched.
    public var headerOffset: UInt64?
    /// The greatest sum of passes × memory over all passphrase slots that are tried, in KiB (RECOV-4).
    public var maximumStretchingKiB: UInt64 = 1 << 23
    /// The most bytes that are hashed to check header copies, as a multiple of the file's length (RECOV-4).
    public var maximumHashingFactor: UInt64 = 64
    /// The most bytes of intact header copies that are kept until their slots are tried. Equal copies count once
    /// (RECOV-4).
    public var maximumCandidateBytes = 16 << 20

    /// The limits of the Spec, and any header copy.
    public init() {}
}

/// A header copy that a key opens, found anywhere in the file.
public struct RecoveryHeader: Hashable, Sendable {
    /// Its offset in the file, in bytes. Nil for the header file that the caller gave, if no copy of its body counts.
    public let offset: UInt64?
    /// Its contents.
    public let summary: HeaderSummary
}

/// The result of a recovery.
public struct Recovered: Hashable, Sendable {
    /// The header copy that was used.
    public let header: RecoveryHeader
    /// The manifest. Nil if no manifest agrees with the records: then the end is missing, and the true length is
    /// unknown.
    public let manifest: Manifest?
    /// The count of returned bytes, including zeros in place of lost bytes.
    public let length: UInt64
    /// How many of these bytes are zeros in place of lost bytes.
    public let lostLength: UInt64

    /// Whether the whole plaintext was returned. Recovery authenticates each record, and does not check the SHA-256 of
    /// the whole.
    public var isComplete: Bool { manifest != nil && lostLength == 0 }
}

/// Recovers from a damaged container everything that can still be authenticated (Spec 11). Only an explicit call does
/// this: no reader falls back on it.
///
/// It needs one intact header copy, anywhere in the file, or of a detached container its header file. Everything else may
/// be damaged. Each good record is returned
/// at its place, with zeros in place of the others. If the medium fails at some places (`inputFailed`), only the bytes
/// there are lost.
///
///     let recovery = try Recovery(FileSource(at: path), with: credentials)
///     let result = try recovery.read { piece in try output.write(piece) } onDamage: { damage.append($0) }
///     guard result.isComplete else { … }
public final class Recovery: Sendable {
    private let source: any ByteSource
    private let size: UInt64
    private let limits: OpenLimits
    private let found: [FoundHeader]

    /// Whether the search for header copies ended at a limit, so that the file may hold others.
    public let isSearchCut: Bool

    /// Searches all of the file for header copies, and tries the keys on them. Keys and passphrases are not kept after
    /// this returns.
    ///
    /// - Parameters:
    ///   - source: the damaged container.
    ///   - credentials: the keys, limits on the cost of one header copy (SLOT-20), and the longest plaintext that is
    ///     returned. A header file counts before all copies in the file, unless `options` names one of these (DET-6).
    ///   - options: limits on the cost of the search, and which copy to use.
    ///   - onProgress: called now and then with the count of searched bytes of the file.
    /// - Throws: `VaultError` with `headerDamaged` if there is no header copy, with `wrongKey`, `limitExceeded` or
    ///   `headerForged` if no copy counts; what `onProgress` and the key provider throw; what the source throws, except
    ///   `inputFailed`.
    public init(
        _ source: any ByteSource, with credentials: Credentials,
        options: RecoveryOptions = RecoveryOptions(), onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        self.source = source
        limits = credentials.limits
        // No offset in a container reaches 2⁶³, so no sum of offsets overflows below.
        size = min(try source.size(), UInt64(Int64.max))
        let headerFile =
            options.headerOffset == nil ? try credentials.headerFile.map { try HeaderFile($0.read()) } : nil
        var search = HeaderSearch(source, size: size, options: options)
        if let offset = options.headerOffset {
            try search.search(at: offset)
        } else {
            try search.searchAll(onProgress: onProgress)
        }
        isSearchCut = search.candidates.isCut
        var trials = SlotTrials(
            credentials, maximumStretchingKiB: options.maximumStretchingKiB, limitsAreOfAllCopies: true)
        do {
            let size = size
            found = try trials.openAll(search.candidates, with: headerFile).map {
                try $0.withCapacityOfBody(source, size: size)
            }
        } catch let error as VaultError where search.candidates.isCut {
            throw VaultError(error.code, error.message + "; the search for header copies ended at its limit")
        }
    }

    /// Copies the parts of another value, for an asynchronous initialiser: another thread makes that value.
    init(copying other: Recovery) {
        source = other.source
        size = other.size
        limits = other.limits
        found = other.found
        isSearchCut = other.isSearchCut
    }

    /// One header copy for each container of which a copy counts, at most 64. If there are several, the caller has to
    /// choose, because each leads to different contents.
    public var headers: [RecoveryHeader] { found.map { RecoveryHeader($0) } }

    /// The length of the file in bytes. `read` goes through the whole file.
    public var fileLength: UInt64 { size }

    /// Lends `sink` the plaintext in order, with zeros in place of lost bytes.
    ///
    /// - Parameters:
    ///   - header: one of `headers`; nil if there is only one.
    ///   - jobs: the number of threads that open records, at least 1. More than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. A compressed container is recovered by one thread. The result does not depend
    ///     on it, and the closures are called on the calling thread.
    ///   - sink: takes the plaintext. If `read` throws, the sink has got all good bytes up to that place.
    ///   - onDamage: called with each lost range, before its zeros are lent. Neighbouring lost records are one range.
    ///     If no manifest tells the length, bytes that are lost after the last good record are not reported.
    ///   - onProgress: called now and then with the count of bytes of the file that have been read.
    /// - Returns: the header that was used, and how much of the plaintext was lost.
    /// - Throws: `VaultError` with
    ///   - `copiesDisagree` if there are several headers and `header` is nil;
    ///   - `invalidArgument` for a header that is not one of `headers`, or for `jobs` below 1;
    ///   - `limitExceeded` for a plaintext that is longer, or chunks that are larger, than the limits allow;
    ///   - `memoryUnavailable`.
    ///
    ///   Also what the closures throw, and what the source throws, except `inputFailed`.
    public func read(
        using header: RecoveryHeader? = nil, jobs: Int? = nil, to sink: (Span<UInt8>) throws -> Void,
        onDamage: (Damage) throws -> Void = { _ in }, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Recovered {
        let jobs = try ThreadCount(jobs: jobs)
        let chosen = try choose(header)
        try limits.check(chunkSize: chosen.copy.preamble.chunkSize)
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
        if let stream = chosen.packing {
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
        // Without a manifest it is not known how many bytes are lost at the end.
        if manifest != nil { try output.giveZeros(to: sink, onDamage: onDamage) }
        return Recovered(
            header: RecoveryHeader(chosen), manifest: manifest, length: output.length,
            lostLength: output.lostLength)
    }

    /// Writes the plaintext to `output`, with zeros in place of lost bytes. With `isSparse`, blocks of
    /// zeros become holes, if the output is a regular file.
    ///
    /// - Throws: what `read` throws; `VaultError` with `outputFailed`, and with `invalidArgument` for a regular file
    ///   that has bytes after its offset.
    public func decrypt(
        using header: RecoveryHeader? = nil, jobs: Int? = nil, to output: FileDescriptor, sparse isSparse: Bool = false,
        onDamage: (Damage) throws -> Void = { _ in }, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Recovered {
        let output = try PipelineOutput(output, sparse: isSparse)
        let recovered = try read(
            using: header, jobs: jobs, to: { try output.write($0) }, onDamage: onDamage, onProgress: onProgress)
        try output.finish()
        return recovered
    }

    /// Recovers a packed stream, block by block (RECOV-13). Without a manifest it reads the records twice: an item that
    /// spans a lost record can be read only if the length of the stream is known.
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
            // If there was a walk, it was half of the work.
            try onProgress(walked > 0 ? walked / 2 + place / 2 : place)
        }
        return manifest
    }

    private func choose(_ header: RecoveryHeader?) throws(VaultError) -> FoundHeader {
        if let header {
            guard let chosen = found.first(where: { $0.offset == header.offset }) else {
                throw VaultError(.invalidArgument, "no header that counts was found there")
            }
            return chosen
        }
        guard let only = found.first, found.count == 1 else {
            let offsets = found.compactMap { $0.offset.map { String($0) } }.joined(separator: ", ")
            throw VaultError(
                .copiesDisagree, "headers of \(found.count) containers count, at the bytes \(offsets): choose one"
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

/// The output of a recovery. Lost bytes become zeros when something good follows them, or at the authenticated end.
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
