internal import VaultFile

/// Files that are often mistaken for vaultfiles or key files, by their first bytes.
enum KnownFormats {
    /// How many bytes are examined.
    static let prefixLength = 512

    private static let ageFile = "an age file"
    private static let identity = "an age identity"
    private static let recipient = "an age recipient"
    private static let sshKey = "an OpenSSH key"
    private static let sshLine = "an OpenSSH public key"

    private static let beginnings: [(begin: [UInt8], name: String)] = [
        (Array("age-encryption.org/".utf8), ageFile),
        (Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8), ageFile),
        (Array("-----BEGIN PGP MESSAGE-----".utf8), "an OpenPGP message (gpg)"),
        (Array("$ANSIBLE_VAULT;".utf8), "an Ansible Vault file"),
        ([0x50, 0x4B, 0x03, 0x04], "a zip archive"),
        ([0x50, 0x4B, 0x05, 0x06], "a zip archive"),
        ([0x4C, 0x55, 0x4B, 0x53, 0xBA, 0xBE], "a LUKS volume"),
        (Array("Salted__".utf8), "a file of openssl enc"),
        ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "a 7z archive"),
        ([0x1F, 0x8B], "a gzip file"),
        (Array("BZh".utf8), "a bzip2 file"),
        ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "an xz file"),
        ([0x28, 0xB5, 0x2F, 0xFD], "a zstd file"),
    ]

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Files with keys, by the beginning of their first line that is not a comment.
    private static let secrets: [(begin: [UInt8], name: String)] = [
        (Array("VAULTFILE-KEY-1".utf8), "a vaultfile key file"),
        (Array("AGE-SECRET-KEY-".utf8), identity),
        (Array("AGE-PLUGIN-".utf8), identity),
        (Array("age1".utf8), recipient),
        (Array("-----BEGIN OPENSSH PRIVATE KEY-----".utf8), sshKey),
        (Array("-----BEGIN PGP ".utf8), "an OpenPGP key"),
        (Array("-----BEGIN ".utf8), "a PEM file"),
        (Array("ssh-".utf8), sshLine),
        (Array("ecdsa-sha2-".utf8), sshLine),
        (Array("sk-ssh-".utf8), sshLine),
        (Array("sk-ecdsa-".utf8), sshLine),
    ]

    /// What kind of file it is, in words; nil if unknown.
    static func name(of prefix: [UInt8]) -> String? {
        if let known = beginnings.first(where: { prefix.starts(with: $0.begin) }) { return known.name }
        return beginsOpenPGP(prefix) ? "an OpenPGP message (gpg)" : secret(in: prefix.span)
    }

    /// What kind of keys a file holds that begins so, in words after its name; nil if none.
    static func keyHolder(_ text: Span<UInt8>) -> String? {
        if beginsAsKeyFile(text) { return "is a key file" }
        let name = secret(in: text)
        return name == identity || name == sshKey ? "is a file of identities" : nil
    }

    /// Whether a file that begins so may be a key file of vaultfile, even one with a mistake that can be mended.
    private static func beginsAsKeyFile(_ text: Span<UInt8>) -> Bool {
        let start = firstLine(of: text, after: text.starts(with: byteOrderMark) ? byteOrderMark.count : 0)
        let begin = secrets[0].begin
        // The line of a key is all upper or all lower case.
        return text.count - start >= begin.count
            && begin.indices.allSatisfy { begin[$0] == text[start + $0] || begin[$0] | 0x20 == text[start + $0] }
    }

    /// Whether a file that begins so is meant to have identities, even if it has a mistake.
    static func beginsAsIdentities(_ text: Span<UInt8>) -> Bool {
        ["an age identity", "an OpenSSH key"].contains(secret(in: text))
    }

    /// What is wrong with a text that is not a key file; nil if it may be a typing mistake. The text may still hold a
    /// secret, so it is examined in place: no byte is copied to the heap, which is not wiped.
    static func trouble(ofKeyFile text: Span<UInt8>) -> String? {
        if text.starts(with: Vault.beginning) { return "is a container, not a key file" }
        if text.starts(with: byteOrderMark) {
            return "begins with a byte order mark; a key file is plain text without one"
        }
        for mark: [UInt8] in [[0xFF, 0xFE], [0xFE, 0xFF], [0, 0x23], [0x23, 0], [0, 0x56], [0x56, 0]]
        where text.starts(with: mark) {
            return "is UTF-16; a key file is plain ASCII text"
        }
        if let known = beginnings.first(where: { text.starts(with: $0.begin) }) {
            return "is \(known.name), not a vaultfile key file"
        }
        if let name = secret(in: text), name != secrets[0].name { return "is \(name), not a vaultfile key file" }
        return hasIndentedLine(text) ? "has a line that begins with a blank; no line of a key file does" : nil
    }

    /// What a file with keys of other programs holds.
    enum KeyKind {
        case recipients, identities
    }

    /// What kind of keys a file holds that begins so; nil if these are none of other programs.
    static func kind(of text: Span<UInt8>) -> KeyKind? {
        switch secret(in: text) {
        case recipient, sshLine: .recipients
        case identity, sshKey: .identities
        default: nil
        }
    }

    /// What helps with a file of another program that begins so; nil if nothing is known to help.
    static func hint(forFile prefix: [UInt8]) -> Hint? { name(of: prefix) == ageFile ? .ageDecrypts : nil }

    /// How the keys in a file are named that was named as a key file; nil if that is unknown.
    static func hint(forKeyFile text: Span<UInt8>) -> Hint? {
        switch secret(in: text) {
        case identity, sshKey: .identitiesOption
        case recipient, sshLine: .recipientsFile
        default: nil
        }
    }

    /// What helps if a file of public keys is none.
    static func hint(forRecipients text: Span<UInt8>) -> Hint? {
        switch secret(in: text) {
        case identity, sshKey: .publicKeyOfIdentity
        case secrets[0].name: .keyFileOption
        case sshLine: .sshKeysThatDecrypt
        default: nil
        }
    }

    /// What helps if a file of identities is none (KEYTEXT-8).
    ///
    /// - Parameter reason: What is wrong with it.
    static func hint(forIdentities text: Span<UInt8>, _ reason: String) -> Hint? {
        if beginnings.contains(where: { $0.name == ageFile && text.starts(with: $0.begin) }) {
            return .decryptIdentities
        }
        return switch secret(in: text) {
        case recipient: .privateHalf
        case sshLine: .privateHalfOfSSH
        case secrets[0].name: .keyFileOption
        case sshKey: reason.contains("passphrase") ? .takePassphraseOff : .sshKeysThatDecrypt
        case "a PEM file": .convertToOpenSSH
        default: nil
        }
    }

    /// What kind of key a text holds, by its first line that is not a comment.
    private static func secret(in text: Span<UInt8>) -> String? {
        let line = text.extracting(firstLine(of: text)..<text.count)
        return secrets.first { line.starts(with: $0.begin) }?.name
    }

    /// Where the first line begins that is neither empty nor a comment; the end of the text if there is none.
    private static func firstLine(of text: Span<UInt8>, after start: Int = 0) -> Int {
        var start = start
        while start < text.count, [UInt8(ascii: "#"), 0x0A, 0x0D].contains(text[start]) {
            while start < text.count, text[start] != 0x0A { start += 1 }
            start += 1
        }
        return min(start, text.count)
    }

    private static func hasIndentedLine(_ text: Span<UInt8>) -> Bool {
        text.indices.contains { index in
            (index == 0 || text[index - 1] == UInt8(ascii: "\n"))
                && (text[index] == UInt8(ascii: " ") || text[index] == UInt8(ascii: "\t"))
        }
    }

    /// Whether it begins as a binary OpenPGP message does. Such a message has no magic: its first packet holds an
    /// encrypted session key, and its tag, length and version must fit together (RFC 9580, sections 4.2, 5.1 and 5.3).
    private static func beginsOpenPGP(_ prefix: [UInt8]) -> Bool {
        guard prefix.count >= 5, prefix[0] & 0x80 != 0 else { return false }
        let isNewForm = prefix[0] & 0x40 != 0
        let tag = isNewForm ? prefix[0] & 0x3F : prefix[0] >> 2 & 0x0F
        let lengthSize = isNewForm ? (prefix[1] < 192 ? 1 : 2) : 1 << Int(prefix[0] & 3)
        guard lengthSize <= 2 else { return false }
        let version = prefix[1 + lengthSize]
        switch tag {
        case 1: return version == 3 || version == 6
        case 3: return version == 4 || version == 5 || version == 6
        default: return false
        }
    }
}
