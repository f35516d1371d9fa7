import VaultCrypto
import VaultFormat

/// A line with an ssh public key, as `ssh-keygen` and `authorized_keys` have it (KEYTEXT-6).
struct SSHPublicLine {
    private static let ed25519 = [UInt8]("ssh-ed25519".utf8)

    private let blob: [UInt8]?
    /// Why the key is of no use here, although the line is right; nil for a key that may be.
    let unusable: String?

    /// Nil if the line is not that of an ssh key.
    init?(_ line: [UInt8]) {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard let first = words.first else { return nil }
        if first.elementsEqual(Self.ed25519) {
            blob = words.count > 1 ? Base64.decode(words[1]) : nil
            unusable = nil
            return
        }
        blob = nil
        if words.count > 1, Self.isKey(first, words[1]) {
            let type = String(decoding: first, as: UTF8.self)
            unusable = "a key of type \(type) cannot encrypt here; use ssh-ed25519 or age1"
            return
        }
        let behind = Self.behindOptions(line).split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard behind.count > 1, Self.isKey(behind[0], behind[1]) else { return nil }
        unusable = "a line with options is not a recipient"
    }

    /// What follows the options that a line begins with: the bytes behind the first space that is not within quotes.
    /// Nothing if the line begins with this space: then it has no options.
    private static func behindOptions(_ line: [UInt8]) -> ArraySlice<UInt8> {
        var isQuoted = false
        for (place, letter) in line.enumerated() {
            if letter == UInt8(ascii: "\""), place == 0 || line[place - 1] != UInt8(ascii: "\\") { isQuoted.toggle() }
            if letter == 0x20, !isQuoted { return place > 0 ? line[(place + 1)...] : [] }
        }
        return []
    }

    /// Whether two words are the name of a type and a key of this type.
    private static func isKey(_ name: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard (1...64).contains(name.count), name.allSatisfy({ (0x21...0x7E).contains($0) }),
            let blob = Base64.decode(text)
        else {
            return false
        }
        var reader = ByteReader(blob[...])
        return reader.sshString()?.elementsEqual(name) ?? false
    }

    /// - Throws: `badKey`.
    func publicKey() throws(VaultError) -> PublicKey {
        if let unusable { throw VaultError(.badKey, unusable) }
        guard let blob, let point = Self.point(inBlob: blob[...]) else {
            throw VaultError(.badKey, "the line of the ssh-ed25519 key is damaged")
        }
        return try Self.publicKey(ofPoint: point)
    }

    /// The 32 bytes of an ed25519 key in a public blob.
    static func point(inBlob blob: ArraySlice<UInt8>) -> [UInt8]? {
        var reader = ByteReader(blob)
        guard let name = reader.sshString(), name.elementsEqual(ed25519), let point = reader.sshString(),
            point.count == Ed25519.keyCount, reader.remaining == 0
        else { return nil }
        return [UInt8](point)
    }

    static func publicKey(ofPoint point: [UInt8]) throws(VaultError) -> PublicKey {
        guard let bytes = Ed25519.x25519(of: point) else {
            throw VaultError(.badKey, "the ssh-ed25519 key is not a point of the prime-order group")
        }
        return try PublicKey(.x25519, bytes: bytes)
    }
}

extension ByteReader {
    /// A string of ssh: its length, u32, then its bytes.
    mutating func sshString() -> ArraySlice<UInt8>? {
        guard let count: UInt32 = integer() else { return nil }
        return take(Int(count))
    }
}
