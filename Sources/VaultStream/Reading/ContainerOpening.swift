import VaultCrypto
package import VaultFormat

/// The bytes that a seeking reader reads before it decides anything: both header copies and the footer.
///
/// Equal bytes lead to equal decisions, so a reader can read twice and compare (SEEK-18).
package struct ContainerEnds: Hashable, Sendable {
    package let fileSize: UInt64
    /// The front copy, as long as its capacity field says. If the file is too short for that, only the copy's first
    /// bytes: the copy is damaged then.
    package let front: [UInt8]
    /// The last 32 bytes, or all of a shorter file.
    package let footer: [UInt8]
    /// The tail copy, like `front`, at the place that the footer gives; empty if it gives none.
    package let tail: [UInt8]
    /// The header file that the caller gives; nil if they give none. It is a part of a reading (DET-3).
    package let headerFile: [UInt8]?

    package init(
        fileSize: UInt64, front: [UInt8], footer: [UInt8], tail: [UInt8], headerFile: [UInt8]? = nil
    ) {
        self.fileSize = fileSize
        self.front = front
        self.footer = footer
        self.tail = tail
        self.headerFile = headerFile
    }

    /// The intact copies of the right form.
    private var copies: [HeaderCopy] {
        [front, tail].compactMap { KeySchedule.isIntact($0) ? try? HeaderCopy(parsing: $0) : nil }
    }

    /// Whether an intact copy is detached.
    package var showsMark: Bool { copies.contains(where: \.isDetached) }

    /// Whether every intact copy is detached, so that no slot of the container itself opens.
    package var showsOnlyMarks: Bool { showsMark && copies.allSatisfy(\.isDetached) }

    /// The commitment of the intact copies; nil if there is none.
    package var commitment: [UInt8]? { copies.first?.preamble.commitment }

    /// The offset of the tail copy; nil if the footer is damaged.
    package static func tailOffset(footer: [UInt8], fileSize: UInt64) -> UInt64? {
        try? Footer(parsing: footer, fileSize: fileSize).tailOffset
    }
}

/// A header that a key has opened, and the layout of its container (SEEK-2 to SEEK-17). It reads nothing itself.
package struct ContainerOpening: Sendable {
    package let schedule: KeySchedule
    /// Needed for new slots.
    package let fileKey: FileKey
    /// The two copies; nil if not valid. At least one is valid.
    package let front: HeaderCopy?
    package let tail: HeaderCopy?
    /// A copy with a right MAC that is not of the expected state.
    package let unexpected: HeaderCopy?
    /// The header file that opened it; nil if the container was opened by its own slots.
    package let headerFile: HeaderFile?
    /// The preambles of the intact copies.
    let intactPreambles: [Preamble]
    package let footer: Footer
    package let layout: ContainerLayout
    /// The valid copy with the higher generation; the front if both have the same.
    package let current: HeaderCopy
    package let opener: RecordOpener

    /// - Throws: `VaultError` for the check that fails first in the order of the Spec; what the key provider throws.
    package init(_ ends: ContainerEnds, trials: inout SlotTrials) throws {
        headerFile = try ends.headerFile.map { bytes throws(VaultError) in try HeaderFile(bytes) }
        let visible = try VisibleHeaders(ends)
        intactPreambles = [visible.front, visible.tail].compactMap { $0?.preamble }
        // The copy with the higher generation comes first; the front if both have the same (SEEK-13).
        var copies = [visible.front, visible.tail].compactMap { $0 }
        if copies.count == 2, copies[1].generation > copies[0].generation { copies.reverse() }
        let opened = try trials.open(copies, with: headerFile)
        schedule = opened.schedule
        fileKey = opened.fileKey
        current = opened.valid[0]
        opener = try RecordOpener(opened.schedule, current)
        front = visible.front.flatMap { opened.valid.contains($0) ? $0 : nil }
        tail = visible.tail.flatMap { opened.valid.contains($0) ? $0 : nil }
        unexpected = opened.unexpected
        footer = visible.footer
        layout = visible.layout
    }

    /// The highest generation of a copy with a right MAC (ROT-11).
    var highestGeneration: UInt32 {
        [front, tail, unexpected].reduce(0) { max($0, $1?.generation ?? 0) }
    }

    /// The state of the two copies (SEEK-17).
    package var health: Health {
        guard let front else { return .frontDamaged }
        guard let tail else { return .tailDamaged }
        return Health(front: front, tail: tail)
    }

    // MARK: The manifest

    /// The length of the manifest's record and the zeros after it, which begin at the layout's manifest offset.
    package var endCount: Int {
        Int(footer.tailOffset - footer.manifestOffset)
    }

    /// Decrypts the manifest's record in place, and checks it and the zeros before the tail (SEEK-20 to SEEK-24).
    ///
    /// The manifest's tag authenticates its index, but not the length of the stream. Without the key, an attacker can
    /// cut bytes from the last data record and move up everything after it. So the length is compared before any range
    /// is read.
    ///
    /// - Returns: the manifest, and the layout of the groups of a packed stream.
    package func manifest(
        end: consuming [UInt8], limits: OpenLimits
    ) throws(VaultError) -> (Manifest, PackedLayout?) {
        try limits.check(chunkSize: current.preamble.chunkSize)
        let record = 0..<footer.manifestLength + RecordHead.overhead
        guard end.count == endCount else {
            throw VaultError(.truncated, "the manifest is cut", offset: footer.manifestOffset)
        }
        guard end[record.count...].isAllZero else {
            throw VaultError(
                .paddingNotZero, "a byte between the manifest and the tail header is not zero",
                offset: footer.manifestOffset + UInt64(record.count))
        }
        let manifest = try end.withMutableSpan(of: record) { record throws(VaultError) in
            try opener.openManifest(
                &record, index: layout.recordCount, offset: layout.manifestOffset, preamble: current.preamble)
        }
        try manifest.check(streamLength: layout.streamLength, at: layout.manifestOffset)
        let packing = try manifest.packing(layout)
        try limits.check(plaintextLength: manifest.plaintextLength)
        return (manifest, packing)
    }
}

