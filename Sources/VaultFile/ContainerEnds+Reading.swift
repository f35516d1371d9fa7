import VaultFormat
import VaultStream

extension ContainerEnds {
    /// Reads both header copies and the footer. The front is read before the tail: a rotation writes the tail first, so
    /// the other order could see a front that is newer than its tail, which no crash leaves.
    init(reading source: any ByteSource) throws {
        let size = try source.size()
        let front = try Self.copy(at: 0, of: source, size: size)
        let footerCount = min(size, UInt64(Footer.count))
        let footer = try source.bytes(at: size - footerCount, count: Int(footerCount))
        let tailOffset = Self.tailOffset(footer: footer, fileSize: size)
        let tail = try tailOffset.map { try Self.copy(at: $0, of: source, size: size) } ?? []
        self.init(fileSize: size, front: front, footer: footer, tail: tail)
    }

    /// A header copy, as long as it says of itself; its beginning alone where that cannot be.
    private static func copy(at offset: UInt64, of source: any ByteSource, size: UInt64) throws -> [UInt8] {
        let most = size - offset
        let prefix = try source.bytes(at: offset, count: Int(min(most, UInt64(HeaderCopy.prefixCount))))
        guard let capacity = HeaderCopy.claimedCapacity(prefix[...]), UInt64(capacity.bytes) <= most else {
            return prefix
        }
        return try source.bytes(at: offset, count: capacity.bytes)
    }

    /// Decides on what was read, and looks again before it reports anything but `intact`: what looks like damage may be
    /// a rotation under way. Under a lock one more look is enough; without one, two looks must agree, ten at most.
    static func judge<R>(
        _ source: any ByteSource, isFinal: (R) -> Bool, _ decide: (ContainerEnds) throws -> R
    ) throws -> R {
        var ends = try ContainerEnds(reading: source)
        var verdict = Result { try decide(ends) }
        if case .success(let value) = verdict, isFinal(value) { return value }
        return try source.withSharedLock { isLocked in
            for _ in 0..<(isLocked ? 1 : 9) {
                let again = try ContainerEnds(reading: source)
                guard again != ends else { break }
                ends = again
                verdict = Result { try decide(ends) }
                if case .success(let value) = verdict, isFinal(value) { break }
            }
            return try verdict.get()
        }
    }
}
