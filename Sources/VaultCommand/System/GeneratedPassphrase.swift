internal import VaultFile

/// A random passphrase for people: five groups of four of 32 characters, such as `7kq2-m9xd-r4hw-3ptv-b80c`. Each
/// character has five random bits, so it has 100 bits: too many to guess, even with cheap stretching. The letters
/// i, l and o are left out, because they look like digits, and u, so that fewer words appear by chance.
struct GeneratedPassphrase: ~Copyable {
    static let groups = 5
    static let groupLength = 4
    static let characters = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private var text: SecretBuffer

    /// - Throws: `VaultError` with `memoryUnavailable`.
    init() throws(VaultError) {
        text = try SecretBuffer(count: Self.groups * (Self.groupLength + 1) - 1)
        // The system's cryptographic source: getrandom on Linux, arc4random_buf on macOS.
        var random = SystemRandomNumberGenerator()
        text.withMutableBytes { text in
            for index in 0..<text.count {
                let isDash = index % (Self.groupLength + 1) == Self.groupLength
                text[index] =
                    isDash
                    ? UInt8(ascii: "-") : Self.characters[Int.random(in: Self.characters.indices, using: &random)]
            }
        }
    }

    /// Lends the characters.
    func withBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R { try text.withBytes(body) }
}
