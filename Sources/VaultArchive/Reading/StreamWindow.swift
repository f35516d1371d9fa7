internal import Synchronization
internal import VaultFormat
public import VaultTar

/// Reads a stream in pieces that are larger than what is asked for, as long as it is read in order: headers and small
/// files then cost one record together, not one each.
public final class StreamWindow: Sendable {
    private struct State {
        var start: UInt64 = 0
        var held: [UInt8] = []
        var ahead = StreamWindow.leastAhead

        var end: UInt64 { start + UInt64(held.count) }
    }

    /// Most containers have records of this length. Pieces end at a multiple of it.
    private static let leastAhead: UInt64 = 1 << 16
    private static let mostAhead: UInt64 = 1 << 20

    /// The length of the stream.
    public let length: UInt64
    private let read: @Sendable (Range<UInt64>) throws -> [UInt8]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - length: the length of the stream in bytes.
    ///   - read: reads a range within the stream.
    public init(length: UInt64, reading read: @escaping @Sendable (Range<UInt64>) throws -> [UInt8]) {
        self.length = length
        self.read = read
    }

    /// The stream, for reading headers.
    public var source: TarSource { TarSource { [self] offset, count in try bytes(at: offset, count: count) } }

    /// The bytes from a place on.
    ///
    /// - Returns: `count` bytes, fewer only at the end of the stream.
    /// - Throws: what reading throws. If bytes that were not asked for cannot be read, that is no error.
    public func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
        try state.withLock { state in
            let start = min(offset, length)
            let wanted = start..<start + min(UInt64(max(0, count)), length - start)
            guard !wanted.isEmpty else { return [] }
            if wanted.lowerBound < state.start || wanted.upperBound > state.end {
                let goesOn = wanted.lowerBound >= state.start && wanted.lowerBound < state.end + state.ahead
                state.ahead = goesOn ? min(2 * state.ahead, Self.mostAhead) : Self.leastAhead
                let end = (wanted.lowerBound + state.ahead) / Self.leastAhead * Self.leastAhead
                let more = wanted.lowerBound..<min(length, max(wanted.upperBound, end))
                do {
                    state.held = try read(more)
                } catch {
                    state.held = []
                    guard more != wanted else { throw error }
                    state.held = try read(wanted)
                }
                state.start = wanted.lowerBound
            }
            let first = Int(wanted.lowerBound - state.start)
            return [UInt8](state.held[first..<min(state.held.count, first + wanted.count)])
        }
    }
}
