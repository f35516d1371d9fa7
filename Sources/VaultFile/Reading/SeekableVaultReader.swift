public import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream

/// Reads any range of a container whose bytes can be read at any place (Spec 9). Opening it reads the headers, the
/// manifest and the footer. Reading a range reads the records that the range touches.
///
/// Several tasks may call it at once. Each call has its own buffer: what the source calls its `readSize`, which is half a
/// mebibyte for files, or one record if that is more, and no more than the records that it reads. For a compressed container it holds one record, one item and one block, and
/// also reads the index item of their group. Up to four of these buffers stay for the next calls.
///
/// The index of a compressed container says where a range is. The container's maker wrote it, and only a full read
/// shows that it gives the same bytes.
///
///     let reader = try SeekableVaultReader(FileSource(file), with: .key(key))
///     let page = try reader.bytes(1_000_000..<1_004_096)
public final class SeekableVaultReader: Sendable {
    let records: RecordSource
    /// Nil unless the stream is packed.
    private let packed: PackedRanges?

    /// Health, manifest and header. A health other than `intact` was checked by a second reading.
    public let opened: OpenedContainer

    /// Opens a container. Keys and passphrases are not kept after this returns.
    ///
    /// - Throws: `VaultError` with the first check that failed; what the source or the key provider throws.
    public convenience init(_ source: any ByteSource, with credentials: Credentials) throws {
        var trials = SlotTrials(credentials)
        let ends = try SeekableOpening(source, trials: &trials, limits: credentials.limits)
        self.init(source, ends)
    }

    /// Copies the parts of another reader, for an asynchronous initialiser: another thread makes that reader.
    init(copying other: SeekableVaultReader) {
        records = other.records
        packed = other.packed
        opened = other.opened
    }

    package init(_ source: any ByteSource, _ ends: SeekableOpening) {
        records = RecordSource(source: source, layout: ends.opening.layout, opener: ends.opening.opener)
        packed = ends.packing.map { [records] in PackedRanges($0, records) }
        opened = OpenedContainer(
            health: ends.opening.health, manifest: ends.manifest, header: HeaderSummary(ends.opening.current),
            headerFile: ends.opening.headerFile?.summary,
            unexpectedCopy: ends.opening.unexpected.map(HeaderSummary.init))
    }

    var layout: ContainerLayout { records.layout }

    /// The plaintext's length in bytes.
    public var length: UInt64 { opened.manifest.plaintextLength }

    /// Lends `sink` the bytes of a range, piece by piece, in order.
    ///
    /// - Throws: `VaultError` with `rangeInvalid` for a range that is not within the plaintext, `recordDamaged`,
    ///   `truncated` if the source has become shorter, `packingMalformed`; what the source or `sink` throws.
    public func read(_ range: Range<UInt64>, to sink: (Span<UInt8>) throws -> Void) throws {
        try check(range)
        if let packed { return try packed.read(range, to: sink) }
        try readStream(range, to: sink)
    }

    /// Lends a range of the stream that the records hold.
    private func readStream(_ range: Range<UInt64>, to sink: (Span<UInt8>) throws -> Void) throws {
        try PlacedRecords(records, covering: range).open(
            jobs: .one, pass: { try $0.forEachText(in: range) { text, _ in try sink(text) } })
    }

    /// The places of the groups; nil if the stream is not packed.
    var packing: PackedLayout? { packed?.layout }

    func check(_ range: Range<UInt64>) throws(VaultError) {
        guard range.upperBound <= length else {
            throw VaultError(
                .rangeInvalid, "the range \(range.lowerBound)..<\(range.upperBound) does not lie within \(length) bytes"
            )
        }
    }

    /// The bytes of a range, in memory. Even a short range costs the whole records that it touches.
    ///
    /// - Throws: what `read` throws.
    public func bytes(_ range: Range<UInt64>) throws -> [UInt8] {
        var bytes: [UInt8] = []
        // Little memory is reserved before anything is read: a small packed stream can claim any length.
        if range.upperBound <= length { bytes.reserveCapacity(min(range.count, 1 << 20)) }
        try read(range) { bytes.append($0) }
        return bytes
    }

