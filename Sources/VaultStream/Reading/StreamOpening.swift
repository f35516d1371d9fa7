import VaultCrypto
package import VaultFormat

/// A header copy that a key has opened, and whose MAC is right.
package struct OpenedHeader: Sendable {
    package let copy: HeaderCopy
    let schedule: KeySchedule
    package let opener: RecordOpener

    package var chunkSize: ChunkSize { copy.preamble.chunkSize }
    /// How the stream is packed; nil if it is not.
    package var packing: PackedStream? { PackedStream(copy) }
}

/// Opens the structures of a container in the order in which a stream has them: `StreamRules` with the caller's keys
/// (Spec 8).
///
/// It reads nothing and releases nothing, and opens no data records. Its two shells do that: `VaultReader` takes the
/// bytes that its caller pushes, and a pipeline reads them and opens the data records on many threads.
package struct StreamOpening: ~Copyable, Sendable {
    private var rules = StreamRules()
    /// The caller's secrets, until the header is open.
    private var trials: SlotTrials?
    private let expecting: HeaderPin?
    private var unexpected: HeaderCopy?
    /// The header file that the caller gives. It is read and judged before the container.
    private var headerFile: HeaderFile?
    package private(set) var header: OpenedHeader?

    package init(trials: SlotTrials) {
        self.trials = trials
        expecting = trials.expecting
    }

    /// The structure that comes next.
    package var expected: StreamRules.Structure { rules.expected }
    /// How many bytes of the container the expected structure has.
    package var count: Int { rules.count }
    /// The offset of the expected structure in the container.
    package var offset: UInt64 { rules.offset }
    /// The layout and the manifest's length; nil until the manifest is accepted.
    package var geometry: (layout: ContainerLayout, manifestLength: Int)? { rules.geometry }

    /// Takes the expected structure, of any kind except a whole record.
    ///
    /// - Throws: `VaultError` with the check that failed; what the key provider throws.
    package mutating func take(_ structure: [UInt8]) throws {
        switch rules.expected {
        case .prefix:
            headerFile = try Self.headerFile(of: trials)
            try rules.take(prefix: structure[...])
        case .header: try open(structure)
        case .recordHead: try rules.take(recordHead: structure[...])
        case .dataRecord, .manifestRecord: preconditionFailure("a whole record has a function of its own")
        case .zeros: try rules.take(zeros: structure[...])
        case .tail:
            let schedule = try opened().schedule
            var unexpected: HeaderCopy?
            try rules.take(tail: structure, isIntact: KeySchedule.isIntact) { copy in
                guard schedule.isValid(copy) else { return false }
                if expecting.isMet(by: copy) { return true }
                unexpected = copy
                return false
            }
            self.unexpected = unexpected
        case .footer: try rules.take(footer: structure)
        case .end: throw rules.trailingData
        }
    }

    private mutating func open(_ bytes: [UInt8]) throws {
        let copy = try rules.parse(header: bytes, isIntact: KeySchedule.isIntact(bytes))
        // Not even an empty plaintext is released before the MAC shows that a holder of the key made the header.
        guard let result = try trials?.open([copy], with: headerFile) else {
            preconditionFailure("a header is opened once")
        }
        trials = nil
        header = OpenedHeader(
            copy: copy, schedule: result.schedule,
            opener: try RecordOpener(result.schedule, copy))
        rules.open(copy)
    }

    /// The opened header.
    package func opened() throws(VaultError) -> OpenedHeader {
        guard let header else { throw VaultError(.headerDamaged, "no header was read") }
        return header
    }

    /// Moves on to what follows the expected data record. The shell opens that record.
    package mutating func takeDataRecord() -> RecordPlace {
        rules.takeDataRecord()
    }

    /// Decrypts the manifest's record in place (CAP-4), and compares the manifest with what came before it.
    ///
    /// - Parameters:
    ///   - unpacked: the items and blocks of a packed stream; nil if it is not packed.
    ///   - digest: the SHA-256 of the plaintext.
    /// - Throws: `recordDamaged`, `manifestMalformed`, `packingMalformed`, `manifestMismatch`, `contentMismatch`, and
    ///   the codes for what this version does not support.
    package mutating func takeManifest(
        _ record: inout [UInt8], unpacked: UnpackedStream?, digest: [UInt8]?
    ) throws(VaultError) {
        let (header, rules) = (try opened(), rules)
        let manifest = try record.withMutableSpan(of: 0..<rules.count) { record throws(VaultError) in
            try header.opener.openManifest(
                &record, index: rules.recordIndex, offset: rules.offset, preamble: header.copy.preamble)
        }
        try self.rules.take(manifest: manifest, unpacked: unpacked, digest: digest)
    }

    /// Checks whether the container may end here.
    ///
    /// - Parameters:
    ///   - held: the bytes of the expected structure that have come.
    ///   - more: how many more have come, of a data record.
    /// - Throws: `truncated`, `notVaultfile`.
    ///   Also what the source of the header file throws, if the container ends before its header.
    package func finish(held: [UInt8], more: Int = 0) throws -> OpenedContainer {
        if rules.expected == .prefix { _ = try Self.headerFile(of: trials) }
        return try rules.finish(held: held[...], more: more, unexpected: unexpected, headerFile: headerFile)
    }

    /// Reads and judges the header file that the caller gives (DET-3, step 1); nil if they give none.
    private static func headerFile(of trials: SlotTrials?) throws -> HeaderFile? {
        try trials?.headerFile.map { try HeaderFile($0.read()) }
    }
}

extension Manifest {
    /// Compares the plaintext's SHA-256 with the one that the manifest holds.
    ///
    /// - Throws: `contentMismatch`.
    package func check(digest: [UInt8], is expected: [UInt8], at offset: UInt64) throws(VaultError) {
        guard digest == expected else {
            throw VaultError(.contentMismatch, "the plaintext's SHA-256 is not the manifest's", offset: offset)
        }
    }
}
