package import VaultFormat

/// The header copies that a search of a damaged container has come upon, wherever they stood (RECOV-1, RECOV-2).
///
/// The checksum of a copy needs no key, so whoever can write to the container can fill it with copies. None of them may
/// hide one that counts, and all together may cost no more than the limits.
package struct HeaderCandidates: Sendable {
    /// Candidates with the same bytes 0…67: of one container, as far as anybody without its key can tell.
    struct Group: Sendable {
        var copies: [(offset: UInt64, copy: HeaderCopy)]
    }

    private(set) var groups: [Group] = []
    private var places: [ArraySlice<UInt8>: Int] = [:]
    /// The checksums of the candidates that there are. Equal ones are equal copies, which count once.
    private var checksums: Set<ArraySlice<UInt8>> = []
    private var hashingLeft: UInt64
    private var bytesLeft: Int
    /// Whether the search ended at a limit, so that there may be candidates that it has not seen.
    package private(set) var isCut = false

    /// - Parameters:
    ///   - hashing: how many bytes may be hashed for checksums and MACs (RECOV-4).
    ///   - bytes: how many bytes of candidates are kept.
    package init(hashing: UInt64, bytes: Int) {
        hashingLeft = hashing
        bytesLeft = bytes
    }

    /// Takes bytes that are as long as they say of themselves, and keeps them if they are an intact copy of the right
    /// form.
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

/// A header copy that a key opens and a holder of the file key made: one that counts (RECOV-3).
package struct FoundHeader: Sendable {
    /// Where in the file it stands. The records stand where they would if it were the front.
    package let offset: UInt64
    package let copy: HeaderCopy
    package let opener: RecordOpener
}
