internal import CZlib
import VaultFormat

/// zlib's raw inflate. For one thread at a time: its memory is taken once, and used for one block after the other.
@safe final class Inflater: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>

    /// What became of a body.
    enum Outcome: Equatable {
        /// It gives so many bytes.
        case block(count: Int)
        /// It breaks a rule of DEFLATE, or of how it stands in its body.
        case malformed(String)
    }

    /// - Throws: `memoryUnavailable`.
    init() throws(VaultError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw ZlibFailure.error(status)
        }
        unsafe self.stream = stream
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Inflates a body into `block`, which is as long as a block may be (PACK-20 to PACK-30). What would come out
    /// behind that is never written, so that a body of a few bytes costs no more than a block, whatever it would
    /// inflate to.
    ///
    /// - Throws: `memoryUnavailable`.
    func inflate(_ body: Span<UInt8>, into block: inout MutableSpan<UInt8>) throws(VaultError) -> Outcome {
        let status = unsafe body.withUnsafeBufferPointer { body -> Int32 in
            unsafe block.withUnsafeMutableBufferPointer { block -> Int32 in
                // Of the body before nothing is left: no distance may reach into another block (PACK-29).
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
            throw ZlibFailure.error(status)
        }
    }
}
