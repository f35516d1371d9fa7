import VaultFormat
package import VaultStream

extension ContainerEnds {
    /// Reads the header file, if there is one, and then both header copies and the footer, the front before the tail. A rotation writes the tail first. In the
    /// other order, a reader could see a front that is newer than the tail, a state that no crash leaves.
    package init(reading source: any ByteSource, headerFile: HeaderFileSource? = nil) throws {
        let headerFile = try headerFile?.read()
        let size = try source.size()
        let front = try Self.copy(at: 0, of: source, size: size)
        let footerCount = min(size, UInt64(Footer.count))
        let footer = try source.bytes(at: size - footerCount, count: Int(footerCount))
        let tailOffset = Self.tailOffset(footer: footer, fileSize: size)
        let tail = try tailOffset.map { try Self.copy(at: $0, of: source, size: size) } ?? []
        self.init(fileSize: size, front: front, footer: footer, tail: tail, headerFile: headerFile)
    }

    /// A header copy with the length that it claims. Only its beginning if that length is impossible, and nothing if
    /// the file ends before it.
    static func copy(at offset: UInt64, of source: any ByteSource, size: UInt64) throws -> [UInt8] {
        guard offset < size else { return [] }
        let most = size - offset
        let prefix = try source.bytes(at: offset, count: Int(min(most, UInt64(HeaderCopy.prefixCount))))
        // mutant: a copy that is cut is damaged too
        guard let capacity = HeaderCopy.claimedCapacity(prefix[...]), UInt64(capacity.bytes) <= most else {
            return prefix
        }
        return try source.bytes(at: offset, count: capacity.bytes)
    }

    /// Reads and judges both ends. Before it returns a result that is not final, it reads again (SEEK-18):
    /// what looks like damage may be a rotation in progress. Under a lock, one more reading is enough; without a lock,
    /// two readings must agree, of ten at most. The lock is not held while keys are tried: a caller may then ask a
    /// person for a passphrase.
    package static func judge<R>(
        _ source: any ByteSource, headerFile: HeaderFileSource? = nil, isFinal: (R) -> Bool,
        _ decide: (ContainerEnds) throws -> R
    ) throws -> R {
        // An error of the key provider or the source says nothing about the bytes, and ends this at once.
        func verdict(on ends: ContainerEnds) throws -> Result<R, VaultError> {
            do {
                return .success(try decide(ends))
            } catch let error as VaultError {
                return .failure(error)
            }
        }
        var ends = try ContainerEnds(reading: source, headerFile: headerFile)
        var found = try verdict(on: ends)
        for _ in 2...10 {
            if case .success(let value) = found, isFinal(value) { break }
            var wasLocked = false
            let again = try source.withSharedLock { isLocked in
                wasLocked = isLocked
                return try ContainerEnds(reading: source, headerFile: headerFile)
            }
            guard again != ends else { break }
            ends = again
            found = try verdict(on: ends)
            if wasLocked { break }
        }
        return try found.get()
    }
}
