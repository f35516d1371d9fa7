import VaultFormat

/// How much one worker has in hand.
enum PieceSize {
    /// As many whole chunks as come to this many bytes, and one at least: enough that a call of the system and a turn
    /// cost nothing beside it, and little enough that many workers fit into memory.
    static let bytes = 1 << 19

    /// What a pipe is to hold at least: a piece, so that its other end fills or empties it while this one works. Linux
    /// gives a user's pipes 64 MiB in all, and starves the next ones behind that.
    static let pipe = bytes

    static func chunks(of size: ChunkSize) -> Int {
        max(1, bytes / size.bytes)
    }
}
