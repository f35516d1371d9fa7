import VaultCrypto
import VaultFile
import VaultStore
import VaultStream
import VaultTestSupport

/// The texts of a store: card, keybag, and what a label holds. Each input is read as all of them.
enum StoreTextsTarget: FuzzTarget {
    static let name = "storetexts"

    static func run(_ input: [UInt8]) throws {
        try runLabel(input)
        guard !input.isEmpty else { return }
        try runText(input, "card") { try StoreCard(parsing: $0).encoded() }
        try runText(input, "keybag") { try StoreKeybag(parsing: $0).encoded() }
        // As the system keeps it for a process without the keys of the other classes.
        let kept = [ItemProtection.afterFirstUnlock]
        try runText(input, "kept keybag") { try StoreKeybag(parsing: $0, of: kept).encoded(of: kept) }
    }

    /// What a text is written as has the same lines, and is read as itself. The identities of a keybag may stand
    /// between its keys; a writer puts them first.
    private static func runText(
        _ input: [UInt8], _ noun: String, _ rewrite: (consuming SecretBuffer) throws -> SecretBuffer
    ) throws {
        guard let written = try rewritten(input, rewrite) else { return }
        func lines(_ text: [UInt8]) -> [[UInt8]] {
            text.split(separator: 0x0A, omittingEmptySubsequences: false).map([UInt8].init).sorted {
                $0.lexicographicallyPrecedes($1)
            }
        }
        try require(lines(written) == lines(input), "a \(noun) that was taken is written with other lines")
        try require(try rewritten(written, rewrite) == written, "a \(noun) that was written is written otherwise")
    }

    /// Nil if the text is refused.
    private static func rewritten(
        _ input: [UInt8], _ rewrite: (consuming SecretBuffer) throws -> SecretBuffer
    ) throws -> [UInt8]? {
        var buffer = try SecretBuffer(count: input.count)
        buffer.withMutableBytes { $0.replace(at: 0, with: input.span) }
        do {
            return try rewrite(buffer).withBytes { [UInt8](copying: $0) }
        } catch let error as StoreError where error.code == .storeMalformed {
            return nil
        } catch let error as VaultError where error.code == .unsupportedVersion {
            return nil
        }
    }

    private static func runLabel(_ input: [UInt8]) throws {
        guard let label = ItemLabel.parsed(input) else { return }
        try require(label.written == input, "a label that was taken is written otherwise")
        try require((1...255).contains(label.name.count), "a name has \(label.name.count) bytes")
        let parts = label.name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let areValid = parts.allSatisfy { !$0.isEmpty && $0 != [0x2E] && $0 != [0x2E, 0x2E] }
        try require(areValid, "a name has a part that it cannot have")
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        LineMutation.mutated(input, &random, change: change, limit: limit, line: line)
    }

    /// The key pair of the worked example in the Spec.
    private static let publicID = "a07d788b8511d35f6f5275f75214d16b"
    private static let publicKey = "age1q73he0q5yzfu3d64msd3p6rvksnrwjk3d2598mgtmlqt9wrdr37q2vrn72"
    private static let identity = "AGE-SECRET-KEY-1QYPQXPQ9QCRSSZG2PVXQ6RS0ZQG3YYC5Z5TPWXQERGD3C8G7RUSQGPQYEE"

    /// A line that is right in itself.
    private static func line(_ random: inout SeededRandom) -> [UInt8] {
        let key = testKey(random.bytes(32))
        let state = random.pick(["current", "retired"])
        let time = random.pick(["2026-11-21T10:00:00Z", "0000-01-01T00:00:00Z", "2024-02-29T23:59:59Z"])
        let secret = (try? KeyLine.upper(of: key)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let protection = random.pick(ItemProtection.allCases).rawValue
        return [UInt8](
            random.pick([
                "key \(protection) \(state) \(time) \(key.id) \(secret)", "index \(key.id) \(secret)",
                "index-id \(key.id)", "public \(publicID)", "public \(key.id)",
                "public unlessOpen \(state) \(time) \(publicID) \(publicKey) \(key.id)",
                "identity unlessOpen \(state) \(time) \(publicID) \(identity)",
            ]).utf8)
    }
}
