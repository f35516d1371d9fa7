package import VaultFormat

/// The header copies that a search of a damaged container has found, at any place (RECOV-1, RECOV-2).
///
/// The checksum of a copy needs no key, so anyone who can write to the container can fill it with copies. None of these
/// may hide a copy that counts, and all together may cost no more than the limits allow.
package struct HeaderCandidates: Sendable {
    /// Candidates with the same bytes 0…67: without a key they look like copies of one container.
    struct Group: Sendable {
        var copies: [(offset: UInt64, copy: HeaderCopy)]
    }

    private(set) var groups: [Group] = []
    private var places: [ArraySlice<UInt8>: Int] = [:]
    /// The checksums of all candidates. Copies with equal checksums are equal, and count once.
    private var checksums: Set<ArraySlice<UInt8>> = []
    private var hashingLeft: UInt64
    private var bytesLeft: Int
    /// Whether the search ended at a limit: there may be more candidates.
    package private(set) var isCut = false

    /// - Parameters:
    ///   - hashing: how many bytes may be hashed for checksums and MACs (RECOV-4).
    ///   - bytes: how many bytes of candidates are kept.
    package init(hashing: UInt64, bytes: Int) {
        hashingLeft = hashing
        bytesLeft = bytes
    }

    /// Takes bytes that are as long as their capacity field says, and keeps them if they are an intact copy of the
    /// right form.
    ///
    /// - Returns: whether the search may go on.
    package mutating func take(_ bytes: [UInt8], at offset: UInt64) -> Bool {
        // Once for the checksum, and once for the MAC that may have to be checked later.
        let cost = 2 * UInt64(bytes.count)
        guard cost <= hashingLeft else { return cut() }
        hashingLeft -= cost
        guard KeySchedule.isIntact(bytes), let copy = try? HeaderCopy(parsing: bytes) else { return true }
        let checksum = copy.bytes.suffix(HeaderCopy.checksumCount)
        guard !checksums.contains(checksum) else { return true }
        guard bytes.count <= bytesLeft else { return cut() }
        bytesLeft -= bytes.count
        checksums.insert(checksum)
        let common = copy.bytes.prefix(HeaderCopy.commonCount)
        if let place = places[common] {
            groups[place].copies.append((offset, copy))
        } else {
            places[common] = groups.count
            groups.append(Group(copies: [(offset, copy)]))
        }
        return true
    }

    private mutating func cut() -> Bool {
        isCut = true
        return false
    }
}

/// A header copy that counts: a key opens it, and a holder of the file key made it (RECOV-3).
package struct FoundHeader: Sendable {
    /// Its offset in the file. The records are where they would be if this were the front copy. Nil for a header file,
    /// if no copy of its body counts.
    package let offset: UInt64?
    package let copy: HeaderCopy
    package let opener: RecordOpener
    /// The capacity of the container's copies. That of a header file is another one (DET-6).
    package var capacity: HeaderCapacity

    init(offset: UInt64?, copy: HeaderCopy, opener: RecordOpener) {
        (self.offset, self.copy, self.opener) = (offset, copy, opener)
        capacity = copy.capacity
    }

    /// The geometry of a packed stream; nil if it is not packed.
    package var packing: PackedStream? {
        guard copy.preamble.compression == .deflate else { return nil }
        return PackedStream(capacity: capacity, chunkSize: copy.preamble.chunkSize)
    }
}
