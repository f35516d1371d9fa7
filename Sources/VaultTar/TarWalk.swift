/// Parses a tar stream as it passes, from its first byte on. It holds one block, or the data of one extension header.
struct TarWalk: Sendable {
    private enum State {
        case headers
        case content(left: UInt64)
        case ended
        case failed(NotTar)
    }

    private var state = State.headers
    private var parser = TarEntryParser(at: 0)
    private var held: [UInt8] = []

    /// Whether the end of the stream was reached.
    var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }

    /// Takes the next bytes, and passes each entry whose headers are complete to `body`. Bytes behind the end of the
    /// stream are ignored.
    ///
    /// - Throws: `NotTar`, at every further call too.
    mutating func take(_ bytes: Span<UInt8>, _ body: (TarEntry) throws(NotTar) -> Void) throws(NotTar) {
        var position = 0
        do throws(NotTar) {
            while position < bytes.count {
                switch state {
                case .ended: return
                case .failed(let error): throw error
                case .content(let left):
                    let count = UInt64(bytes.count - position)
                    guard left <= count else {
                        state = .content(left: left - count)
                        return
                    }
                    position += Int(left)
                    state = .headers
                case .headers:
                    let count = min(parser.wanted - held.count, bytes.count - position)
                    if held.isEmpty, count == parser.wanted {
                        try step(bytes.extracting(position..<position + count), body)
                    } else {
                        for index in position..<position + count { held.append(bytes[index]) }
                        if held.count == parser.wanted {
                            let whole = held
                            held.removeAll(keepingCapacity: true)
                            try step(whole.span, body)
                        }
                    }
                    position += count
                }
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private mutating func step(_ bytes: Span<UInt8>, _ body: (TarEntry) throws(NotTar) -> Void) throws(NotTar) {
        switch try parser.take(bytes) {
        case .more: break
        case .end: state = .ended
        case .entry(let entry):
            try body(entry)
            let next = entry.nextPlace
            let left = next * UInt64(TarBlock.count) - entry.contentOffset
            if left > 0 { state = .content(left: left) }
            parser = TarEntryParser(at: next)
        }
    }
}
