/// What a caller lets one opening cost him, below the caps of the format (SLOT-17, ARG-5).
public struct OpenLimits: Hashable, Sendable {
    /// Passphrase slots of one header copy, at most 4.
    public var maximumPassphraseSlots = 4
    /// Argon2 passes of one slot, at most 64.
    public var maximumPasses: UInt32 = 64
    /// Argon2 memory of one slot in KiB, at most 2²¹.
    public var maximumMemoryKiB: UInt32 = 1 << 21
    /// The sum of passes × memory over the passphrase slots of one header copy in KiB, at most 2²².
    public var maximumStretchingKiB: UInt64 = 1 << 22
    /// The longest plaintext that is accepted, in bytes; nil for no limit. What is longer is refused with
    /// `limitExceeded`: by a seeking reader when it opens, by a streaming reader before it passes on more.
    public var maximumPlaintextLength: UInt64?

    /// The caps of the format and nothing below them.
    public init() {}

    /// The caps of the format and nothing below them.
    public static let standard = OpenLimits()

    /// For services that open containers of strangers, many at a time. One or two slots of the default cost open.
    ///
    /// - `maximumPassphraseSlots` 2: every slot that is tried is one more guess at the passphrases given, and costs a
    ///   stretching of each. Two are one in use and one that replaces it.
    /// - `maximumMemoryKiB` 2¹⁸, 256 MiB: what writers take by default. It is what each opening at one time may need,
    ///   besides some tens of mebibytes.
    /// - `maximumPasses` 4: one above what writers take by default.
    /// - `maximumStretchingKiB` 3 × 2¹⁹: two slots of the default cost. The two header copies of a hostile container
    ///   may hold different slots, so that one opening stretches up to twice as much for each passphrase given: some
    ///   two seconds of a processor of 2025, three eighths of what `standard` allows.
    /// - `maximumPlaintextLength` 2³⁰, 1 GiB: a compressed container inflates a thousandfold, one of 1 MiB to 1 GiB, in
    ///   two to three seconds. Recovery can give out a million zeros for each byte of a file.
    ///
    /// A service whose containers are larger or whose slots cost more raises what it has to:
    ///
    ///     var limits = OpenLimits.service
    ///     limits.maximumPlaintextLength = 16 << 30
    ///
    /// Opening by a symmetric key costs no stretching, whatever passphrase slots stand beside. What no limit lowers is
    /// within the caps of the format: header copies and a manifest of 1 MiB each, and records of 8 MiB, of which a
    /// reader holds three (CAP-3). `Recovery` has limits of its own beside these.
    public static let service: OpenLimits = {
        var limits = OpenLimits()
        limits.maximumPassphraseSlots = 2
        limits.maximumMemoryKiB = 1 << 18
        limits.maximumPasses = 4
        limits.maximumStretchingKiB = 3 << 19
        limits.maximumPlaintextLength = 1 << 30
        return limits
    }()

    /// Which of a header copy's slots a caller with these limits may stretch a passphrase for, by index.
    ///
    /// A slot that is beyond the limits does not count against those behind it (SLOT-17).
    package func slotsWithin(_ slots: [Slot]) -> Set<Int> {
        var allowed: Set<Int> = []
        var sum: UInt64 = 0
        for (index, slot) in slots.enumerated() {
            guard let cost = slot.argon2, cost.passes <= maximumPasses, cost.memoryKiB <= maximumMemoryKiB,
                allowed.count < maximumPassphraseSlots, sum + cost.stretchingKiB <= maximumStretchingKiB
            else { continue }
            allowed.insert(index)
            sum += cost.stretchingKiB
        }
        return allowed
    }
}

extension OpenLimits {
    /// - Throws: `limitExceeded` for a longer plaintext than is allowed.
    package func check(plaintextLength: UInt64) throws(VaultError) {
        if let maximumPlaintextLength, plaintextLength > maximumPlaintextLength {
            throw VaultError(
                .limitExceeded, "the plaintext is longer than the \(maximumPlaintextLength) bytes that are allowed")
        }
    }
}
