import VaultCrypto
public import VaultFormat

extension SeekableVaultReader {
    /// A range of the plaintext as a sequence. Each element is read when the consumer asks for it.
    ///
    ///     for try await bytes in try reader.plaintext(1_000_000..<9_000_000) {
    ///         try await response.write(bytes)
    ///     }
    ///
    /// Nothing is read ahead. The sequence holds one piece of 256 KiB, or of one record if that is more. It uses a
    /// thread only while it reads.
    ///
    /// - Parameter range: nil for everything. Even then the SHA-256 of the whole is not checked; ``readAll(to:)-1u4u1``
    ///   checks it.
    /// - Returns: the plaintext. Iteration throws what `bytes` throws, and `CancellationError`.
    /// - Throws: `VaultError` with `rangeInvalid` for a range that does not lie within the plaintext.
    public func plaintext(_ range: Range<UInt64>? = nil) throws(VaultError) -> PlaintextRange {
        let range = range ?? 0..<length
        try check(range)
        return PlaintextRange(reader: self, range: range)
    }
}

/// A range of a container's plaintext. ``SeekableVaultReader/plaintext(_:)`` returns it.
public struct PlaintextRange: AsyncSequence, Sendable {
    let reader: SeekableVaultReader
    let range: Range<UInt64>

    /// Begins a new iteration of the range.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: reader, rest: range)
    }

    /// Reads the next bytes when it is asked for them.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        /// The least number of bytes that one element has, except the last.
        private static let leastPiece: UInt64 = 1 << 18

        let reader: SeekableVaultReader
        var rest: Range<UInt64>

        /// The next bytes, 256 KiB or one record, in order; nil at the end of the range.
        ///
        /// - Throws: what `SeekableVaultReader.bytes` throws; `VaultError` with `memoryUnavailable`; `CancellationError`.
        ///   An error ends the sequence.
        public mutating func next() async throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            // Each piece ends with a chunk. Otherwise two pieces would decrypt the same record.
            let count = Swift.max(Self.leastPiece, UInt64(reader.opened.header.chunkSize.bytes))
            let (whole, end) = (rest.lowerBound / count * count).addingReportingOverflow(count)
            let piece = rest.clamped(to: rest.lowerBound..<(end ? rest.upperBound : whole))
            rest = piece.upperBound..<rest.upperBound
            do {
                // A piece can be as large as a chunk, which the container's maker chose. The array may grow to twice
                // that.
                try ByteBuffer.check(count: 2 * piece.count)
                return try await reader.bytes(piece)
            } catch {
                rest = rest.upperBound..<rest.upperBound
                throw error
            }
        }
    }
}