    /// Lends `sink` the whole plaintext in order, and checks everything that can be checked, with the SHA-256 if there
    /// is one. Only after this has returned is it certain that the lent bytes are the whole plaintext.
    ///
    /// - Throws: what `read` throws, and `VaultError` with `contentMismatch`; for a compressed container also with
    ///   `manifestMismatch`.
    public func readAll(to sink: (Span<UInt8>) throws -> Void) throws {
        var digest = opened.manifest.digest == nil ? nil : Optional(records.opener.newDigest())
        try unpackAll {
            digest?.update($0)
            try sink($0)
        }
        try check(digest?.finish())
    }

    /// Goes through the stream from its beginning to its end. Of a packed stream it reads all items, not only those
    /// that the index points to (WHOLE-2 to WHOLE-4).
    private func unpackAll(to sink: (Span<UInt8>) throws -> Void) throws {
        guard let packing else { return try readStream(0..<length, to: sink) }
        var unpacker = try StreamUnpacker(packing.stream)
        try readStream(0..<layout.streamLength) { text in
            try unpacker.take(text) { block, _ in try sink(block) }
        }
        try unpacker.finish().check(
            opened.manifest, streamLength: layout.streamLength, at: layout.manifestOffset)
    }

    /// Compares the SHA-256 of the plaintext with the manifest's, if there is one.
    private func check(_ digest: [UInt8]?) throws(VaultError) {
        guard let digest, let expected = opened.manifest.digest else { return }
        try opened.manifest.check(digest: digest, is: expected, at: layout.manifestOffset)
    }

    /// Decrypts a range, or everything. For everything it also checks what can be checked of the whole, with the
    /// SHA-256.
    ///
    /// - Parameters:
    ///   - range: nil for everything.
    ///   - output: gets the plaintext. An empty regular file without a name is written in any order, because no other
    ///     program can read it before it is complete. Any other output is written in order. A regular file must have no
    ///     bytes after its offset.
    ///   - jobs: the number of threads that do the work, at least 1. More than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - isSparse: whether blocks of 4096 zeros become holes if the output is a regular file. They take no room on the
    ///     disk, and read as zeros. Everything is checked as without it.
    ///   - onProgress: called on the calling thread now and then, with the count of written bytes. Not called again
    ///     after it has thrown.
    /// - Throws: what `read` throws, `VaultError` with `outputFailed`, `invalidArgument` and `contentMismatch`, and
    ///   what `onProgress` throws.
    public func decrypt(
        _ range: Range<UInt64>? = nil, to output: FileDescriptor, jobs: Int? = nil, sparse isSparse: Bool = false,
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        try decrypt(range, to: output, ThreadCount(jobs: jobs), sparse: isSparse, onProgress: onProgress)
    }

    func decrypt(
        _ range: Range<UInt64>?, to output: FileDescriptor, _ jobs: ThreadCount, sparse isSparse: Bool,
        onProgress: (UInt64) throws -> Void
    ) throws {
        let wanted = range ?? 0..<length
        try check(wanted)
        let target = try PipelineOutput(output, sparse: isSparse)
        guard packing == nil else {
            return try decrypt(packed: range, to: target, jobs: jobs, onProgress: onProgress)
        }
        let digest = try PlacedRecords(records, covering: wanted).decrypt(
            wanted, to: target, hashes: range == nil && opened.manifest.digest != nil,
            jobs: jobs, onProgress: onProgress)
        try check(digest?.finish())
    }

    /// Decrypts a packed container in the same way.
    private func decrypt(
        packed range: Range<UInt64>?, to output: PipelineOutput, jobs: ThreadCount,
        onProgress: (UInt64) throws -> Void
    ) throws {
        guard let range else {
            return try unpackAll(to: output, jobs: jobs, onProgress: onProgress)
        }
        var done: UInt64 = 0
        try read(range) { text in
            try output.write(text, at: done)
            done += UInt64(text.count)
            try onProgress(done)
        }
        try output.finish()
    }

    /// Unpacks everything with several threads, and checks everything that can be checked of the whole.
    private func unpackAll(
        to output: PipelineOutput, jobs: ThreadCount, onProgress: (UInt64) throws -> Void
    ) throws {
        guard let packing else { preconditionFailure("only a packed stream is unpacked") }
        let unpacked = try PlacedRecords(records, covering: 0..<layout.streamLength).unpack(
            packing.stream, to: output, hashes: opened.manifest.digest != nil,
            jobs: length <= UInt64(PieceSize.bytes) ? .one : jobs, onProgress: onProgress)
        try unpacked.stream.check(opened.manifest, streamLength: layout.streamLength, at: layout.manifestOffset)
        try check(unpacked.digest?.finish())
    }