/// The parts of a container that are visible without a key (SEEK-2 to SEEK-12).
package struct VisibleHeaders: Sendable {
    package let front: HeaderCopy?
    package let tail: HeaderCopy?
    package let footer: Footer
    package let layout: ContainerLayout

    package init(_ ends: ContainerEnds) throws(VaultError) {
        let frontIsIntact = KeySchedule.isIntact(ends.front)
        if frontIsIntact { try Preamble.checkVersion(of: ends.front) }

        let hasMagic = ends.front.starts(with: Preamble.magic)
        guard ends.fileSize >= Footer.leastContainer else {
            let beginsLikeOne = Preamble.magic.starts(with: ends.front.prefix(8))
            throw beginsLikeOne
                ? VaultError(
                    .truncated,
                    ends.fileSize == 0
                        ? "the file is empty" : "the file has \(ends.fileSize) bytes, fewer than any container")
                : VaultError(.notVaultfile, "it does not begin like a vaultfile")
        }
        if !hasMagic, !Footer.hasEndMagic(ends.footer) {
            throw VaultError(.notVaultfile, "it neither begins nor ends like a vaultfile")
        }
        let footerOffset = ends.fileSize - UInt64(Footer.count)
        do {
            footer = try Footer(parsing: ends.footer, fileSize: ends.fileSize)
        } catch {
            throw error.at(footerOffset)
        }

        let tailIsIntact = KeySchedule.isIntact(ends.tail)
        guard frontIsIntact || tailIsIntact else {
            throw VaultError(.headerDamaged, "both header copies are damaged", offset: 0)
        }
        // Two intact copies that differ here commit to two file keys, or give the same bytes two layouts. Readers with
        // different keys would read different contents.
        if frontIsIntact, tailIsIntact,
            ends.front.prefix(HeaderCopy.commonCount) != ends.tail.prefix(HeaderCopy.commonCount)
        {
            throw VaultError(
                .copiesDisagree, "the two header copies are not of one container", offset: footer.tailOffset)
        }
        if !frontIsIntact { try Preamble.checkVersion(of: ends.tail) }
        let capacity = (frontIsIntact ? ends.front : ends.tail).count
        guard capacity == footer.capacity.bytes else {
            throw VaultError(
                .footerDamaged, "the footer's header capacity is not the header's", offset: footerOffset)
        }
        front = frontIsIntact ? try Self.parse(ends.front, at: 0) : nil
        if tailIsIntact, ends.tail != ends.front {
            tail = try Self.parse(ends.tail, at: footer.tailOffset)
        } else {
            tail = tailIsIntact ? front : nil
        }
        guard let preamble = (front ?? tail)?.preamble,
            let layout = ContainerLayout(
                capacity: footer.capacity, chunkSize: preamble.chunkSize, manifestOffset: footer.manifestOffset)
        else {
            throw VaultError(
                .footerDamaged, "no sequence of records ends at the footer's manifest offset", offset: footerOffset)
        }
        self.layout = layout
    }

    private static func parse(_ copy: [UInt8], at offset: UInt64) throws(VaultError) -> HeaderCopy {
        do {
            return try HeaderCopy(parsing: copy)
        } catch {
            throw error.at(offset)
        }
    }
}

extension Health {
    /// The health of two valid copies.
    init(front: HeaderCopy, tail: HeaderCopy) {
        if front.bytes == tail.bytes {
            self = .intact
        } else if tail.generation > front.generation, tail.generation - front.generation == 1 {
            self = .rotationUnfinished
        } else {
            self = .copiesConflict
        }
    }
}
