import Synchronization
import VaultCrypto
import VaultFormat
import VaultStream

/// Finds the records of a container in a file that may be damaged anywhere (RECOV-7 to RECOV-11). Holds one record.
struct RecordSalvage: ~Copyable {
    private let source: any ByteSource
    private let size: UInt64
    private let header: FoundHeader
    private var preamble: Preamble { header.copy.preamble }
    /// Opens each record as if its head were the one that belongs in its place (RECOV-9).
    let opener: RecordOpener
    /// The current record.
    private(set) var record = ByteBuffer()
    /// The number of the walk's next record.
    private var index: UInt64 = 0
    private var offset: UInt64
    private var sawShortRecord = false
    private var isOver = false
    /// The manifest at the end of the walk, if it agrees with the records.
    private(set) var manifestAtEnd: Manifest?

    init(_ source: any ByteSource, size: UInt64, header: FoundHeader) {
        self.source = source
        self.size = size
        self.header = header
        opener = header.opener.restoringHeads
        offset = UInt64(header.capacity.bytes)
    }

    // MARK: With a manifest

    /// The manifest that the footer leads to, and the geometry, if the two agree (RECOV-7).
    mutating func manifestByFooter() throws -> (ContainerLayout, Manifest)? {
        // mutant: a file with a header copy has room for a footer
        guard size >= Footer.leastContainer else { return nil }
        var bytes: [UInt8] = []
        // mutant: bytes that were not read are not a footer, and another capacity leads to no manifest
        guard try source.fill(&bytes, exactly: Footer.count, at: size - UInt64(Footer.count)) == nil,
            let footer = try? Footer(parsing: bytes, fileSize: size), footer.capacity == header.capacity,
            let layout = ContainerLayout(
                capacity: header.capacity, chunkSize: preamble.chunkSize,
                manifestOffset: footer.manifestOffset)
        else { return nil }
        guard case .agrees(let manifest) = try manifest(of: layout, length: footer.manifestLength) else { return nil }
        return (layout, manifest)
    }

    private enum FoundManifest {
        /// The bytes there do not decrypt as a manifest.
        case none
        /// The manifest decrypts but is not used: its form is wrong, or its lengths do not fit its place.
        case disagrees
        case agrees(Manifest)
    }

    private mutating func manifest(of layout: ContainerLayout, length: Int) throws -> FoundManifest {
        let (offset, count) = (layout.manifestOffset, length + RecordHead.overhead)
        // mutant: bytes that were not read do not authenticate
        guard try read(count, at: offset) == nil else { return .none }
        let (index, preamble, opener) = (layout.recordCount, preamble, opener)
        do {
            let manifest = try record.withMutableSpan(of: 0..<count) { record throws(VaultError) in
                try opener.openManifest(&record, index: index, offset: offset, preamble: preamble)
            }
            // Without this check, a holder of the key could make a small file that recovers to 2⁶³ zeros.
            guard manifest.streamLength == layout.streamLength else { return .disagrees }
            _ = try manifest.packing(layout)
            return .agrees(manifest)
        } catch {
            return error.code == .recordDamaged ? .none : .disagrees
        }
    }

    // MARK: Without a copy of the body

    /// Whether record 0 decrypts, as a data or manifest record, where the walk begins (DET-6).
    mutating func opensFirst() throws -> Bool {
        guard offset < size else { return false }
        let (rest, chunk) = (size - offset, preamble.chunkSize.bytes)
        let head = try readHead(at: offset)
        switch head?.kind {
        case .manifest?:
            let length = head?.length ?? 0
            if Manifest.isValidLength(length) {
                if case .none = try manifestOfWalk(at: offset, length: length, rest: rest) { break }
                return true
            }
        case .data?:
            let length = head?.length ?? 0
            if (1...chunk).contains(length), UInt64(length + RecordHead.overhead) <= rest,
                try open(length, isLoaded: false)
            {
                return true
            }
        case nil: break
        }
        guard UInt64(chunk + RecordHead.overhead) <= rest else { return false }
        return try open(chunk, isLoaded: false)
    }

    // MARK: Without a manifest

    /// The next record of the walk from record to record (RECOV-10), which is then in `record`. It is opened if the
    /// walk had to open it to find out its length, otherwise sealed or failed.
    ///
    /// The walk accepts the same records as RECOV-9 does with the geometry of a manifest at its end. So plaintext that
    /// is not packed needs no second reading. For a packed stream, the walk gives the length of the stream.
    ///
    /// - Parameter start: the record's place in the caller's memory.
    /// - Returns: nil at the end.
    mutating func next(at start: Int) throws -> HeldRecord? {
        // mutant: after the end, another call ends in the same way
        guard !isOver, offset < size else { return nil }
        let chunk = preamble.chunkSize.bytes
        let full = preamble.chunkSize.recordBytes
        let rest = size - offset
        // Usually one read is enough.
        let most = Int(min(UInt64(full), rest))
        var failure = try read(most, at: offset)
        let head = failure == nil ? head(most) : try readHead(at: offset)
        // An attempt that fails leaves zeros in the buffer.
        var isLoaded = failure == nil
        if case .manifest? = head?.kind, let length = head?.length, Manifest.isValidLength(length) {
            isLoaded = false
            switch try manifestOfWalk(at: offset, length: length, rest: rest) {
            case .agrees(let manifest):
                manifestAtEnd = manifest
                isOver = true
                return nil
            case .disagrees: isOver = true
            case .none: break
            }
        }
        if sawShortRecord { isOver = true }
        guard !isOver else { return nil }
        if case .data? = head?.kind, let length = head?.length, (1..<chunk).contains(length),
            UInt64(length + RecordHead.overhead) <= rest
        {
            if try open(length, isLoaded: isLoaded) {
                sawShortRecord = true
                return step(over: length, at: start, .opened)
            }
            isLoaded = false
        }
        // mutant: a cut record is lost, and the last one is not returned (RECOV-11)
        guard UInt64(full) <= rest else {
            isOver = true
            return nil
        }
        // If it could not be read as a whole, the medium is not read again.
        if failure == nil, !isLoaded { failure = try read(full, at: offset) }
        return step(over: chunk, at: start, failure.map { .failed($0) } ?? .sealed)
    }

