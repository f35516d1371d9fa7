internal import CZlib

/// Inflates blocks with zlib. Only one thread may use it at a time.
package final class Inflater: @unchecked Sendable {
    private let stream: ZlibStream

    /// The result of inflating a body.
    package enum Outcome: Equatable {
        /// The body is the DEFLATE stream of a block of `count` bytes.
        case block(count: Int)
        /// The body breaks a rule of DEFLATE, or is longer or shorter than its stream.
        case malformed(String)
    }

    package init() throws(ZlibFailure) {
        stream = try ZlibStream(.inflate)
    }

    /// Inflates a body into `block`, which is as long as a block may be (PACK-18 to PACK-28). Nothing is written past
    /// the end of `block`, so a small body that would inflate to gigabytes costs no more than one block.
    package func inflate(
        _ body: Span<UInt8>, into block: inout MutableSpan<UInt8>
    ) throws(ZlibFailure) -> Outcome {
        let result = stream.convert(body, into: &block)
        switch result.status {
        case Z_STREAM_END:
            guard result.inputLeft == 0 else {
                return .malformed("there are bytes after the DEFLATE stream of a block")
            }
            return .block(count: block.count - result.outputLeft)
        case Z_OK, Z_BUF_ERROR:
            return .malformed(
                result.outputLeft == 0
                    ? "a body inflates to more than a block, or does not end"
                    : "the DEFLATE stream of a block does not end")
        case Z_DATA_ERROR, Z_NEED_DICT:
            return .malformed("a body is not a DEFLATE stream")
        default:
            throw ZlibFailure(status: result.status)
        }
    }
}
