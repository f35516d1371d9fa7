internal import CZlib

/// The state of zlib for raw DEFLATE in one direction. It takes its memory once and serves every block.
@safe struct ZlibStream: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>
    private let direction: Direction

    enum Direction {
        case deflate, inflate
    }

    /// The result of one block.
    struct Result {
        /// What zlib returned.
        let status: Int32
        /// How many bytes of the input were not read.
        let inputLeft: Int
        /// How many bytes of the output were not written.
        let outputLeft: Int
    }

    init(_ direction: Direction) throws(ZlibFailure) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        let status: Int32
        switch direction {
        case .deflate:
            status = unsafe deflateInit2_(
                stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        case .inflate: status = unsafe inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, size)
        }
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw ZlibFailure(status: status)
        }
        unsafe self.stream = stream
        self.direction = direction
    }

    deinit {
        switch direction {
        case .deflate: unsafe deflateEnd(stream)
        case .inflate: unsafe inflateEnd(stream)
        }
        unsafe stream.deallocate()
    }

    /// Converts a block in one step. Nothing is written past the end of `output`.
    func convert(_ input: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Result {
        unsafe input.withUnsafeBufferPointer { input in
            unsafe output.withUnsafeMutableBufferPointer { output in
                // Nothing of the block before is left: no distance may reach into another block (PACK-27).
                var status = direction == .deflate ? unsafe deflateReset(stream) : unsafe inflateReset(stream)
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                if status == Z_OK {
                    status =
                        direction == .deflate
                        ? unsafe CZlib.deflate(stream, Z_FINISH) : unsafe CZlib.inflate(stream, Z_FINISH)
                }
                return unsafe Result(
                    status: status, inputLeft: Int(stream.pointee.avail_in), outputLeft: Int(stream.pointee.avail_out))
            }
        }
    }
}

/// zlib failed for a reason other than the bytes that it was given: it got no memory.
package struct ZlibFailure: Error {
    /// What zlib returned.
    package let status: Int32
}
