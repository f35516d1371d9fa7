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
