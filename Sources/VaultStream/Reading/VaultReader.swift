package import VaultCrypto
public import VaultFormat

/// What a container turned out to be once it was opened.
public struct OpenedContainer: Hashable, Sendable {
    /// In what state its header copies are. Everything but `intact` wants repair; the plaintext is right all the same.
    public let health: Health
    /// Its manifest.
    public let manifest: Manifest
    /// Its current header: of two valid copies that of the higher generation. A streaming reader gives the front, the
    /// one that it opened.
    public let header: HeaderSummary

    package init(health: Health, manifest: Manifest, header: HeaderSummary) {
        self.health = health
        self.manifest = manifest
        self.header = header
    }
}

/// Reads a container as its bytes come, in order, from a file, a pipe or memory (Spec 8). Holds one
/// record.
///
/// Plaintext is lent to `sink` once it is authenticated. That a container is complete shows at its end only: what was
/// lent may be trusted as the whole only after `finish` has returned.
///
///     var reader = VaultReader(keys: KeySet(keys: [key]))
///     try reader.push(container.span) { plaintext.append(copying: $0) }
///     let opened = try reader.finish()
/// A file is better read by a `SeekableVaultReader`: it opens with either header copy damaged, and looks twice where a
/// rotation may be under way.
public struct VaultReader: ~Copyable, Sendable {
    private enum Phase {
        /// The bytes that tell how long the header is.
        case prefix
        /// All of the front header copy.
        case header
        case recordHead
        case record(RecordHead)
        case zeros, tail, footer
        case end(OpenedContainer)
    }

    /// What the header led to.
    private struct Opened {
        let copy: HeaderCopy
        let schedule: KeySchedule
        let cipher: RecordCipher
    }

    /// The caller's secrets, until the header is open.
    private var trials: SlotTrials?
    private let limits: OpenLimits
    private var phase = Phase.prefix
    private var failure: (any Error)?
    /// The structure that is being read, as far as it has come, and how long it is.
    private var buffer: [UInt8] = []
    private var wanted = HeaderCopy.prefixCount
    /// Where in the container `buffer` begins.
    private var offset: UInt64 = 0

    private var opened: Opened?
    private var index: UInt64 = 0
    /// Of the stream that the data records hold, as far as it was read.
    private var length: UInt64 = 0
    /// Where the records hold a packed stream.
    private var unpacker: StreamUnpacker?
    private var sawShortRecord = false
    /// From the header on.
    private var digest: SHA256?
    private var manifest: Manifest?
    /// M, once the manifest is accepted.
    package private(set) var manifestLength: Int?
    private var health = Health.intact

    /// A reader that has read nothing yet.
    public init(keys: any KeyProvider, context: Context = .none, limits: OpenLimits = .standard) {
        trials = SlotTrials(keys: keys, context: context, limits: limits)
        self.limits = limits
    }

    /// A reader that tries the secrets of an opening that goes on beside it.
    package init(trials: SlotTrials, limits: OpenLimits) {
        self.trials = trials
        self.limits = limits
    }

    /// Where everything stands, once the manifest is accepted.
    package var layout: ContainerLayout? {
        // mutant: nobody asks before
        guard let opened, manifest != nil else { return nil }
        return try? layout(opened)
    }

    /// The header, once a key has opened it.
    public var header: HeaderSummary? { opened.map { HeaderSummary($0.copy) } }

    /// Takes the next bytes of the container, any number, and lends `sink` the plaintext that they complete.
    ///
    /// - Throws: `VaultError` with the check that failed; what the key provider or `sink` throws. After an error the
    ///   reader is dead: it throws the same again.
    public mutating func push(_ container: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        try take(container, endsAtManifest: false, to: sink)
    }

    /// Takes the next bytes up to the manifest and gives nothing out: what stands behind it is not looked at.
    package mutating func pushToManifest(_ container: Span<UInt8>) throws {
        try take(container, endsAtManifest: true) { _ in }
    }

    private mutating func take(
        _ container: Span<UInt8>, endsAtManifest: Bool, to sink: (Span<UInt8>) throws -> Void
    ) throws {
        if let failure { throw failure }
        do {
            var taken = 0
            while taken < container.count, !(endsAtManifest && manifest != nil) {
                let count = min(wanted - buffer.count, container.count - taken)
                buffer.append(container.extracting(taken..<taken + count))
                taken += count
                // The next structure may be complete at once: there may be no zeros.
                while buffer.count == wanted, !(endsAtManifest && manifest != nil) { try step(to: sink) }
            }
        } catch {
            failure = error
            throw error
        }
    }

    /// Says that the container ends here.
    ///
    /// - Returns: what was opened. Only now the plaintext is known to be whole.
    /// - Throws: `VaultError` with `truncated` or `notVaultfile`, or what failed before.
    public consuming func finish() throws -> OpenedContainer {
        if let failure { throw failure }
        switch phase {
        case .end(let opened):
            return opened
        case .prefix:
            guard Preamble.magic.starts(with: buffer.prefix(8)) else {
                throw Self.notVaultfile
            }
            fallthrough
        default:
            throw VaultError(
                .truncated, "the container ends after \(offset + UInt64(buffer.count)) bytes, before it is complete",
                offset: offset)
        }
    }