    /// The place of a record with `count` bytes of text, if it begins where the walk is.
    private func place(holding count: Int) -> RecordPlace {
        let text = index * UInt64(preamble.chunkSize.bytes)
        return RecordPlace(index: index, offset: offset, text: text..<text + UInt64(count))
    }

    /// Moves on to the next record.
    private mutating func step(over count: Int, at start: Int, _ state: HeldRecord.State) -> HeldRecord {
        var record = HeldRecord(place: place(holding: count), start: start, state: state)
        if case .failed(let error as VaultError) = state { record.state = .failed(record.failure(error)) }
        index += 1
        offset = record.place.end
        return record
    }

    private mutating func readHead(at offset: UInt64) throws -> RecordHead? {
        try read(min(RecordHead.count, Int(clamping: size - offset)), at: offset) == nil
            ? head(Int(clamping: size - offset)) : nil
    }

    private func head(_ available: Int) -> RecordHead? {
        available < RecordHead.count ? nil : RecordHead(parsing: record.copy(of: 0..<RecordHead.count)[...])
    }

    private mutating func manifestOfWalk(at offset: UInt64, length: Int, rest: UInt64) throws -> FoundManifest {
        // mutant: a cut record does not decrypt either
        guard UInt64(length + RecordHead.overhead) <= rest,
            let layout = ContainerLayout(
                capacity: header.capacity, chunkSize: preamble.chunkSize, manifestOffset: offset)
        else { return .none }
        return try manifest(of: layout, length: length)
    }

    /// Whether a record with `count` bytes of text opens at the walk's place.
    ///
    /// - Parameter isLoaded: whether the record is in the buffer already.
    private mutating func open(_ count: Int, isLoaded: Bool) throws -> Bool {
        let (place, opener) = (place(holding: count), opener)
        // mutant: another reading gives the same bytes; this saves it
        if !isLoaded, try read(place.count, at: offset) != nil { return false }
        do {
            try record.withMutableSpan(of: 0..<place.count) { record throws(VaultError) in
                try opener.open(&record, at: place)
            }
            return true
        } catch {
            return false
        }
    }

    private mutating func read(_ count: Int, at offset: UInt64) throws -> VaultError? {
        try source.fill(&record, exactly: count, at: offset)
    }
}

/// The records of a walk. One thread at a time takes some: the place of the next record is known when the one before it
/// has been looked at.
final class WalkedRecords: RecordFeed {
    private let salvage: Mutex<RecordSalvage>
    private let chunkSize: ChunkSize
    let opener: RecordOpener

    init(_ salvage: consuming RecordSalvage, chunkSize: ChunkSize) {
        opener = salvage.opener
        self.salvage = Mutex(salvage)
        self.chunkSize = chunkSize
    }

    var pieceCount: Int { PieceSize.chunks(of: chunkSize) * chunkSize.recordBytes }

    func take(_ records: inout [HeldRecord], into bytes: inout ByteBuffer) throws {
        try salvage.withLock { salvage in
            while records.count < PieceSize.chunks(of: chunkSize),
                let record = try salvage.next(at: records.last?.part.upperBound ?? 0)
            {
                salvage.record.withSpan(of: 0..<record.part.count) { bytes.replace(at: record.start, with: $0) }
                records.append(record)
            }
        }
    }

    /// The manifest at the end of the walk, once everything is taken.
    var manifest: Manifest? { salvage.withLock { $0.manifestAtEnd } }
}

extension FoundHeader {
    /// The same header with the capacity of the body's copies, if it is a header file and no copy of its body counts: the
    /// one that the footer states, else the least at which record 0 decrypts, else its own (DET-6).
    func withCapacityOfBody(_ source: any ByteSource, size: UInt64) throws -> FoundHeader {
        guard offset == nil else { return self }
        var found = self
        if size >= Footer.leastContainer {
            var bytes: [UInt8] = []
            if try source.fill(&bytes, exactly: Footer.count, at: size - UInt64(Footer.count)) == nil,
                let footer = try? Footer(parsing: bytes, fileSize: size)
            {
                found.capacity = footer.capacity
                return found
            }
        }
        var next = HeaderCapacity(holding: 0)
        while let capacity = next {
            found.capacity = capacity
            var salvage = RecordSalvage(source, size: size, header: found)
            if try salvage.opensFirst() { return found }
            next = HeaderCapacity(bytes: 2 * capacity.bytes)
        }
        return self
    }
}
