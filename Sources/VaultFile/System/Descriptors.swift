internal import CPlatform
package import SystemPackage
import VaultCrypto
package import VaultFormat
internal import VaultSystem

extension FileDescriptor {
    /// Opens a file for reading, by the calls of this task.
    static func openToRead(
        _ path: FilePath, in folder: FileDescriptor? = nil, _ reading: Reading
    ) throws(Errno) -> FileDescriptor {
        try openForReading(path, in: folder, reading, by: SystemCalls.current.openAt)
    }

    /// Opens an input for a call of the library.
    static func openInput(_ path: FilePath, _ reading: Reading = .anything) throws(VaultError) -> FileDescriptor {
        do {
            return try openToRead(path, reading)
        } catch {
            throw VaultError(.inputFailed, "it cannot be opened: \(error)", systemError: error)
        }
    }

    /// Reads at most as many bytes as the buffer holds.
    ///
    /// - Returns: the count of bytes that were read; 0 at the end.
    package func readSome(into buffer: inout MutableSpan<UInt8>) throws(VaultError) -> Int {
        do {
            return try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
                try waiting(Int16(POLLIN)) { unsafe SystemCalls.current.read(rawValue, bytes) }
            }
        } catch {
            throw VaultError(.inputFailed, "reading failed: \(error)", systemError: error)
        }
    }

    /// Reads at most as many bytes as the buffer holds, from `offset` on.
    ///
    /// - Returns: the count of bytes that were read; 0 at the end of the file.
    package func readSome(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws(VaultError) -> Int {
        guard let place = Int64(exactly: offset) else { return 0 }
        do {
            return try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
                try retrying { unsafe SystemCalls.current.readAt(rawValue, bytes, place) }
            }
        } catch {
            throw VaultError(.inputFailed, "reading failed: \(error)", offset: offset, systemError: error)
        }
    }

    /// Fills the buffer, with as many reads as that takes.
    ///
    /// - Returns: the count of bytes that were read: less than the buffer's length only at the end.
    package func fill(_ buffer: inout MutableSpan<UInt8>) throws(VaultError) -> Int {
        try buffer.fill { _, rest throws(VaultError) in try readSome(into: &rest) }
    }

    /// Fills the buffer with the bytes from `offset` on, with as many reads as that takes.
    ///
    /// - Returns: the count of bytes that were read: less than the buffer's length only at the end of the
    ///   file.
    package func fill(_ buffer: inout MutableSpan<UInt8>, at offset: UInt64) throws(VaultError) -> Int {
        try buffer.fill { filled, rest throws(VaultError) in try readSome(at: offset + UInt64(filled), into: &rest) }
    }

    /// Writes all of `bytes` to `offset`, with as many calls as that takes.
    package func writeFully(_ bytes: Span<UInt8>, at offset: UInt64) throws(VaultError) {
        do throws(Errno) {
            var done = 0
            while done < bytes.count {
                guard let place = Int64(exactly: offset + UInt64(done)) else { throw Errno.fileTooLarge }
                let count = try unsafe bytes.extracting(done..<bytes.count).withUnsafeBytes { rest throws(Errno) in
                    try retrying { unsafe SystemCalls.current.writeAt(rawValue, rest, place) }
                }
                guard count > 0 else { throw Errno.ioError }
                done += count
            }
        } catch {
            throw VaultError(.outputFailed, "writing failed: \(error)", offset: offset, systemError: error)
        }
    }

    /// Writes parts of `bytes` to `offset`, one after the other, in one call if the system takes all of them.
    func writeFully(_ bytes: Span<UInt8>, parts: [Range<Int>], at offset: UInt64) throws(VaultError) {
        var written = try parts.count == 1 ? 0 : writeSome(bytes, parts.prefix(Self.mostParts), at: offset)
        var place = offset
        for part in parts {
            let rest = part.dropFirst(written)
            try writeFully(bytes.extracting(rest), at: place + UInt64(part.count - rest.count))
            written -= part.count - rest.count
            place += UInt64(part.count)
        }
    }

    /// How many parts every system takes in one call.
    private static let mostParts = 1024

    private func writeSome(
        _ bytes: Span<UInt8>, _ parts: ArraySlice<Range<Int>>, at offset: UInt64
    ) throws(VaultError) -> Int {
        do throws(Errno) {
            guard let place = Int64(exactly: offset) else { throw Errno.fileTooLarge }
            return try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
                try retrying { unsafe SystemCalls.current.writePartsAt(rawValue, bytes, parts, place) }
            }
        } catch {
            throw VaultError(.outputFailed, "writing failed: \(error)", offset: offset, systemError: error)
        }
    }

    /// Writes all of `bytes`, with as many calls as that takes.
    package func writeFully(_ bytes: Span<UInt8>) throws(VaultError) {
        do throws(Errno) {
            let most = mostAtOnce
            var done = 0
            while done < bytes.count {
                if most != .max { try wait(for: Int16(POLLOUT)) }
                let part = done..<done + min(most, bytes.count - done)
                let count = try unsafe bytes.extracting(part).withUnsafeBytes { rest throws(Errno) in
                    try waiting(Int16(POLLOUT)) { unsafe SystemCalls.current.write(rawValue, rest) }
                }
                // Otherwise a device that takes nothing and reports no error would make this loop endless.
                guard count > 0 else { throw Errno.ioError }
                done += count
            }
        } catch {
            throw VaultError(.outputFailed, "writing failed: \(error)", systemError: error)
        }
    }

    /// The offset of the next read or write.
    package func place() throws(Errno) -> Int64 {
        try retrying { SystemCalls.current.seek(rawValue, 0, SEEK_CUR) }
    }

    /// Moves the offset of the next read or write.
    func move(to offset: UInt64) throws(Errno) {
        try retrying { SystemCalls.current.seek(rawValue, Int64(clamping: offset), SEEK_SET) }
    }

    /// Moves the offset of the next read or write to the end.
    func moveToEnd() throws(Errno) {
        try retrying { SystemCalls.current.seek(rawValue, 0, SEEK_END) }
    }

    /// Whether every write goes to the end of the file. True if the system does not tell.
    var appends: Bool {
        let flags = SystemCalls.current.statusFlags(rawValue)
        return flags == -1 || flags & O_APPEND != 0
    }

    /// The size of a block device in bytes. The status of the device does not have it.
    func deviceSize() throws(Errno) -> Int64 {
        try retrying { SystemCalls.current.deviceSize(rawValue) }
    }

    /// Whether it is a regular file with offset 0. If so, the caller means the whole file, and it can be read at any
    /// offset.
    var isSeekable: Bool {
        guard (try? status())?.kind == .regular else { return false }
        return (try? place()) == 0
    }

    /// Enlarges the buffer of a pipe to at least `count` bytes. Other files are not changed.
    func enlargePipe(to count: Int) { SystemCalls.current.enlargePipe(rawValue, Int32(clamping: count)) }

    /// Waits until a read would not block, for at most a tenth of a second.
    ///
    /// - Returns: whether a read would not block. The read may return bytes, the end or an error.
    func waitBriefly() throws(Errno) -> Bool {
        try isReady(for: Int16(POLLIN), within: Cancellation.patience)
    }

    /// Waits until everything that was written is durable.
    package func synchronize() throws(Errno) {
        try retrying { SystemCalls.current.sync(rawValue) }
    }

    /// Repeats a call while it is interrupted or would block. Another program may have made a pipe non-blocking; this
    /// waits for such a pipe too.
    private func waiting<R: SignedInteger>(_ events: Int16, _ call: () -> R) throws(Errno) -> R {
        while true {
            do {
                return try retrying(call)
            } catch {
                guard error == .resourceTemporarilyUnavailable || error == .wouldBlock else { throw error }
                try wait(for: events)
            }
        }
    }

    /// Waits until a descriptor can be read or written, or the task is cancelled.
    private func wait(for events: Int16) throws(Errno) {
        let cancellation = Cancellation.current
        let time = cancellation == nil ? -1 : Cancellation.patience
        repeat {
            guard cancellation?.isCancelled != true else { throw .canceled }
        } while try !isReady(for: events, within: time)
    }

    private func isReady(for events: Int16, within time: Int32) throws(Errno) -> Bool {
        // The system never has anything for a negative number, and gives no error: a caller would wait for ever.
        guard rawValue >= 0 else { throw .badFileDescriptor }
        return try retrying { SystemCalls.current.wait(rawValue, events, time) } != 0
    }

    /// The most bytes of one write. A write that blocks cannot be cancelled. So an asynchronous call first waits for
    /// room in the pipe, and then writes no more than that room.
    private var mostAtOnce: Int {
        guard Cancellation.current != nil else { return .max }
        return switch (try? status())?.kind {
        case .regular, .blockDevice: .max
        default: Int(PIPE_BUF)
        }
    }

    /// Takes an exclusive lock on the open file, without waiting for one that another program holds.
    func lockExclusively() throws(Errno) {
        try retrying { SystemCalls.current.lock(rawValue, LOCK_EX | LOCK_NB) }
    }

    /// Takes a shared lock.
    ///
    /// - Parameters:
    ///   - attempts: how often it tries, if another program holds the lock.
    ///   - onWaiting: called once, before it waits.
    /// - Returns: whether it has the lock. Some file systems have no locks.
    /// - Throws: `cancelled`.
    func lockShared(attempts: Int, onWaiting: () -> Void) throws(VaultError) -> Bool {
        for attempt in 1...attempts {
            do {
                try retrying { SystemCalls.current.lock(rawValue, LOCK_SH | LOCK_NB) }
                return true
            } catch {
                guard error == .wouldBlock || error == .resourceTemporarilyUnavailable else { return false }
            }
            guard attempt < attempts else { break }
            if attempt == 1 { onWaiting() }
            try LockPatience.pause()
        }
        return false
    }

    /// Releases a lock.
    func unlock() {
        _ = try? retrying { SystemCalls.current.lock(rawValue, LOCK_UN) }
    }
}
