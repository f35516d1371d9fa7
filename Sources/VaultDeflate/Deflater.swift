internal import CZlib

/// zlib's raw deflate. For one thread at a time: it takes its memory once, and uses it for every block.
@safe package final class Deflater: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>

    package init() throws(ZlibFailure) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw ZlibFailure(status: status)
        }
        unsafe self.stream = stream
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Deflates a block into `output`.
    ///
    /// - Returns: the length of the DEFLATE stream; nil if it does not fit into `output`.
    package func deflate(_ block: Span<UInt8>, into output: inout MutableSpan<UInt8>) throws(ZlibFailure) -> Int? {
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
        default: throw ZlibFailure(status: status)
        }
    }
}

/// zlib failed for another reason than the bytes it was given: it got no memory.
package struct ZlibFailure: Error {
    /// What zlib returned.
    package let status: Int32
}