    /// Reads and authenticates everything.
    ///
    /// - Parameter jobs: the number of threads that do the work, as for `decrypt`.
    /// - Throws: the error of the first damage, if there is any; `VaultError` with `invalidArgument` for `jobs` below
    ///   1.
    public func verify(jobs: Int? = nil) throws {
        var first: VaultError?
        try verify(jobs: jobs) { damage in first = first ?? damage.error }
        if let first { throw first }
    }

    /// Reads and authenticates every record, also after damaged ones. **Damage is reported to `onDamage` only**: this
    /// returns without an error even if everything is damaged.
    ///
    /// - Parameters:
    ///   - jobs: the number of threads that do the work, as for `decrypt`.
    ///   - onProgress: called on the calling thread now and then, with the count of bytes of plaintext that have been
    ///     checked.
    ///   - onDamage: called on the calling thread for each damaged range, when its end is known. Neighbouring damaged
    ///     records are one range.
    /// - Throws: what `onProgress` and `onDamage` throw; `VaultError` with `invalidArgument` for `jobs` below 1.
    public func verify(
        jobs: Int? = nil, onProgress: (UInt64) throws -> Void = { _ in },
        onDamage: (Damage) throws -> Void
    ) throws {
        let jobs = try ThreadCount(jobs: jobs)
        if let packing { return try verify(packing, jobs: jobs, onProgress: onProgress, onDamage: onDamage) }
        var digest = opened.manifest.digest == nil ? nil : Optional(records.opener.newDigest())
        var current: Damage?
        try PlacedRecords(records, covering: 0..<length).open(
            jobs: jobs, stopsAtFailure: false,
            pass: { piece in
                for record in piece.records {
                    let text = record.place.text
                    if case .failed(let error) = record.state {
                        let failure = try Damage.checked(error)
                        digest = nil
                        let start = current?.plaintextRange?.lowerBound ?? text.lowerBound
                        current = Damage(
                            error: current?.error ?? failure, plaintextRange: start..<text.upperBound)
                    } else {
                        piece.withText(of: record) { digest?.update($0) }
                        if let damage = exchange(&current, with: nil) { try onDamage(damage) }
                    }
                }
            }, onProgress: onProgress)
        if let damage = current { try onDamage(damage) }
        if let expected = opened.manifest.digest, let sum = digest.take()?.finish() {
            do {
                try opened.manifest.check(digest: sum, is: expected, at: layout.manifestOffset)
            } catch {
                try onDamage(Damage(error: error, plaintextRange: nil))
            }
        }
    }

    /// Verifies a packed container. Everything that a full read refuses is damage. The damaged ranges are those that
    /// recovery would lose.
    private func verify(
        _ packing: PackedLayout, jobs: ThreadCount, onProgress: (UInt64) throws -> Void,
        onDamage: (Damage) throws -> Void
    ) throws {
        var done: UInt64 = 0
        var failure: VaultError?
        do {
            try unpackAll(to: try PipelineOutput(nil), jobs: jobs) { count in
                done = count
                try CallerError.marking { try onProgress(count) }
            }
        } catch let caller as CallerError {
            throw caller.error
        } catch {
            failure = try Damage.checked(error)
        }
        guard let failure else { return }
        var (current, isFound, end): (Damage?, Bool, UInt64) = (nil, false, 0)
        var blocks = try BlockSalvage(packing.stream, packing, RecordWindow(records))
        try blocks.read { text in
            try Cancellation.check()
            end += UInt64(text.count)
            if let damage = exchange(&current, with: nil) { try onDamage(damage) }
            try onProgress(max(done, end))
        } onLoss: { count, why in
            let start = current?.plaintextRange?.lowerBound ?? end
            end += count
            current = Damage(error: current?.error ?? why, plaintextRange: start..<end)
            isFound = true
        }
        if let damage = current { try onDamage(damage) }
        if !isFound { try onDamage(Damage(error: failure, plaintextRange: nil)) }
    }
}
