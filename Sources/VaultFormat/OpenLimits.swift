/// The caller's limits on the cost of one opening, below the caps of the format (SLOT-20, ARG-5, ARG-8).
///
/// A slot that exceeds a limit is not tried. If no other slot opens, the error is `limitExceeded`.
public struct OpenLimits: Hashable, Sendable {
    /// The number of passphrase slots of one header copy that may be tried, at most 4.
    public var maximumPassphraseSlots = 4
    /// The Argon2id passes of one slot, at most 64.
    public var maximumPasses: UInt32 = 64
    /// The Argon2id memory of one slot in KiB, at most 2²¹.
    public var maximumMemoryKiB: UInt32 = 1 << 21
    /// The sum of passes × memory over the passphrase slots of one header copy in KiB, at most 2²².
    public var maximumStretchingKiB: UInt64 = 1 << 22
    /// The number of slots of public keys of one header copy that are tried: so many whose ID belongs to a given identity,
    /// and so many that hide whose they are; at most 64 (SLOT-27).
    public var maximumPublicKeySlots = 64
    /// The number of slots with age stanzas of one header copy that a plugin gets: so many whose ID belongs to a known
    /// recipient of its identities, and so many others; at most 32 (SLOT-33).
    public var maximumStanzaSlots = 32
    /// The longest plaintext that is accepted, in bytes; nil for no limit.
    ///
    /// A longer plaintext is the error `limitExceeded`: in a seeking reader when it opens, in a streaming reader before
    /// it releases more bytes.
    public var maximumPlaintextLength: UInt64?
    /// The largest chunk size that is accepted (ARG-8); at most, and by default, that of the format, 8 MiB.
    ///
    /// Larger chunks give `limitExceeded`, once a key has opened the header. Each thread of a call holds at least one
    /// record, and for a compressed container also one item and one block, all as large as a chunk.
    public var maximumChunkSize = ChunkSize.maximum

    /// The caps of the format, and no lower limit.
    public init() {}

    /// The caps of the format, and no lower limit.
    public static let standard = OpenLimits()

    /// Limits for services that open containers of strangers, many at the same time. One or two slots of the default
    /// cost open.
    ///
    /// - `maximumPassphraseSlots` 2: every slot that is tried lets the container's maker guess at the given passphrases
    ///   once more, and stretches each of them. Two slots allow one in use and one that replaces it.
    /// - `maximumMemoryKiB` 2¹⁸, 256 MiB: the default of writers. Each opening in progress may need this memory,
    ///   besides some tens of mebibytes.
    /// - `maximumPasses` 4: one above the default of writers.
    /// - `maximumStretchingKiB` 3 × 2¹⁹: two slots of the default cost. The two header copies of a hostile container
    ///   may hold different slots, so one opening stretches up to twice as much for each given passphrase. That takes
    ///   about two seconds on a processor of 2025, three eighths of what ``standard`` allows.
    /// - `maximumPlaintextLength` 2³⁰, 1 GiB: a compressed container can inflate a thousandfold, from 1 MiB to 1 GiB,
    ///   in two to three seconds. Recovery can return a million zeros for each byte of a file.
    ///
    /// - `maximumPublicKeySlots` 8: each try of a slot of a public key takes 0.2 ms, or 0.4 ms for X-Wing.
    /// - `maximumStanzaSlots` 0: each try is the work of another program, and may need a person's touch.
    ///
    /// A service with larger containers or more expensive slots raises the limits that it must:
    ///
    ///     var limits = OpenLimits.service
    ///     limits.maximumPlaintextLength = 16 << 30
    ///
    /// Opening with a symmetric key stretches nothing, whatever passphrase slots the header also has. No limit here
    /// lowers the other caps of the format: header copies and a manifest of 1 MiB each, and records of 8 MiB, which
    /// ``maximumChunkSize`` can lower. A reader holds three of those records (CAP-4). Recovery has limits of its own in
    /// addition to these.
    public static let service: OpenLimits = {
        var limits = OpenLimits()
        limits.maximumPassphraseSlots = 2
        limits.maximumMemoryKiB = 1 << 18
        limits.maximumPasses = 4
        limits.maximumStretchingKiB = 3 << 19
        limits.maximumPlaintextLength = 1 << 30
        limits.maximumPublicKeySlots = 8
        limits.maximumStanzaSlots = 0
        return limits
    }()
}

extension OpenLimits {
    /// - Throws: `limitExceeded` if the chunks are larger than allowed.
    package func check(chunkSize: ChunkSize) throws(VaultError) {
        guard chunkSize.bytes <= maximumChunkSize.bytes else {
            throw VaultError(
                .limitExceeded,
                "its chunks of \(chunkSize.bytes) bytes are larger than the \(maximumChunkSize.bytes) allowed")
        }
    }

    /// - Throws: `limitExceeded` if the plaintext is longer than allowed.
    package func check(plaintextLength: UInt64) throws(VaultError) {
        if let maximumPlaintextLength, plaintextLength > maximumPlaintextLength {
            throw VaultError(
                .limitExceeded, "the plaintext is longer than the \(maximumPlaintextLength) bytes allowed")
        }
    }
}
