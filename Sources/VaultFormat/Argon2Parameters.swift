/// The cost of one attempt with a passphrase: the parameters of Argon2id (KEY-12).
///
/// A passphrase slot stores them. Every attempt to open the slot with a passphrase takes this memory and this time, for
/// its holder and for an attacker who guesses. Argon2id always runs with one lane.
public struct Argon2Parameters: Hashable, Sendable {
    /// The number of passes over the memory. Readers accept 1 to 64, writers 2 to 64 (SLOT-10, WRITE-8).
    public var passes: UInt32
    /// The memory in KiB. Readers accept 8 KiB to 2 GiB, writers 19 MiB to 2 GiB (SLOT-10, WRITE-8).
    public var memoryKiB: UInt32

    /// Any values. A writer refuses those that it may not use (WRITE-8), and those that no reader accepts (SLOT-10).
    public init(passes: UInt32, memoryKiB: UInt32) {
        self.passes = passes
        self.memoryKiB = memoryKiB
    }

    /// The default: 3 passes over 256 MiB. It takes some tenths of a second on a machine of 2025.
    public static let standard = Argon2Parameters(passes: 3, memoryKiB: 256 << 10)

    /// The three parameters in the form in which a slot's body begins. There is one lane.
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

    /// Whether a writer may use these values: readers accept them, and they are not too cheap to guard a passphrase.
    package var isAllowedForWriting: Bool {
        passes >= 2 && memoryKiB >= 19 << 10 && isAllowedForReading
    }

    var isAllowedForReading: Bool {
        Self.passesAllowed.contains(passes) && Self.memoryAllowed.contains(memoryKiB)
    }

    /// Passes × memory, in KiB. Both factors are 32 bits wide, so the product fits.
    package var stretchingKiB: UInt64 { UInt64(passes) * UInt64(memoryKiB) }
}
