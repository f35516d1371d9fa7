internal import CPlatform
import SystemPackage
import VaultFormat
internal import VaultSystem

/// Parts of a file that were never written. They take no room on the disk, and read as zeros.
extension FileDescriptor {
    /// The place of the first byte from `offset` on that is not in a hole. The file's own offset moves.
    ///
    /// - Returns: nil if only a hole follows, up to the end of the file.
    func data(from offset: UInt64) throws(Errno) -> UInt64? {
        do {
            return try seek(to: offset, Self.whence.data)
        } catch {
            guard error == .noSuchAddressOrDevice else { throw error }
            return nil
        }
    }

    /// The place of the first byte from `offset` on that is in a hole, or the end of the file. The file's own offset
    /// moves.
    func hole(from offset: UInt64) throws(Errno) -> UInt64 {
        try seek(to: offset, Self.whence.hole)
    }

    private func seek(to offset: UInt64, _ whence: Int32) throws(Errno) -> UInt64 {
        UInt64(clamping: try retrying { SystemCalls.current.seek(rawValue, Int64(clamping: offset), whence) })
    }

    // SEEK_DATA and SEEK_HOLE, which the C library declares only for GNU sources.
    #if canImport(Darwin)
    private static let whence: (data: Int32, hole: Int32) = (4, 3)
    #else
    private static let whence: (data: Int32, hole: Int32) = (3, 4)
    #endif

    /// Makes a file longer. The new bytes are a hole.
    func extend(to length: UInt64) throws(Errno) {
        try retrying { SystemCalls.current.truncate(rawValue, Int64(clamping: length)) }
    }
}

extension Span<UInt8> {
    /// Whether all bytes are zeros.
    var isZero: Bool {
        unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            // Each byte equals the one before it.
            return unsafe bytes[0] == 0 && memcmp(start, start + 1, bytes.count - 1) == 0
        }
    }
}
