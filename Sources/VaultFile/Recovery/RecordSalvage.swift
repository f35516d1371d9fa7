import VaultCrypto
import VaultFormat
import VaultStream

/// Gets the records of a container out of a file in which anything may be damaged (RECOV-7 to RECOV-11). Holds one record.
struct RecordSalvage {
    /// What became of one data record.
    enum Record {
        /// Its text stands in the buffer that `text` reads, so many bytes.
        case good(count: Int)
        case lost(count: UInt64, why: VaultError)
    }

    private let source: any ByteSource
    private let size: UInt64
    private let header: HeaderCopy
    private let cipher: RecordCipher
    /// The record at hand; its text stands behind the head.
    private var record: [UInt8] = []

    init(_ source: any ByteSource, size: UInt64, header: FoundHeader) {
        self.source = source
        self.size = size
        self.header = header.copy
        cipher = header.cipher
    }

    /// Lends the text of a record that is good, until the next one is read.
    func withText(_ count: Int, _ body: (Span<UInt8>) throws -> Void) rethrows {
        try body(record.span.extracting(RecordHead.count..<RecordHead.count + count))
    }

    // MARK: With a manifest

    /// The manifest to which the footer leads, and the geometry, where they agree (RECOV-7).
    mutating func manifestByFooter() throws -> (ContainerLayout, Manifest)? {
        guard size >= Footer.leastContainer else { return nil }
        var bytes: [UInt8] = []
        guard try source.fill(&bytes, exactly: Footer.count, at: size - UInt64(Footer.count)) == nil,
            let footer = try? Footer(parsing: bytes, fileSize: size), footer.capacity == header.capacity,
            let layout = ContainerLayout(
                capacity: header.capacity, chunkSize: header.preamble.chunkSize,
                manifestOffset: footer.manifestOffset)
        else { return nil }
        guard case .agrees(let manifest) = try manifest(of: layout, length: footer.manifestLength) else { return nil }
        return (layout, manifest)
    }

    private enum FoundManifest {
        /// There is none that decrypts.
        case none
        /// It decrypts, and counts for nothing: its form is wrong, or its lengths are not those of its place.
        case disagrees
        case agrees(Manifest)
    }

    private mutating func manifest(of layout: ContainerLayout, length: Int) throws -> FoundManifest {
        let (offset, count) = (layout.manifestOffset, length + RecordHead.overhead)
        guard try read(count, at: offset) == nil else { return .none }
        let (index, preamble, cipher) = (layout.recordCount, header.preamble, cipher)
        do {
            let manifest = try record.withMutableSpan(of: 0..<count) { record throws(VaultError) in
                try cipher.openManifest(restoring: &record, index: index, offset: offset, preamble: preamble)
            }
            // Without this a holder of the key could have 2⁶³ zeros given out for a small file.
            return manifest.streamLength == layout.streamLength ? .agrees(manifest) : .disagrees
        } catch {
            return error.code == .recordDamaged ? .none : .disagrees
        }
    }

    /// Reads one data record of a container whose geometry is known (RECOV-9).
    mutating func load(_ index: UInt64, of layout: ContainerLayout) throws -> Record {
        let count = layout.length(ofRecord: index)
        if let failure = try open(count, index: index, at: layout.offset(ofRecord: index)) {
            return .lost(count: UInt64(count), why: failure)
        }
        return .good(count: count)
    }

    // MARK: Without one

    /// Goes from record to record (RECOV-10) and shows each to `body`, with the place in the file behind it.
    ///
    /// What the walk finds good is what RECOV-9 finds good by the geometry of a manifest at its end, so that nothing has
    /// to be read twice where the plaintext is not packed.
    ///
    /// - Returns: the manifest at the end of the walk, if there is one that agrees with it.
    mutating func walk(
        _ body: (_ salvage: RecordSalvage, _ record: Record, _ end: UInt64) throws -> Void
    ) throws -> Manifest? {
        let chunk = header.preamble.chunkSize.bytes
        var index: UInt64 = 0
        var offset = UInt64(header.capacity.bytes)
        var sawShortRecord = false
        while offset < size {
            let rest = size - offset
            let full = chunk + RecordHead.overhead
            // One read in the usual case.
            let most = Int(min(UInt64(full), rest))
            let failure = try read(most, at: offset)
            let head = failure == nil ? head(most) : try readHead(at: offset)
            // An attempt that fails leaves zeros in the buffer.
            var isLoaded = failure == nil
            if case .manifest? = head?.kind, let length = head?.length, Manifest.isValidLength(length) {
                isLoaded = false
                switch try manifestOfWalk(at: offset, length: length, rest: rest) {
                case .agrees(let manifest): return manifest
                case .disagrees: return nil
                case .none: break
                }
            }
            if sawShortRecord { return nil }
            var damage = failure.map { Self.placed($0, index, offset) }
            if case .data? = head?.kind, let length = head?.length, (1..<chunk).contains(length),
                UInt64(length + RecordHead.overhead) <= rest
            {
                isLoaded = false
                damage = try open(length, index: index, at: offset)
                if damage == nil {
                    offset += UInt64(length + RecordHead.overhead)
                    try body(self, .good(count: length), offset)
                    sawShortRecord = true
                    index += 1
                    continue
                }
            }
            guard UInt64(full) <= rest else { return nil }
            // Where all of it cannot be read, there is no need to ask the medium again.
            if failure == nil { damage = try open(chunk, index: index, at: offset, isLoaded: isLoaded) }
            offset += UInt64(full)
            if let damage {
                try body(self, .lost(count: UInt64(chunk), why: damage), offset)
            } else {
                try body(self, .good(count: chunk), offset)
            }
            index += 1
        }
        return nil
    }

    private mutating func readHead(at offset: UInt64) throws -> RecordHead? {
        try read(min(RecordHead.count, Int(clamping: size - offset)), at: offset) == nil
            ? head(Int(clamping: size - offset)) : nil
    }

    private func head(_ available: Int) -> RecordHead? {
        available < RecordHead.count ? nil : RecordHead(parsing: record[..<RecordHead.count])
    }

    private mutating func manifestOfWalk(at offset: UInt64, length: Int, rest: UInt64) throws -> FoundManifest {
        guard UInt64(length + RecordHead.overhead) <= rest,
            let layout = ContainerLayout(
                capacity: header.capacity, chunkSize: header.preamble.chunkSize, manifestOffset: offset)
        else { return .none }
        return try manifest(of: layout, length: length)
    }

    // MARK: One record

    /// Opens the data record of so many bytes of text at a place.
    ///
    /// - Parameter isLoaded: whether the buffer begins with it.
    /// - Returns: why it is lost; nil where it is good.
    private mutating func open(
        _ count: Int, index: UInt64, at offset: UInt64, isLoaded: Bool = false
    ) throws -> VaultError? {
        let length = count + RecordHead.overhead
        if !isLoaded, let failure = try read(length, at: offset) {
            return Self.placed(failure, index, offset)
        }
        let cipher = cipher
        do {
            try record.withMutableSpan(of: 0..<length) { record throws(VaultError) in
                try cipher.openData(restoring: &record, index: index, offset: offset)
            }
            return nil
        } catch {
            return error
        }
    }

    private static func placed(_ error: VaultError, _ index: UInt64, _ offset: UInt64) -> VaultError {
        VaultError(error.code, error.check, offset: offset, record: index, systemError: error.systemError)
    }

    private mutating func read(_ count: Int, at offset: UInt64) throws -> VaultError? {
        try source.fill(&record, exactly: count, at: offset)
    }
}
