import VaultFile

/// Keys, passphrases, and where they come from.
func secrets() throws {
    let key = try SymmetricKey.generate()
    let same = try key.withBytes { try SymmetricKey(bytes: $0) }
    try check(same.id == key.id && SymmetricKey.byteCount == 32 && key.description.contains(key.id.description))
    let again = try key.withKeyFile(created: Timestamp(seconds: 0)) { text in
        try check(text.count <= SymmetricKey.largestKeyFile)
        try check(SymmetricKey.creationTime(inKeyFile: text) == Timestamp(seconds: 0))
        return try SymmetricKey(keyFile: text)
    }
    try check(again.id == key.id)
    try check(code { _ = try SymmetricKey(bytes: [1, 2, 3].span) } == .badKey)

    let passphrase = try Passphrase("a word")
    try check(passphrase.description == "Passphrase")
    try check(code { _ = try Passphrase(bytes: [UInt8]().span) } == .badPassphrase)

    let set = KeySet(keys: [key], passphrases: [passphrase])
    try check(set.symmetricKeys(for: [key.id]).count == 1 && set.passphrases().count == 1)

    var buffer = try SecretBuffer(count: FileKey.byteCount)
    buffer.withMutableBytes { bytes in
        for index in bytes.indices { bytes[index] = UInt8(index) }
    }
    let fileKey = try buffer.withBytes { try FileKey(bytes: $0) }
    try check(buffer.count == 32 && fileKey.withBytes { $0[31] } == 31 && fileKey.description == "FileKey")

    var credentials = Credentials(set, context: try Context("a"), limits: .service)
    credentials.limits = .standard
    credentials.context = .none
    try check(credentials.keys.symmetricKeys(for: []).isEmpty)
    _ = [Credentials.key(key), .passphrase(passphrase)]
}
