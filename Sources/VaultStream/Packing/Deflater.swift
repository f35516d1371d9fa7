internal import CZlib
import VaultFormat

/// zlib's raw deflate. For one thread at a time: its memory is taken once, and used for one block after the other.
@safe final class Deflater: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: `memoryUnavailable`.
    init() throws(VaultError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw ZlibFailure.error(status)
        }
        unsafe self.stream = stream
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Deflates a block into `output`, which is at most as long as the stream may become.
    ///
    /// - Returns: the stream's length; nil where it does not fit.
    func deflate(_ block: Span<UInt8>, into output: inout MutableSpan<UInt8>) throws(VaultError) -> Int? {
        guard !output.isEmpty else { return nil }
        let status = unsafe block.withUnsafeBufferPointer { block -> Int32 in
            unsafe output.withUnsafeMutableBufferPointer { output -> Int32 in
                let status = unsafe deflateReset(stream)
                guard status == Z_OK else { return status }
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: block.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(block.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                return unsafe CZlib.deflate(stream, Z_FINISH)
            }
        }
        switch status {
        case Z_STREAM_END: return unsafe output.count - Int(stream.pointee.avail_out)
        // The output is full before the stream is at its end.
        case Z_OK, Z_BUF_ERROR: return nil
        default: throw ZlibFailure.error(status)
        }
    }
}

/// What zlib says where it is not the bytes that are at fault.
enum ZlibFailure {
    static func error(_ status: Int32) -> VaultError {
        VaultError(.memoryUnavailable, "zlib has no memory to work with (its status is \(status))")
    }
}
