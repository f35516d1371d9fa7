internal import CZlib

/// Deflates blocks with zlib. Only one thread may use it at a time.
package final class Deflater: @unchecked Sendable {
    private let stream: ZlibStream

    package init() throws(ZlibFailure) {
        stream = try ZlibStream(.deflate)
    }

    /// Deflates a block into `output`.
    ///
    /// - Returns: the length of the DEFLATE stream; nil if it does not fit into `output`.
    package func deflate(_ block: Span<UInt8>, into output: inout MutableSpan<UInt8>) throws(ZlibFailure) -> Int? {
        guard !output.isEmpty else { return nil }
        let result = stream.convert(block, into: &output)
        switch result.status {
        case Z_STREAM_END: return output.count - result.outputLeft
        // The output is full before the stream ends.
        case Z_OK, Z_BUF_ERROR: return nil
        default: throw ZlibFailure(status: result.status)
        }
    }
}
