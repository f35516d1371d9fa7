import VaultCrypto
import VaultFile
import VaultStream
import VaultTestSupport

/// The text of a key file. A key has one line, in upper or in lower case.
enum KeyFileTarget: FuzzTarget {
    static let name = "keyfile"

    static func run(_ input: [UInt8]) throws {
        let key: SymmetricKey
        do throws(VaultError) {
            key = try SymmetricKey(keyFile: input.span)
        } catch {
            return
        }
        let line = try KeyLine.upper(of: key)
        let lines = input.split(separator: 0x0A).filter { $0.first != UInt8(ascii: "#") && $0 != [0x0D] }
        try require(lines.count == 1, "there are \(lines.count) lines of keys")
        let found = lines[0].last == 0x0D ? lines[0].dropLast() : lines[0]
        try require([line, KeyLine.lower(line)].contains([UInt8](found)), "a key has another line")
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        let output = change(input, limit)
        return random.below(3) > 0 ? KeyLine.repaired(output) : output
    }
}

/// The text of a keyring. A list of keys has only one form.
enum KeyringTarget: FuzzTarget {
    static let name = "keyring"

    static func run(_ input: [UInt8]) throws {
        guard !input.isEmpty else { return }
        var buffer = try SecretBuffer(count: input.count)
        buffer.withMutableBytes { $0.replace(at: 0, with: input.span) }
        let text: KeyringText
        do throws(VaultError) {
            text = try KeyringText.parse(buffer)
        } catch {
            return
        }
        for entry in text.entries {
            // Not `flatMap`: the compiler would copy the text, which has no copies.
            let key = if let id = entry.id { try text.key(id) } else { nil as SymmetricKey? }
            try require((key != nil) == entry.isKey, "a key is there, or not, against its state")
            if let key { try require(key.id == entry.id, "a key is another one") }
            guard let identity = try text.identity(entry) else { continue }
            try require(identity.publicKey == entry.publicKey, "an identity is another one")
        }
        let items = text.entries.map { KeyringText.Item($0, $0.hasSecret ? .kept : .none) }
        let written = try text.changed(to: items).withBytes { [UInt8](copying: $0) }
        try require(written == input, "a keyring that was taken is written otherwise")
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        LineMutation.mutated(input, &random, change: change, limit: limit, line: line)
    }

    /// A line that is right in itself.
    private static func line(_ random: inout SeededRandom) -> [UInt8] {
        let key = testKey(random.bytes(32))
        let state = random.pick(["current", "retired", "retired", "destroyed"])
        let secret =
            state == "destroyed" ? "-" : (try? KeyLine.upper(of: key)).map { String(decoding: $0, as: UTF8.self) }
        let time = random.pick(["2026-11-21T10:00:00Z", "0000-01-01T00:00:00Z", "2024-02-29T23:59:59Z"])
        return [UInt8]("\(state) \(time) \(key.id) \(secret ?? "") n\(random.below(1000))".utf8)
    }
}

/// Changes a text of lines.
enum LineMutation {
    /// - Parameter line: makes a line that is right in itself.
    static func mutated(
        _ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int,
        line: (inout SeededRandom) -> [UInt8]
    ) -> [UInt8] {
        var lines = input.split(separator: 0x0A, omittingEmptySubsequences: false).map([UInt8].init)
        let place = random.below(max(lines.count, 1))
        switch random.below(6) {
        case 0 where lines.count > 1: lines.swapAt(place, random.below(lines.count))
        case 1 where !lines.isEmpty: lines.insert(lines[place], at: place)
        case 2 where !lines.isEmpty: lines.insert(line(&random), at: place)
        case 3 where lines.count > 1: lines.remove(at: place)
        case 4 where !lines.isEmpty: lines[place] = change(lines[place], lines[place].count + 30)
        default: return change(input, limit)
        }
        return [UInt8](lines.joined(separator: [0x0A]).prefix(limit))
    }
}

/// The line of a key (appendix A of the Spec).
enum KeyLine {
    private static let alphabet = [UInt8]("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let prefix = [UInt8]("vaultfile-key-".utf8)

    static func upper(of key: SymmetricKey) throws -> [UInt8] {
        let text = try key.withKeyFile { [UInt8](copying: $0) }
        return [UInt8](text.split(separator: 0x0A).last ?? [])
    }

    static func lower(_ line: [UInt8]) -> [UInt8] {
        line.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// The text with the right checksum in each line that could be a key's: a second implementation of BIP 173.
    static func repaired(_ text: [UInt8]) -> [UInt8] {
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).map { line -> [UInt8] in
            let (line, isUpper) = ([UInt8](line), line.first == UInt8(ascii: "V"))
            let small = lower(line)
            guard line.count > prefix.count + 7, small.starts(with: prefix) else { return line }
            let digits = small[(prefix.count + 1)...].dropLast(6).map { alphabet.firstIndex(of: $0) ?? 0 }
            let lead = prefix.map { Int($0 >> 5) } + [0] + prefix.map { Int($0 & 31) }
            var state = 1
            for digit in lead + digits + [Int](repeating: 0, count: 6) {
                let top = state >> 25
                state = (state & 0x1FF_FFFF) << 5 ^ digit
                for (bit, generator) in [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3].enumerated()
                where top >> bit & 1 == 1 { state ^= generator }
            }
            let sum = (0..<6).map { alphabet[(state ^ 1) >> (5 * (5 - $0)) & 31] }
            return line.dropLast(6) + (isUpper ? sum.map { $0 >= 0x61 ? $0 - 0x20 : $0 } : sum)
        }
        return [UInt8](lines.joined(separator: [0x0A]))
    }
}
