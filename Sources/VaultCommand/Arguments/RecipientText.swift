/// Tells texts of public keys and of identities from names, before they are read.
enum RecipientText {
    /// The beginnings of the names of ssh keys, also of those that cannot encrypt.
    private static let sshTypes = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]

    /// Whether it is meant as a public key, and not as a name: no name begins so (KEYRING-9).
    static func isKey(_ bytes: [UInt8]) -> Bool { begins(bytes, with: "age1") || isSSHLine(bytes) }

    /// Whether it is meant as a line of an ssh key. A name has no space.
    static func isSSHLine(_ bytes: [UInt8]) -> Bool {
        bytes.contains(UInt8(ascii: " ")) && sshTypes.contains { begins(bytes, with: $0) }
    }

    /// Whether it is the first word of such a line, which the shell has cut off.
    static func isTypeOfSSH(_ word: [UInt8]) -> Bool {
        word == Array("ssh-ed25519".utf8) || word == Array("ssh-rsa".utf8)
    }

    /// Whether it is meant as an identity, in whatever case.
    static func isIdentity(_ bytes: [UInt8]) -> Bool {
        begins(bytes, with: "age-secret-key-") || begins(bytes, with: "age-plugin-")
    }

    private static func begins(_ bytes: [UInt8], with text: String) -> Bool {
        let text = Array(text.utf8)
        return bytes.count >= text.count
            && text.indices.allSatisfy { text[$0] == bytes[$0] || text[$0] == bytes[$0] | 0x20 && bytes[$0] >= 0x41 }
    }
}
