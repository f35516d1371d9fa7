package import SystemPackage
package import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension FileDescriptor {
    /// How something is opened to be read.
    package enum Reading: Sendable {
        /// Whatever gives bytes: who opens a pipe waits until somebody writes to it, as everywhere.
        case anything
        /// What can be read at places. A pipe is not waited for, since it would be refused.
        case storage
        /// A folder.
        case folder
    }

    /// Opens for reading, leaving no trace where the system allows that: the access time stays as it is.
    ///
    /// - Parameter folder: where the path begins, for a name in it that must be no link.
    package static func openForReading(
        _ path: FilePath, in folder: FileDescriptor? = nil, _ reading: Reading = .anything
    ) throws(Errno) -> FileDescriptor {
        let flags = OpenFlags.reading | reading.flags | (folder == nil ? 0 : O_NOFOLLOW)
        let open = { (flags: Int32) throws(Errno) in
            FileDescriptor(
                rawValue: try retrying {
                    SystemCalls.current.openAt(folder?.rawValue ?? OpenFlags.currentDirectory, path, flags, 0)
                })
        }
        do {
            return try open(flags | OpenFlags.quietly)
        } catch {
            // Only the owner of a file may leave its access time alone.
            guard error == .notPermitted, OpenFlags.quietly != 0 else { throw error }
            return try open(flags)
        }
    }

    /// The same for an input of this library.
    static func openInput(_ path: FilePath, _ reading: Reading = .anything) throws(VaultError) -> FileDescriptor {
        do {
            // A call that may be cancelled does not wait for a pipe's other end here, but when it reads.
            return try openForReading(path, Cancellation.current == nil ? reading : .storage)
        } catch {
            throw VaultError(.inputFailed, "it cannot be opened: \(error)", systemError: error)
        }
    }

    /// Reads at most as many bytes as the buffer holds; 0 at the end.
    package func readSome(into buffer: inout MutableSpan<UInt8>) throws(VaultError) -> Int {
        do {
            return try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
                try waiting(Int16(POLLIN)) { unsafe SystemCalls.current.read(rawValue, bytes) }
            }
        } catch {
            throw VaultError(.inputFailed, "reading failed: \(error)", systemError: error)
        }
    }

    /// Reads at most as many bytes as the buffer holds, from a place in the file; 0 at its end.
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

    /// Writes all of it to a place in the file, however many calls that takes.
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

    /// Writes parts of `bytes`, one behind the other, to a place in the file: in one call where the system takes them
    /// all.
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

    /// What every system takes in one call.
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

    /// Writes all of it, however many calls that takes.
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
                // A device that takes nothing and does not say why would keep us here for ever.
                guard count > 0 else { throw Errno.ioError }
                done += count
            }
        } catch {
            throw VaultError(.outputFailed, "writing failed: \(error)", systemError: error)
        }
    }

    /// Where it stands.
    package func place() throws(Errno) -> Int64 {
        try move(to: 0, from: SEEK_CUR)
    }

    /// Whether it is a regular file that stands at its beginning, and so can be read anywhere.
    var isSeekable: Bool {
        guard (try? status())?.kind == .regular else { return false }
        return (try? place()) == 0
    }

    /// Lets it stand elsewhere.
    ///
    /// - Parameter origin: what `offset` is counted from: `SEEK_SET`, `SEEK_CUR`, `SEEK_END`. A device's status does
    ///   not say where its end is.
    /// - Returns: where it stands then.
    func move(to offset: Int64, from origin: Int32) throws(Errno) -> Int64 {
        try retrying { SystemCalls.current.seek(rawValue, offset, origin) }
    }

    /// Makes a pipe hold at least `count` bytes. Anything but a pipe stays as it is.
    func enlargePipe(to count: Int) { SystemCalls.current.enlargePipe(rawValue, Int32(clamping: count)) }

    /// Waits a little for something to be read.
    ///
    /// - Returns: whether there is, or an end or an error to be met by reading.
    func waitBriefly() throws(Errno) -> Bool {
        try retrying { SystemCalls.current.wait(rawValue, Int16(POLLIN), Cancellation.patience) } != 0
    }

    /// Waits until what was written is durable.
    package func synchronize() throws(Errno) {
        try retrying { SystemCalls.current.sync(rawValue) }
    }

    /// Calls until the descriptor neither was interrupted nor would have had to wait: one that was opened not to wait,
    /// as pipes of other programs often are, is waited for all the same.
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

    /// Waits until a descriptor can be read or written, or the task was cancelled.
    private func wait(for events: Int16) throws(Errno) {
        let cancellation = Cancellation.current
        let time = cancellation == nil ? -1 : Cancellation.patience
        repeat {
            guard cancellation?.isCancelled != true else { throw .canceled }
        } while try retrying({ SystemCalls.current.wait(rawValue, events, time) }) == 0
    }

    /// How many bytes are written at once where a write may wait. A write that waits cannot be ended, so a call that may
    /// be cancelled waits first, and writes no more than then finds room.
    private var mostAtOnce: Int {
        Cancellation.current == nil || (try? status())?.kind == .regular ? .max : Int(PIPE_BUF)
    }

    /// Runs `body` under a shared lock, and tells it whether there is one: some file systems have none.
    func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        let isLocked = (try? retrying { SystemCalls.current.lock(rawValue, LOCK_SH) }) != nil
        defer {
            if isLocked { _ = try? retrying { SystemCalls.current.lock(rawValue, LOCK_UN) } }
        }
        return try body(isLocked)
    }
}

extension FileDescriptor.Reading {
    fileprivate var flags: Int32 {
        switch self {
        case .anything: 0
        case .storage: O_NONBLOCK
        case .folder: O_DIRECTORY
        }
    }
}
