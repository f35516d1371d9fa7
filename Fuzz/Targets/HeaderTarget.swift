import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A header copy that an attacker with write access made: its checksum is right, because it needs no key.
///
/// The input is the part before the zeros. The target appends zeros, MAC and checksum.
enum HeaderTarget: FuzzTarget {
    static let name = "header"

    static func run(_ input: [UInt8]) throws {
        let copy = HeaderTarget.copy(of: input)
        guard KeySchedule.isIntact(copy) else { return }
        do {
            let header = try HeaderCopy(parsing: copy)
            // A header has only one encoding, so that nothing can be hidden in it.
            let body = HeaderCopy.body(
                preamble: header.preamble, capacity: header.capacity, generation: header.generation,
                slots: header.slots)
            try require(copy.starts(with: body), "a header that was taken is written otherwise")
            try require((1...1024).contains(header.slots.count), "\(header.slots.count) slots")
        } catch is VaultError {
        }
    }

    /// A whole copy of the capacity that it claims.
    private static func copy(of input: [UInt8]) -> [UInt8] {
        let capacity = HeaderCopy.claimedCapacity(input[...])?.bytes ?? 512
        var body = [UInt8](input.prefix(capacity - 64))
        body.pad(to: capacity - HeaderCopy.checksumCount)
        return withChecksum(body + [UInt8](repeating: 0, count: HeaderCopy.checksumCount))
    }
}
