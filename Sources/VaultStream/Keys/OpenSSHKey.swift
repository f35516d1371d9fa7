import VaultCrypto
import VaultFormat

/// The private key file of OpenSSH, for one ed25519 key without a passphrase (KEYTEXT-7).
///
/// The decoded file is in guarded memory. A container's maker never chooses these bytes, but the user may have got them
/// from anywhere.
extension Identity {
    private static let largestOpenSSHKey = 16_384
    private static let begin = [UInt8]("-----BEGIN OPENSSH PRIVATE KEY-----".utf8)
    private static let end = [UInt8]("-----END OPENSSH PRIVATE KEY-----".utf8)

    /// - Throws: `badKey`, `memoryUnavailable`.
    convenience init(openSSH text: Span<UInt8>) throws(VaultError) {
        guard !KeyText.begins(text, with: "-----begin age encrypted file-----") else {
            throw KeyText.encryptedIdentities
        }
        guard text.begins(with: Self.begin) else {
            throw VaultError(
                .badKey, "it is a private key of another form than OpenSSH's; 'ssh-keygen -p' converts a copy of it")
        }
        guard text.count <= Self.largestOpenSSHKey else {
            throw VaultError(.badKey, "an OpenSSH private key has at most \(Self.largestOpenSSHKey) bytes")
        }
        var letters = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: text.count) }
        guard let letterCount = letters.withMutableBytes({ Self.collect(text, into: &$0) }) else { throw Self.damaged }
        let file = try letters.withBytes { letters throws(VaultError) in
            let letters = letters.extracting(0..<letterCount)
            guard let count = Base64.byteCount(of: letters), count > 0 else { throw Self.damaged }
            var file = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: count) }
            guard file.withMutableBytes({ Base64.decode(letters, into: &$0) }) else { throw Self.damaged }
            return file
        }
        let seed = try file.withBytes { file throws(VaultError) in try Self.seed(in: file) }
        try self.init(.x25519, guarded { () throws(MemoryUnavailable) in try Ed25519.scalar(of: seed) })
    }

    private static let damaged = VaultError(.badKey, "the OpenSSH private key is damaged")

    /// Copies the letters between the first line and the last.
    ///
    /// - Returns: how many letters; nil if the lines around them are not right.
    private static func collect(_ text: Span<UInt8>, into letters: inout MutableSpan<UInt8>) -> Int? {
        var lines = KeyLines()
        var count = 0
        guard let first = lines.nextOfAny(in: text), first.count == begin.count else { return nil }
        while let line = lines.nextOfAny(in: text) {
            let part = text.extracting(line)
            if part.count == end.count, part.begins(with: end) { return lines.nextOfAny(in: text) == nil ? count : nil }
            letters.replace(at: count, with: part)
            count += part.count
        }
        return nil
    }

    /// The seed in a decoded file. The public key is in it three times, and must be the seed's each time.
    private static func seed(in file: Span<UInt8>) throws(VaultError) -> SecretBytes {
        var reader = SecretReader(file.indices)
        guard let magic = reader.take(15), file.equals("openssh-key-v1\0", magic), let cipher = reader.string(file),
            let derivation = reader.string(file),
            let options = reader.string(file), let keyCount = reader.integer(file)
        else { throw damaged }
        guard file.equals("none", cipher), file.equals("none", derivation), options.isEmpty else {
            throw VaultError(
                .badKey,
                "the ssh key is under a passphrase; 'ssh-keygen -p' takes it off a copy, or make a key for age instead")
        }
        guard keyCount == 1, let publicBlob = reader.string(file), let privatePart = reader.string(file),
            reader.isAtEnd,
            privatePart.count.isMultiple(of: 8)
        else {
            throw damaged
        }
        var publicReader = SecretReader(publicBlob)
        guard let name = publicReader.string(file) else { throw damaged }
        guard file.equals("ssh-ed25519", name) else {
            throw VaultError(.badKey, "the ssh key is of another type than ssh-ed25519, which alone can decrypt")
        }
        guard let point = publicReader.string(file), point.count == Ed25519.keyCount, publicReader.isAtEnd else {
            throw damaged
        }
        var privateReader = SecretReader(privatePart)
        guard let check = privateReader.integer(file), check == privateReader.integer(file),
            let privateName = privateReader.string(file), file.equals("ssh-ed25519", privateName),
            let second = privateReader.string(file), second.count == Ed25519.keyCount,
            let pair = privateReader.string(file), pair.count == 2 * Ed25519.keyCount,
            privateReader.string(file) != nil,
            privateReader.isPadding(file)
        else { throw damaged }
        let seed = try guarded { () throws(MemoryUnavailable) in
            try SecretBytes(copying: file.extracting(pair.prefix(Ed25519.keyCount)))
        }
        let expected = try guarded { () throws(MemoryUnavailable) in try Ed25519.publicKey(of: seed) }
        for place in [point, second, pair.suffix(Ed25519.keyCount)]
        where !constantTimeEqual(file.extracting(place), expected.span) {
            throw VaultError(.badKey, "the public key in the OpenSSH private key is not that of its private key")
        }
        return seed
    }
}

extension KeyText {
    static let encryptedIdentities = VaultError(
        .badKey, "it is an encrypted file of age; decrypt it with 'age -d' and give what that prints")
}

/// Reads ssh's structures from secret bytes. It gives ranges, so nothing is copied.
private struct SecretReader {
    private var position: Int
    private let end: Int

    init(_ part: Range<Int>) {
        position = part.lowerBound
        end = part.upperBound
    }

    var isAtEnd: Bool { position == end }

    mutating func take(_ count: Int) -> Range<Int>? {
        // mutant: the counts are those of UInt32
        guard count >= 0, count <= end - position else { return nil }
        defer { position += count }
        return position..<position + count
    }

    mutating func integer(_ bytes: Span<UInt8>) -> UInt32? {
        take(4)?.reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
    }

    mutating func string(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard let count = integer(bytes) else { return nil }
        return take(Int(count))
    }

    /// Whether the rest is 1, 2, 3 …, fewer bytes than a block of 8.
    func isPadding(_ bytes: Span<UInt8>) -> Bool {
        end - position < 8 && (position..<end).allSatisfy { Int(bytes[$0]) == $0 - position + 1 }
    }
}

extension Span<UInt8> {
    /// Whether the bytes in a range are those of a text.
    fileprivate func equals(_ text: String, _ range: Range<Int>) -> Bool {
        range.count == text.utf8.count && zip(range, text.utf8).allSatisfy { self[$0] == $1 }
    }
}
