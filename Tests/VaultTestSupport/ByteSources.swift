import Synchronization
import VaultFile

/// Memory that returns one byte at a time.
package struct TrickleSource: ByteSource {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func size() -> UInt64 { UInt64(bytes.count) }

    package func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int {
        guard !buffer.isEmpty, offset < UInt64(bytes.count) else { return 0 }
        buffer[0] = bytes[Int(offset)]
        return 1
    }
}

/// A source that asks at every call what to do.
package struct ScriptedSource: ByteSource {
    private let sizeBody: @Sendable () throws -> UInt64
    private let readBody: @Sendable (_ offset: UInt64, _ count: Int) throws -> (bytes: [UInt8], claimed: Int)
    package var readSize = standardReadSize

    /// - Parameter read: Returns the bytes for the buffer, and the count to report, which may be a different one.
    package init(
        size: @escaping @Sendable () throws -> UInt64,
        read: @escaping @Sendable (_ offset: UInt64, _ count: Int) throws -> (bytes: [UInt8], claimed: Int)
    ) {
        sizeBody = size
        readBody = read
    }

    package func size() throws -> UInt64 { try sizeBody() }

    package func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        let (bytes, claimed) = try readBody(offset, buffer.count)
        for (index, byte) in bytes.prefix(buffer.count).enumerated() { buffer[index] = byte }
        return claimed
    }
}

/// A source that shows another version each time its size is asked for. A reader asks for the size at the beginning of
/// every reading.
package final class ChangingSource: ByteSource {
    private let version: @Sendable (_ look: Int) -> [UInt8]
    private let hasLock: Bool
    private let state = Mutex((looks: 0, bytes: [UInt8](), locks: 0))

    /// - Parameter version: The contents at the first, second and third reading.
    package init(hasLock: Bool = false, _ version: @escaping @Sendable (_ look: Int) -> [UInt8]) {
        self.hasLock = hasLock
        self.version = version
    }

    /// How often a reader has read the source.
    package var looks: Int { state.withLock { $0.looks } }
    /// How often a reader has taken the lock.
    package var locks: Int { state.withLock { $0.locks } }

    package func size() -> UInt64 {
        state.withLock {
            $0.looks += 1
            $0.bytes = version($0.looks)
            return UInt64($0.bytes.count)
        }
    }

    package func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int {
        MemorySource(state.withLock { $0.bytes }).read(at: offset, into: &buffer)
    }

    package func withSharedLock<R>(_ body: (Bool) throws -> R) throws -> R {
        state.withLock { $0.locks += 1 }
        return try body(hasLock)
    }
}
