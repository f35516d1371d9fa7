internal import SystemPackage

extension FileDescriptor {
    /// Writes all of the bytes.
    func writeAll(_ bytes: Span<UInt8>) throws {
        try unsafe bytes.withUnsafeBytes { bytes in
            _ = try unsafe writeAll(UnsafeRawBufferPointer(bytes))
        }
    }
}
