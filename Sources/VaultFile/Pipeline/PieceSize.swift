import VaultFormat

/// The size of a piece, which one worker has in its memory.
enum PieceSize {
    /// A piece has as many whole chunks as fit into this many bytes, and at least one.
    static let bytes = FileSource.standardReadSize

    /// What a pipe should hold: a piece, so that its other end fills or empties it while this end works. Linux gives
    /// all pipes of a user 64 MiB together, and little to those that come after.
    static let pipe = bytes

    /// The most that a source may ask for.
    static let most = 1 << 26

    /// - Parameter bytes: what a piece may have.
    static func chunks(of size: ChunkSize, in bytes: Int = bytes) -> Int {
        max(1, min(bytes, most) / size.bytes)
    }
}
