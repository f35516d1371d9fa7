package import VaultFormat

/// The rules for reading a container as a stream (STR-2 to STR-30): which structure comes next, how long it is, and
/// what it must be.
///
/// The rules read nothing, decrypt nothing and release nothing. A reader reads `count` bytes of the expected structure
/// and hands them, or what they decrypt to, to the function for that structure. Each length is checked before a reader
/// asks for so many bytes: an attacker's length would otherwise cost memory, or make the reader wait.
package struct StreamRules: Sendable {
    /// The parts of a container, in their order.
    package enum Structure: Hashable, Sendable {
        /// The first 68 bytes of the header copy. They tell how long it is.
        case prefix
        /// The whole front header copy, with the prefix.
        case header
        case recordHead
        /// A whole data record, with its head.
        case dataRecord
        /// The manifest's whole record, with its head.
        case manifestRecord
        case zeros
        case tail
        case footer
        /// Nothing: one more byte is an error.
        case end
    }

    package private(set) var expected = Structure.prefix
    /// The length of the expected structure; at the end, that of the byte that must not come.
    package private(set) var count = HeaderCopy.prefixCount
    /// The offset of the expected structure in the container.
    package private(set) var offset: UInt64 = 0

    private var front: HeaderCopy?
    private var index: UInt64 = 0
    /// The length of the stream in the data records so far.
    private var streamLength: UInt64 = 0
    private var sawShortRecord = false
    private var manifest: Manifest?
    private var health = Health.intact
    /// The layout and the manifest's length; nil until the manifest is accepted.
    package private(set) var geometry: (layout: ContainerLayout, manifestLength: Int)?

    package init() {}

    private mutating func expect(_ next: Structure, count: Int) {
        offset += UInt64(self.count)
        expected = next
        self.count = count
    }

    /// A reader that hands over another structure is wrong, whatever the bytes are.
    private func require(_ structure: Structure) {
        precondition(expected == structure, "the structure that comes next is the \(expected)")
    }

    private var opened: HeaderCopy {
        guard let front else { preconditionFailure("the header comes before everything else") }
        return front
    }

    // MARK: Header (STR-2 to STR-8)

    /// Takes the first 68 bytes.
    ///
    /// - Throws: `notVaultfile`, `headerDamaged`.
    package mutating func take(prefix: ArraySlice<UInt8>) throws(VaultError) {
        require(.prefix)
        guard prefix.starts(with: Preamble.magic) else { throw Self.notVaultfile }
        guard let capacity = HeaderCopy.claimedCapacity(prefix) else {
            throw VaultError(.headerDamaged, "the header's capacity is not a power of two from 2^9 to 2^20", offset: 0)
        }
        expected = .header
        count = capacity.bytes
    }

    private static let notVaultfile = VaultError(.notVaultfile, "it does not begin like a vaultfile", offset: 0)

    /// Parses the front copy, whose slots are tried next.
    ///
    /// - Parameter isIntact: whether its checksum is right.
    /// - Throws: `headerDamaged`, `headerMalformed`, and the codes for what this version does not support.
    package func parse(header: [UInt8], isIntact: Bool) throws(VaultError) -> HeaderCopy {
        require(.header)
        guard isIntact else { throw VaultError(.headerDamaged, "the front header copy is damaged", offset: 0) }
        return try HeaderCopy(parsing: header)
    }

    /// Goes on to the records. A key has opened the front copy, and its MAC is right.
    package mutating func open(_ front: HeaderCopy) {
        require(.header)
        self.front = front
        expect(.recordHead, count: RecordHead.count)
    }

    // MARK: Records (STR-9 to STR-12)

    /// Takes the first 4 bytes of a record.
    ///
    /// - Throws: `recordDamaged`.
    package mutating func take(recordHead: ArraySlice<UInt8>) throws(VaultError) {
        require(.recordHead)
        guard let head = RecordHead(parsing: recordHead) else { throw damaged("the record has an unknown type") }
        switch head.kind {
        case .data:
            guard (1...opened.preamble.chunkSize.bytes).contains(head.length) else {
                throw damaged("the record's length is out of range")
            }
            guard !sawShortRecord else { throw damaged("a data record follows a short one") }
            expected = .dataRecord
        case .manifest:
            guard Manifest.isValidLength(head.length) else { throw damaged("the manifest's length is out of range") }
            expected = .manifestRecord
        }
        count = head.length + RecordHead.overhead
    }

    /// Moves on to what follows the expected data record, which the reader has read. If that record does not open, the
    /// reader must stop.
    package mutating func takeDataRecord() -> RecordPlace {
        require(.dataRecord)
        let text = count - RecordHead.overhead
        let place = RecordPlace(index: index, offset: offset, text: streamLength..<streamLength + UInt64(text))
        index += 1
        streamLength = place.text.upperBound
        sawShortRecord = text < opened.preamble.chunkSize.bytes
        expect(.recordHead, count: RecordHead.count)
        return place
    }

    /// The index of the expected record. That of the manifest is the number of data records.
    package var recordIndex: UInt64 { index }

    private func damaged(_ check: String) -> VaultError {
        VaultError(.recordDamaged, check, offset: offset, record: index)
    }

    // MARK: Manifest (STR-14 to STR-18)

    /// Compares the manifest with what came before it.
    ///
    /// - Parameters:
    ///   - unpacked: the items and blocks of a packed stream; nil if it is not packed.
    ///   - digest: the SHA-256 of the plaintext.
    /// - Throws: `packingMalformed`, `manifestMismatch`, `contentMismatch`.
    package mutating func take(
        manifest: Manifest, unpacked: UnpackedStream?, digest: [UInt8]?
    ) throws(VaultError) {
        require(.manifestRecord)
        precondition((unpacked != nil) == (PackedStream(opened) != nil), "a packed stream is unpacked, and no other")
        if let unpacked {
            try unpacked.check(manifest, streamLength: streamLength, at: offset)
        } else {
            try manifest.check(streamLength: streamLength, at: offset)
        }
        if let expected = manifest.digest {
            // mutant: every reader computes it; one that did not must not accept the contents as checked
            guard let digest else { throw VaultError(.contentMismatch, "the SHA-256 was not computed", offset: offset) }
            try manifest.check(digest: digest, is: expected, at: offset)
        }
        let layout = try ContainerLayout(
            capacity: opened.capacity, chunkSize: opened.preamble.chunkSize, streamLength: streamLength)
        let length = count - RecordHead.overhead
        self.manifest = manifest
        geometry = (layout, length)
        let zeros = layout.paddingCount(manifestLength: length)
        if zeros > 0 {
            expect(.zeros, count: zeros)
        } else {
            expect(.tail, count: opened.capacity.bytes)
        }
    }

    // MARK: End (STR-19 to STR-30)

    /// - Throws: `paddingNotZero`.
    package mutating func take(zeros: ArraySlice<UInt8>) throws(VaultError) {
        require(.zeros)
        guard zeros.isAllZero else {
            throw VaultError(
                .paddingNotZero, "a byte between the manifest and the tail header is not zero", offset: offset)
        }
        expect(.tail, count: opened.capacity.bytes)
    }

    /// Checks the tail copy.
    ///
    /// - Parameters:
    ///   - isIntact: whether bytes are a copy with a right checksum.
    ///   - isValid: whether the MAC of a copy is right.
    /// - Throws: `copiesDisagree`, `headerMalformed`, and the codes for what this version does not support.
    package mutating func take(
        tail: [UInt8], isIntact: ([UInt8]) -> Bool, isValid: (HeaderCopy) -> Bool
    ) throws(VaultError) {
        require(.tail)
        if tail != opened.bytes { health = try health(of: tail, isIntact, isValid) }
        expect(.footer, count: Footer.count)
    }

    /// STR-22 to STR-27.
    private func health(
        of tail: [UInt8], _ isIntact: ([UInt8]) -> Bool, _ isValid: (HeaderCopy) -> Bool
    ) throws(VaultError) -> Health {
        // Like every copy, it is as long as its own capacity field says.
        let claimed = HeaderCopy.claimedCapacity(tail[...])?.bytes ?? 0
        guard isIntact([UInt8](tail.prefix(claimed))) else { return .tailDamaged }
        guard tail.prefix(HeaderCopy.commonCount) == opened.bytes.prefix(HeaderCopy.commonCount) else {
            throw VaultError(.copiesDisagree, "the two header copies are not of one container", offset: offset)
        }
        let copy: HeaderCopy
        do {
            copy = try HeaderCopy(parsing: tail)
        } catch {
            throw error.at(offset)
        }
        guard isValid(copy) else { return .tailDamaged }
        return Health(front: opened, tail: copy)
    }

    /// - Throws: `footerDamaged`.
    package mutating func take(footer: [UInt8]) throws(VaultError) {
        require(.footer)
        guard let (layout, manifestLength) = geometry,
            layout.footer(manifestLength: manifestLength).bytes == footer
        else {
            throw VaultError(.footerDamaged, "the footer is not the one that belongs to this container", offset: offset)
        }
        expect(.end, count: 1)
    }

    /// The error for a byte after the footer.
    package var trailingData: VaultError {
        VaultError(.trailingData, "there are bytes after the container's end", offset: offset)
    }

    /// Checks whether the container may end here.
    ///
    /// - Parameters:
    ///   - held: the bytes of the expected structure that have come.
    ///   - more: how many more have come, of a data record; fewer than `count` together.
    ///   - unexpected: the tail copy, if it is not of the expected state.
    ///   - headerFile: the header file, if one opened the container.
    /// - Throws: `truncated`, `notVaultfile`.
    package func finish(
        held: ArraySlice<UInt8>, more: Int = 0, unexpected: HeaderCopy? = nil, headerFile: HeaderFile? = nil
    ) throws(VaultError) -> OpenedContainer {
        if expected == .end, let manifest {
            return OpenedContainer(
                health: health, manifest: manifest, header: HeaderSummary(opened),
                headerFile: headerFile?.summary,
                unexpectedCopy: unexpected.map(HeaderSummary.init))
        }
        if expected == .prefix {
            guard Preamble.magic.starts(with: held.prefix(Preamble.magic.count)) else { throw Self.notVaultfile }
        }
        throw VaultError(
            .truncated, "the container ends after \(offset + UInt64(held.count + more)) bytes, before it is complete",
            offset: offset)
    }
}