    private static let notVaultfile = VaultError(.notVaultfile, "it does not begin like a vaultfile", offset: 0)

    /// Deals with a structure that is complete.
    private mutating func step(to sink: (Span<UInt8>) throws -> Void) throws {
        switch phase {
        case .prefix: try takePrefix()
        case .header: try takeHeader()
        case .recordHead: try takeRecordHead()
        case .record(let head): try takeRecord(head, to: sink)
        case .zeros: try takeZeros()
        case .tail: try takeTail()
        case .footer: try takeFooter()
        case .end: throw VaultError(.trailingData, "there is something behind the container's end", offset: offset)
        }
    }

    private mutating func expect(_ next: Phase, count: Int) {
        offset += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
        phase = next
        wanted = count
    }

    // MARK: Header (STR-2 to STR-8)

    private mutating func takePrefix() throws(VaultError) {
        guard buffer.starts(with: Preamble.magic) else { throw Self.notVaultfile }
        guard let capacity = HeaderCopy.claimedCapacity(buffer[...]) else {
            throw VaultError(.headerDamaged, "the header's capacity is not a power of two from 2^9 to 2^20", offset: 0)
        }
        phase = .header
        wanted = capacity.bytes
    }

    private mutating func takeHeader() throws {
        guard KeySchedule.isIntact(buffer) else {
            throw VaultError(.headerDamaged, "the front header copy is damaged", offset: 0)
        }
        let copy = try HeaderCopy(parsing: buffer)
        // Nothing is released, not even an empty beginning, before the header is known to be a holder's.
        guard let result = try trials?.open([copy]) else {
            // Nobody comes here twice: what follows is another state.
            throw VaultError(.headerDamaged, "the header was read before")
        }
        trials = nil
        let cipher = try RecordCipher(result.schedule, preamble: copy.preamble, capacity: copy.capacity)
        opened = Opened(copy: copy, schedule: result.schedule, cipher: cipher)
        digest = cipher.newDigest()
        if let packing = PackedStream(copy) { unpacker = try StreamUnpacker(packing) }
        expect(.recordHead, count: RecordHead.count)
    }

    private func openedHeader() throws(VaultError) -> Opened {
        guard let opened else { throw VaultError(.headerDamaged, "no header was read") }
        return opened
    }

    // MARK: Records (STR-9 to STR-12)

    private mutating func takeRecordHead() throws {
        let head = try recordHead(buffer[...])
        phase = .record(head)
        wanted = RecordHead.overhead + head.length
    }

    private func recordHead(_ bytes: ArraySlice<UInt8>) throws(VaultError) -> RecordHead {
        let chunk = try openedHeader().copy.preamble.chunkSize.bytes
        // The length is in range before anything of that length is asked for.
        guard let head = RecordHead(parsing: bytes) else {
            throw damaged("the record is of no known type")
        }
        switch head.kind {
        case .data:
            guard (1...chunk).contains(head.length) else { throw damaged("the record's length is out of range") }
            guard !sawShortRecord else { throw damaged("there is a data record behind a short one") }
        case .manifest:
            guard Manifest.isValidLength(head.length) else { throw damaged("the manifest's length is out of range") }
        }
        return head
    }

    /// What it takes to open data records outside of this reader; nil before the header is open.
    package var records: (chunkSize: ChunkSize, cipher: RecordCipher, packing: PackedStream?)? {
        opened.map { ($0.copy.preamble.chunkSize, $0.cipher, PackedStream($0.copy)) }
    }

    /// How many bytes it wants next.
    package var missingCount: Int { wanted - buffer.count }

    /// The length of the data record whose first 4 bytes these are, where the next record has to begin; nil for the
    /// manifest's. For one who opens data records himself and then passes them over.
    package func dataLength(_ head: ArraySlice<UInt8>) throws(VaultError) -> Int? {
        let head = try recordHead(head)
        return head.kind == .data ? head.length : nil
    }

    /// Goes on behind a data record that somebody else opens.
    ///
    /// - Returns: the record's index, its place in the container, and that of its text in the stream.
    package mutating func passOver(dataRecord count: Int) -> (index: UInt64, offset: UInt64, text: Range<UInt64>) {
        let record = (index, offset, length..<length + UInt64(count))
        length += UInt64(count)
        sawShortRecord = count < (opened?.copy.preamble.chunkSize.bytes ?? 0)
        index += 1
        offset += UInt64(count + RecordHead.overhead)
        return record
    }

    /// Takes what came of the records that were passed over, in place of its own: the SHA-256 of the plaintext, and
    /// where they held a packed stream what that unpacked to.
    package mutating func take(digest: consuming SHA256?, _ unpacked: UnpackedStream?) {
        self.digest = digest
        if let unpacked { unpacker?.take(unpacked) }
    }

    private func damaged(_ check: String) -> VaultError {
        VaultError(.recordDamaged, check, offset: offset, record: index)
    }

