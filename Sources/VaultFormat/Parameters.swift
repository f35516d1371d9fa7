/// How many bytes of the stream a full record holds: a power of two, 4 KiB to 8 MiB (HDR-4).
public struct ChunkSize: Hashable, Sendable {
    /// The binary logarithm, 12 to 23.
    public let log2: UInt8

    package init?(log2: UInt8) {
        guard (12...23).contains(log2) else { return nil }
        self.log2 = log2
    }

    /// Nil unless `bytes` is a power of two from 4096 to 8,388,608.
    public init?(bytes: Int) {
        guard bytes.nonzeroBitCount == 1 else { return nil }
        self.init(log2: UInt8(bytes.trailingZeroBitCount))
    }

    /// The size in bytes.
    public var bytes: Int { 1 << Int(log2) }

    /// 4 KiB.
    public static let minimum = ChunkSize(unchecked: 12)
    /// 64 KiB, the default.
    public static let standard = ChunkSize(unchecked: 16)
    /// 8 MiB.
    public static let maximum = ChunkSize(unchecked: 23)

    private init(unchecked log2: UInt8) {
        self.log2 = log2
    }
}

/// How many bytes a header copy takes: a power of two, 512 to 1,048,576 (HDR-7).
public struct HeaderCapacity: Hashable, Sendable, Comparable {
    /// The size in bytes.
    public let bytes: Int

    /// Nil unless `bytes` is a power of two from 512 to 1,048,576.
    public init?(bytes: Int) {
        guard (512...1 << 20).contains(bytes), bytes.nonzeroBitCount == 1 else { return nil }
        self.bytes = bytes
    }

    /// The smallest capacity of at least `count` bytes, if there is one.
    package init?(holding count: Int) {
        var bytes = 512
        while bytes < count, bytes < 1 << 20 { bytes *= 2 }
        guard bytes >= count else { return nil }
        self.bytes = bytes
    }

    /// The least capacity at which a header write shares no sector with payload (WRITE-7).
    package static let separate = HeaderCapacity(unchecked: 4096)

    private init(unchecked bytes: Int) {
        self.bytes = bytes
    }

    /// A, what the tail's offset is a multiple of.
    package var alignment: UInt64 { UInt64(min(bytes, 4096)) }

    /// The least multiple of A that is not below `offset`, which is below 2⁶⁴ − A.
    package func aligned(_ offset: UInt64) -> UInt64 {
        (offset + alignment - 1) / alignment * alignment
    }

    /// Orders by size.
    public static func < (left: HeaderCapacity, right: HeaderCapacity) -> Bool {
        left.bytes < right.bytes
    }
}

/// Bytes that a container is bound to and does not hold: an account, a path, a purpose (KEY-3, KEY-15).
///
/// A container opens only with the context that it was made with. That binds it to its place; it keeps nobody out who
/// has a key, for he has the file key.
public struct Context: Hashable, Sendable {
    /// The bytes; none is the same as no context.
    public let bytes: [UInt8]

    /// No context.
    public static let none = Context(unchecked: [])

    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Throws: `badContext` for more than 65,535 bytes.
    public init(_ bytes: [UInt8]) throws(VaultError) {
        guard bytes.count <= 65_535 else {
            throw VaultError(.badContext, "a context has at most 65,535 bytes")
        }
        self.bytes = bytes
    }

    /// The UTF-8 bytes of a text, as they are.
    ///
    /// - Throws: `badContext` for more than 65,535 bytes.
    public init(_ text: String) throws(VaultError) {
        try self.init([UInt8](text.utf8))
    }
}

/// What it costs to try one passphrase (KEY-12).
public struct Argon2Parameters: Hashable, Sendable {
    /// Passes over the memory.
    public var passes: UInt32
    /// Memory in KiB.
    public var memoryKiB: UInt32

    /// Writers refuse less than 2 passes or 19 MiB, and more than a reader would accept.
    public init(passes: UInt32, memoryKiB: UInt32) {
        self.passes = passes
        self.memoryKiB = memoryKiB
    }

    /// 3 passes over 256 MiB: some tenths of a second on a machine of 2025.
    public static let standard = Argon2Parameters(passes: 3, memoryKiB: 256 << 10)

    /// The three parameters as a slot's body begins with them; there is one lane.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: passes)
        bytes.append(bigEndian: memoryKiB)
        bytes.append(bigEndian: UInt32(1))
        return bytes
    }

    static let passesAllowed: ClosedRange<UInt32> = 1...64
    static let memoryAllowed: ClosedRange<UInt32> = 8...1 << 21
    static let stretchingAllowed: UInt64 = 1 << 22

    /// Whether a writer may use them: what readers accept, and no less than guards a passphrase.
    package var isAllowedForWriting: Bool {
        passes >= 2 && memoryKiB >= 19 << 10 && isAllowedForReading
    }

    var isAllowedForReading: Bool {
        Self.passesAllowed.contains(passes) && Self.memoryAllowed.contains(memoryKiB)
    }

    /// Passes × memory, in KiB. Both factors are 32 bits wide, so the product fits.
    package var stretchingKiB: UInt64 { UInt64(passes) * UInt64(memoryKiB) }
}

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
    ///   may hold different slots, so that one opening stretches up to twice as much for each passphrase given: some two
    ///   seconds of a processor of 2025, three eighths of what `standard` allows.
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

/// In what state the two header copies of an opened container are (SEEK-17, STR-21 to STR-27). It says nothing of the
/// payload, every byte of which is authenticated or not given out.
public enum Health: String, Hashable, Sendable {
    /// Both copies are valid and identical.
    case intact
    /// Both are valid, the tail is the next generation: a rotation was interrupted.
    case rotationUnfinished
    /// Both are valid and differ in a way that no interrupted rotation leaves.
    case copiesConflict
    /// Only the tail copy is valid.
    case frontDamaged
    /// Only the front copy is valid.
    case tailDamaged
}
