/// Files that people take for vaultfiles, by how they begin.
enum KnownFormats {
    /// How a vaultfile begins; an operand of `encrypt` that does is one already.
    static let vaultfileMagic: [UInt8] = [0x89, 0x56, 0x4C, 0x54, 0x0D, 0x0A, 0x1A, 0x0A]

    /// As many bytes as are looked at.
    static let prefixLength = 64

    private static let beginnings: [(begin: [UInt8], name: String)] = [
        (Array("age-encryption.org/".utf8), "an age file"),
        (Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8), "an age file"),
        (Array("-----BEGIN PGP MESSAGE-----".utf8), "an OpenPGP message (gpg)"),
        (Array("$ANSIBLE_VAULT;".utf8), "an Ansible Vault file"),
        ([0x50, 0x4B, 0x03, 0x04], "a zip archive"),
        ([0x50, 0x4B, 0x05, 0x06], "a zip archive"),
        ([0x4C, 0x55, 0x4B, 0x53, 0xBA, 0xBE], "a LUKS volume"),
        (Array("Salted__".utf8), "a file of openssl enc"),
        ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "a 7z archive"),
        ([0x1F, 0x8B], "a gzip file"),
        (Array("VAULTFILE-KEY-1".utf8), "a vaultfile key file"),
    ]

    /// Whose file it is, in words; nil where nobody's is known.
    static func name(of prefix: [UInt8]) -> String? {
        if let known = beginnings.first(where: { prefix.starts(with: $0.begin) }) { return known.name }
        return beginsOpenPGP(prefix) ? "an OpenPGP message (gpg)" : nil
    }

    /// A binary OpenPGP message has no magic: it begins with the packet of an encrypted session key, whose tag, length
    /// and version must fit together (RFC 9580, sections 4.2, 5.1 and 5.3).
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
