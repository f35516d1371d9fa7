public import VaultFormat

/// How a container is made. The defaults suit almost every use.
public struct SealOptions: Hashable, Sendable {
    /// The bytes of the stream in a full record. Larger chunks cost less per byte and more per seek.
    public var chunkSize = ChunkSize.standard
    /// The size of a header copy; for a container with a header file, the size of that file.
    ///
    /// If nil: the larger of 4096 and the size for the slots and one more as long as the longest; at least 16,384 for a
    /// slot of X-Wing if the plaintext may be 1 MiB or longer; for less than 64 KiB of plaintext, the size for the slots
    /// (WRITE-7). Less than 4096 is allowed for less than 64 KiB of plaintext only.
    public var headerCapacity: HeaderCapacity?
    /// Whether the plaintext is compressed. The container shows that it is, and its length then tells something about
    /// the contents: do not compress a secret together with data that other people choose.
    public var compression = Compression.none
    /// The context that the container is bound to. Readers must give the same one (Spec 3.2).
    public var context = Context.none
    /// Whether recipients with post-quantum public keys and with classical ones may be in one header. If not, they are
    /// the error `mixedRecipients`: a quantum computer opens the container by the weakest slot.
    public var mayMixRecipients = false
    /// Whether the manifest holds the SHA-256 of the plaintext.
    public var digest = false
    /// Whether the manifest holds an index if the plaintext is a tar stream (Spec, chapter 24). With it a reader finds one
    /// file of the stream without reading the others. ``Manifest/tarIndex`` tells whether the plaintext was one.
    public var tarIndex = false
    /// The metadata of the plaintext, which the manifest holds encrypted.
    public var metadata = Metadata()

    /// The defaults.
    public init() {}
}
