import Hummingbird
import NIOCore

extension Request {
    /// The answer to a request for a file: all of it, or the range that the client asks for.
    ///
    /// - Parameters:
    ///   - length: the bytes of the file.
    ///   - pieces: gives a range of them. They are read as the client takes them.
    func answer<Pieces: AsyncSequence>(
        length: UInt64, _ pieces: (Range<UInt64>) throws -> Pieces
    ) throws -> Response where Pieces: Sendable, Pieces.Element: Sequence<UInt8> {
        var headers: HTTPFields = [.acceptRanges: "bytes"]
        var range = 0..<length
        if let asked = self.headers[.range] {
            guard let part = ByteRange(asked)?.within(length) else {
                throw HTTPError(.rangeNotSatisfiable, headers: [.contentRange: "bytes */\(length)"], message: nil)
            }
            range = part
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        }
        let part = try pieces(range)
        let body = ResponseBody(contentLength: range.count) { writer in
            for try await bytes in part { try await writer.write(ByteBuffer(bytes: bytes)) }
            try await writer.finish(nil)
        }
        return Response(status: self.headers[.range] == nil ? .ok : .partialContent, headers: headers, body: body)
    }
}
