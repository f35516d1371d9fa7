internal import CZlib

/// zlib's raw inflate. For one thread at a time: it takes its memory once, and uses it for every block.
@safe package final class Inflater: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>

    /// The result of inflating a body.
    package enum Outcome: Equatable {
        /// The body is the DEFLATE stream of a block of `count` bytes.
        case block(count: Int)
        /// The body breaks a rule of DEFLATE, or is longer or shorter than its stream.
        case malformed(String)
    }

    package init() throws(ZlibFailure) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw ZlibFailure(status: status)
        }
        unsafe self.stream = stream
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Inflates a body into `block`, which is as long as a block may be (PACK-20 to PACK-30). Nothing is written past
    /// the end of `block`: a body of a few bytes costs no more than one block, whatever its maker had it inflate to.
    package func inflate(
        _ body: Span<UInt8>, into block: inout MutableSpan<UInt8>
    ) throws(ZlibFailure) -> Outcome {
        let status = unsafe body.withUnsafeBufferPointer { body -> Int32 in
            unsafe block.withUnsafeMutableBufferPointer { block -> Int32 in
                // Nothing is left of the body before: no distance may reach into another block (PACK-29).
                let status = unsafe inflateReset(stream)
                guard status == Z_OK else { return status }
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: body.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(body.count)
                unsafe stream.pointee.next_out = block.baseAddress
                unsafe stream.pointee.avail_out = UInt32(block.count)
                return unsafe CZlib.inflate(stream, Z_FINISH)
            }
        }
        let (inputLeft, outputLeft) = unsafe (Int(stream.pointee.avail_in), Int(stream.pointee.avail_out))
        switch status {
        case Z_STREAM_END:
            guard inputLeft == 0 else { return .malformed("there are bytes behind the DEFLATE stream of a block") }
            return .block(count: block.count - outputLeft)
        case Z_OK, Z_BUF_ERROR:
            return .malformed(
                outputLeft == 0
                    ? "a body inflates to more than a block, or does not end"
                    : "the DEFLATE stream of a block does not end")
        case Z_DATA_ERROR, Z_NEED_DICT:
            return .malformed("a body is no DEFLATE stream")
        default:
            throw ZlibFailure(status: status)
        }
    }
}
