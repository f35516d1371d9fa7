internal import CPlatform
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

extension FileDescriptor {
    /// Waits until a read or a write would not block.
    ///
    /// - Parameters:
    ///   - events: `POLLIN` or `POLLOUT`.
    ///   - milliseconds: The longest wait; a negative number waits without a limit.
    /// - Returns: False if the time is up.
    func isReady(for events: Int32, within milliseconds: Int32) throws(Errno) -> Bool {
        var request = pollfd(fd: rawValue, events: Int16(truncatingIfNeeded: events), revents: 0)
        return try retrying { unsafe poll(&request, 1, milliseconds) } > 0
    }

    /// Reads, and waits even if the descriptor does not wait by itself.
    ///
    /// - Returns: The number of bytes; 0 at the end.
    /// - Throws: `VaultError` with `inputFailed`, which scripts find in the JSON of the failure.
    func readWaiting(into bytes: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            do {
                return try unsafe read(into: bytes)
            } catch Errno.resourceTemporarilyUnavailable {
                _ = try isReady(for: POLLIN, within: -1)
            } catch let errno as Errno {
                throw VaultError.inputFailed(errno.words, systemError: errno)
            }
        }
    }

    /// Reads at most as many bytes as the buffer holds; 0 at the end.
    func readSome(into buffer: inout [UInt8]) throws -> Int {
        try unsafe buffer.withUnsafeMutableBytes { try unsafe readWaiting(into: $0) }
    }

    /// Writes all bytes, and waits even if the descriptor does not wait by itself.
    func writeFully(_ bytes: Span<UInt8>) throws {
        var done = 0
        while done < bytes.count {
            do {
                let count = try unsafe bytes.extracting(done..<bytes.count).withUnsafeBytes { try unsafe write($0) }
                // A device that takes no bytes and reports no error would keep this loop going for ever.
                guard count > 0 else { throw Errno.ioError }
                done += count
            } catch Errno.resourceTemporarilyUnavailable {
                _ = try isReady(for: POLLOUT, within: -1)
            }
        }
    }

    /// Waits until what was written is durable.
    func synchronize() throws(Errno) {
        try retrying { vaultfile_synchronize(rawValue) }
    }
}

extension Errno {
    /// The system's description, with a lower-case first letter.
    var words: String {
        guard let first = description.first, description.dropFirst().first?.isLowercase == true else {
            return description
        }
        return first.lowercased() + description.dropFirst()
    }
}
