public import VaultFormat

extension SeekableVaultReader {
    /// The bytes of a range, read as they are asked for.
    ///
    ///     for try await bytes in try reader.plaintext(in: 1_000_000..<9_000_000) {
    ///         try await response.write(bytes)
    ///     }
    ///
    /// Nothing is read ahead: one piece is held, of 256 KiB or of one record. A slow consumer holds no thread.
    ///
    /// - Parameter range: nil for everything. What can be checked of the whole only, such as the SHA-256, is not
    ///   checked; ``readAll(to:)`` does that.
    /// - Returns: the plaintext. Iteration throws what ``read(_:to:)`` throws, and `CancellationError`.
    /// - Throws: `VaultError` with `rangeInvalid` for a range that does not lie within the plaintext.
    public func plaintext(in range: Range<UInt64>? = nil) throws(VaultError) -> PlaintextRange {
        let range = range ?? 0..<length
        try check(range)
        return PlaintextRange(reader: self, range: range)
    }
}

/// A range of a container's plaintext, read as it is asked for; ``SeekableVaultReader/plaintext(in:)`` makes it.
public struct PlaintextRange: AsyncSequence, Sendable {
    let reader: SeekableVaultReader
    let range: Range<UInt64>

    /// Begins at the beginning of the range.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: reader, rest: range)
    }

    /// Reads as it is asked for bytes.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        /// How much is read at once, at least.
        private static let leastPiece: UInt64 = 1 << 18

        let reader: SeekableVaultReader
        var rest: Range<UInt64>

        /// The next bytes, 256 KiB or one record, in order; nil at the end of the range.
        ///
        /// - Throws: what ``SeekableVaultReader/read(_:to:)`` throws; `CancellationError`. After an error the sequence
        ///   has ended.
        public mutating func next() async throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            // To the end of a chunk, so that no record is opened twice.
            let count = Swift.max(Self.leastPiece, UInt64(reader.opened.header.chunkSize.bytes))
            let (whole, end) = (rest.lowerBound / count * count).addingReportingOverflow(count)
            let piece = rest.clamped(to: rest.lowerBound..<(end ? rest.upperBound : whole))
            rest = piece.upperBound..<rest.upperBound
            do {
                return try await reader.bytes(piece)
            } catch {
                rest = rest.upperBound..<rest.upperBound
                throw error
            }
        }
    }
}
