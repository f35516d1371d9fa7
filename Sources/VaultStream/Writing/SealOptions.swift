public import VaultFormat

/// How a container is made. The defaults are right for almost everybody.
public struct SealOptions: Hashable, Sendable {
    /// What a full record holds: larger chunks cost less per byte and more per seek.
    public var chunkSize = ChunkSize.standard
    /// The size of a header copy. Nil takes the larger of 4096 and what the slots need with one more of the largest,
    /// and for less than 64 KiB of plaintext what they need alone (WRITE-7). Less than 4096 is for less than 64 KiB
    /// only.
    public var headerCapacity: HeaderCapacity?
    /// Whether the plaintext is compressed. It shows in the container, and its length says something of the contents
    /// then: secrets are not to be compressed together with what others choose.
    public var compression = Compression.none
    /// What the container is bound to.
    public var context = Context.none
    /// Whether the manifest holds the SHA-256 of the plaintext.
    public var digest = false
    /// What the manifest says of the file.
    public var metadata = Metadata()

    /// The defaults.
    public init() {}
}
