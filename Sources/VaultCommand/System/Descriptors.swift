internal import CPlatform
internal import SystemPackage

extension FileDescriptor {
    /// How something is opened for reading.
    enum Reading: Sendable {
        /// Anything that gives bytes. Opening a pipe waits until somebody writes to it.
        case anything
        /// Something that can be read at places. Opening a pipe does not wait.
        case storage
        case folder
    }

    /// Opens for reading, and leaves the access time as it is if the system allows that.
    ///
    /// - Parameter folder: Where the path begins, for a name in it that must not be a link.
    static func openForReading(
        _ path: FilePath, in folder: FileDescriptor? = nil, _ reading: Reading = .anything
    ) throws(Errno) -> FileDescriptor {
        var flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (folder == nil ? 0 : O_NOFOLLOW)
        switch reading {
        case .anything: break
        case .storage: flags |= O_NONBLOCK
        case .folder: flags |= O_DIRECTORY
        }
        do {
            return try open(path, in: folder, flags | Platform.keepsAccessTime)
        } catch {
            // Only the owner of a file may leave its access time alone.
            guard error == .notPermitted, Platform.keepsAccessTime != 0 else { throw error }
            return try open(path, in: folder, flags)
        }
    }

    private static func open(_ path: FilePath, in folder: FileDescriptor?, _ flags: Int32) throws(Errno) -> Self {
        while true {
            let number = unsafe path.withPlatformString {
                unsafe vaultfile_open_at(folder?.rawValue ?? AT_FDCWD, $0, flags, 0)
            }
            guard number < 0 else { return FileDescriptor(rawValue: number) }
            guard vaultfile_error_number() == EINTR else { throw Errno(rawValue: vaultfile_error_number()) }
        }
    }

    /// Waits until a read or a write would not block.
    ///
    /// - Parameters:
    ///   - events: `POLLIN` or `POLLOUT`.
    ///   - milliseconds: The longest wait; a negative number waits without a limit.
    /// - Returns: False if the time is up.
    func isReady(for events: Int32, within milliseconds: Int32) throws(Errno) -> Bool {
        var request = pollfd(fd: rawValue, events: Int16(truncatingIfNeeded: events), revents: 0)
        var count: Int32
        repeat { count = unsafe poll(&request, 1, milliseconds) } while count < 0 && vaultfile_error_number() == EINTR
        guard count >= 0 else { throw Errno(rawValue: vaultfile_error_number()) }
        return count > 0
    }

    /// Reads, and waits even if the descriptor does not wait by itself.
    ///
    /// - Returns: The number of bytes; 0 at the end.
    func readWaiting(into bytes: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            do {
                return try unsafe read(into: bytes)
            } catch Errno.resourceTemporarilyUnavailable {
                _ = try isReady(for: POLLIN, within: -1)
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
                // A device that takes nothing and gives no error would keep the program here for ever.
                guard count > 0 else { throw Errno.ioError }
                done += count
            } catch Errno.resourceTemporarilyUnavailable {
                _ = try isReady(for: POLLOUT, within: -1)
            }
        }
    }

    /// Waits until what was written is durable.
    func synchronize() throws(Errno) {
        while vaultfile_synchronize(rawValue) < 0 {
            guard vaultfile_error_number() == EINTR else { throw Errno(rawValue: vaultfile_error_number()) }
        }
    }
}
