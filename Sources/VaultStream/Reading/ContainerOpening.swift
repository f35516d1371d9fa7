import VaultCrypto
package import VaultFormat

/// What a reader that can seek reads before it decides anything: both header copies and the footer, as they stood.
///
/// Equal bytes are decided alike; that is what makes it possible to look twice.
package struct ContainerEnds: Hashable, Sendable {
    package let fileSize: UInt64
    /// As long as its own capacity field says where that is possible, else its beginning alone, which is then damaged.
    package let front: [UInt8]
    /// The last 32 bytes, or all of a shorter file.
    package let footer: [UInt8]
    /// Like `front`, from the place that the footer gives; empty where it gives none.
    package let tail: [UInt8]

    package init(fileSize: UInt64, front: [UInt8], footer: [UInt8], tail: [UInt8]) {
        self.fileSize = fileSize
        self.front = front
        self.footer = footer
        self.tail = tail
    }

    /// Where the tail copy stands, as far as a footer leads there.
    package static func tailOffset(footer: [UInt8], fileSize: UInt64) -> UInt64? {
        try? Footer(parsing: footer, fileSize: fileSize).tailOffset
    }
}

/// A header that a key has opened, and what it leads to (SEEK-2 to SEEK-17), on bytes alone.
package struct ContainerOpening: Sendable {
    package let schedule: KeySchedule
    /// For new slots.
    package let fileKey: FileKey
    /// The copies, as far as they are valid; one at least is.
    package let front: HeaderCopy?
    package let tail: HeaderCopy?
    package let footer: Footer
    package let layout: ContainerLayout
    /// The valid copy of the higher generation, the front where they are equal.
    package let current: HeaderCopy
    package let opener: RecordOpener

    /// - Throws: the first check that fails, by the order of the Spec; and what the provider throws.
    package init(_ ends: ContainerEnds, trials: inout SlotTrials) throws {
        let visible = try VisibleHeaders(ends)
        // The copy of the higher generation comes first, the front where they are equal (SEEK-13).
        var copies = [visible.front, visible.tail].compactMap { $0 }
        if copies.count == 2, copies[1].generation > copies[0].generation { copies.reverse() }
        let opened = try trials.open(copies)
        schedule = opened.schedule
        fileKey = opened.fileKey
        current = opened.valid[0]
        opener = try RecordOpener(opened.schedule, current)
        front = visible.front.flatMap { opened.valid.contains($0) ? $0 : nil }
        tail = visible.tail.flatMap { opened.valid.contains($0) ? $0 : nil }
        footer = visible.footer
        layout = visible.layout
    }

    /// SEEK-17.
    package var health: Health {
        guard let front else { return .frontDamaged }
        guard let tail else { return .tailDamaged }
        return Health(front: front, tail: tail)
    }

    // MARK: The manifest

    /// How many bytes the manifest's record and the zeros behind it take, from the layout's manifest offset on.
    package var endCount: Int {
        Int(footer.tailOffset - footer.manifestOffset)
    }

    /// Takes the manifest's record, which is decrypted where it stands, and the zeros before the tail (SEEK-20 to
    /// SEEK-24).
    ///
    /// That the record opens authenticates its index, not the length of the stream: without the key, bytes can be cut
    /// from the last data record and everything behind it moved up. So the length is compared before a range is read.
    ///
    /// - Returns: the manifest, and where the groups stand if the stream is packed.
    package func manifest(
        end: consuming [UInt8], limits: OpenLimits
    ) throws(VaultError) -> (Manifest, PackedLayout?) {
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

/// What everybody can see of a container, key or not (SEEK-2 to SEEK-12).
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
                ? VaultError(.truncated, "the file has \(ends.fileSize) bytes, fewer than any container")
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
        // Two intact copies that differ here commit to two file keys, or lay the same bytes out in two ways: readers
        // with different keys would read different contents.
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
                .footerDamaged, "no records lead to the footer's manifest offset", offset: footerOffset)
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