    private mutating func takeRecord(_ head: RecordHead, to sink: (Span<UInt8>) throws -> Void) throws {
        let header = try openedHeader()
        let (cipher, preamble) = (header.cipher, header.copy.preamble)
        switch head.kind {
        case .data:
            // Taken out of the reader while it is lent, and put back to be filled again.
            var record = exchange(&buffer, with: [])
            try record.withMutableSpan(of: 0..<wanted) { [index, offset] record throws(VaultError) in
                try cipher.openData(&record, index: index, offset: offset)
            }
            length += UInt64(head.length)
            try release(record.span.extracting(RecordHead.count..<RecordHead.count + head.length), to: sink)
            buffer = exchange(&record, with: [])
            sawShortRecord = head.length < preamble.chunkSize.bytes
            index += 1
            expect(.recordHead, count: RecordHead.count)
        case .manifest:
            let manifest = try buffer.withMutableSpan(of: 0..<wanted) { [index, offset] record throws(VaultError) in
                try cipher.openManifest(&record, index: index, offset: offset, preamble: preamble)
            }
            try takeManifest(manifest, length: head.length, header: header)
        }
    }

    /// Lends what the next bytes of the stream complete: themselves, or the blocks that they unpack to.
    private mutating func release(_ text: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        // Taken out of the reader while it is used.
        guard var unpacker = unpacker.take() else {
            return try release(text, end: length, to: sink)
        }
        try unpacker.take(text) { try release($0, end: $1, to: sink) }
        self.unpacker = consume unpacker
    }

    private mutating func release(
        _ plaintext: Span<UInt8>, end: UInt64, to sink: (Span<UInt8>) throws -> Void
    ) throws {
        try limits.check(plaintextLength: end)
        digest?.update(plaintext)
        try sink(plaintext)
    }

    // MARK: Manifest and end (STR-13 to STR-29)

    private mutating func takeManifest(_ manifest: Manifest, length manifestLength: Int, header: Opened) throws {
        if let unpacker = unpacker.take() {
            try unpacker.check(manifest, streamLength: length, at: offset)
        } else {
            try manifest.check(streamLength: length, at: offset)
        }
        let digest = digest.take()?.finish()
        if let expected = manifest.digest {
            // mutant: it is there from the header on; should it ever not be, nothing is to pass for checked
            guard let digest else { throw VaultError(.contentMismatch, "the SHA-256 was not computed", offset: offset) }
            try manifest.check(digest: digest, is: expected, at: offset)
        }
        self.manifest = manifest
        self.manifestLength = manifestLength
        expect(.zeros, count: try layout(header).paddingCount(manifestLength: manifestLength))
    }

    private func layout(_ header: Opened) throws(VaultError) -> ContainerLayout {
        try ContainerLayout(
            capacity: header.copy.capacity, chunkSize: header.copy.preamble.chunkSize, streamLength: length)
    }

    private mutating func takeZeros() throws {
        guard buffer[...].isAllZero else {
            throw VaultError(
                .paddingNotZero, "a byte between the manifest and the tail header is not zero", offset: offset)
        }
        expect(.tail, count: try openedHeader().copy.capacity.bytes)
    }

    private mutating func takeTail() throws {
        let header = try openedHeader()
        if buffer != header.copy.bytes { health = try healthOfTail(header) }
        expect(.footer, count: Footer.count)
    }

    /// STR-22 to STR-27.
    private func healthOfTail(_ header: Opened) throws(VaultError) -> Health {
        // It is judged by the bytes in its place alone, by its own capacity field, like every copy.
        let claimed = HeaderCopy.claimedCapacity(buffer[...])?.bytes ?? 0
        guard KeySchedule.isIntact([UInt8](buffer.prefix(claimed))) else {
            return .tailDamaged
        }
        guard buffer.prefix(HeaderCopy.commonCount) == header.copy.bytes.prefix(HeaderCopy.commonCount) else {
            throw VaultError(.copiesDisagree, "the two header copies are not of one container", offset: offset)
        }
        let tail: HeaderCopy
        do {
            tail = try HeaderCopy(parsing: buffer)
        } catch {
            throw error.at(offset)
        }
        guard header.schedule.isValid(tail) else { return .tailDamaged }
        return Health(front: header.copy, tail: tail)
    }

    private mutating func takeFooter() throws {
        let header = try openedHeader()
        guard let manifest, let manifestLength,
            try layout(header).footer(manifestLength: manifestLength).bytes == buffer
        else {
            throw VaultError(.footerDamaged, "the footer is not the one that belongs to this container", offset: offset)
        }
        let opened = OpenedContainer(health: health, manifest: manifest, header: HeaderSummary(header.copy))
        expect(.end(opened), count: 1)
    }
}

extension Manifest {
    /// The plaintext's SHA-256 against the one that the manifest holds.
    package func check(digest: [UInt8], is expected: [UInt8], at offset: UInt64) throws(VaultError) {
        guard digest == expected else {
            throw VaultError(.contentMismatch, "the plaintext's SHA-256 is not the manifest's", offset: offset)
        }
    }
}
