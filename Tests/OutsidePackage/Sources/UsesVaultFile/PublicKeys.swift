import VaultFile

/// Containers for the owners of public keys.
func publicKeys(in folder: FilePath) throws {
    let identity = try Identity.generate(.x25519)
    let publicKey = try PublicKey(identity.publicKey.text)
    try check(publicKey == identity.publicKey && publicKey.kind == .x25519 && identity.description.contains("age1"))
    try check(PublicKey(.x25519, bytes: publicKey.bytes) == publicKey && publicKey.fingerprint.count == 32)
    try check(publicKey.description == publicKey.text)
    try check(code { _ = try PublicKey("age1") } == .badKey && Identity.byteCount == 32)

    let again = try identity.withFile(created: Timestamp(seconds: 0)) { text in
        try IdentityFile(text).identities
    }
    try check(again.count == 1 && again[0].publicKey == publicKey)
    let published = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
    try check(Identity(text: [UInt8](published.utf8).span).publicKey.kind == .x25519)

    let lines = "# friends\n\(publicKey)\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQc= old\n"
    let file = try RecipientFile([UInt8](lines.utf8).span)
    try check(file.publicKeys == [publicKey])
    let skipped: RecipientFile.SkippedLine? = file.skipped.first
    try check(skipped?.number == 3 && skipped?.reason.contains("rsa") == true)

    let (source, path) = (folder.appending("public.txt"), folder.appending("public"))
    try put(text, at: source)
    // One recipient gets one slot.
    try Vault.encryptFile(at: source, to: path, for: [.publicKey(publicKey), .identity(identity, isHidden: true)])
    let back = folder.appending("public.back")
    try check(Vault.decryptFile(at: path, to: back, with: .identity(identity)).header.slots.count == 1)
    let header = try Inspection(FileSource(at: path)).front.summary
    try check(header?.slots.first.map { !$0.isHidden && $0.keyID == header.map(publicKey.slotID) } == true)
    let sealed = folder.appending("identity.vault")
    try identity.withFile { text in
        let bytes = text.indices.map { text[$0] }
        try put(bytes, at: source)
    }
    try Vault.encryptFile(at: source, to: sealed, for: [.publicKey(publicKey)])
    let inside = try IdentityFile(inContainer: FileSource(at: sealed), with: .identity(identity))
    try check(inside.identities.first?.publicKey == publicKey)
    try check(KeySet(identities: [identity]).identities().count == 1)

    // A quantum computer opens the container by the weaker slot.
    let strong: Identity
    do {
        strong = try Identity.generate(.xWing)
    } catch {
        guard error.code == .badKey else { throw error }
        return  // The package was built without its trait PublicKeys.
    }
    var change = KeyChange(adding: [.identity(strong)])
    try check(code { _ = try Vault.rotate(at: path, change, with: .identity(identity)) } == .mixedRecipients)
    var options = RotationOptions()
    options.mayMixRecipients = true
    try Vault.rotate(at: path, change, with: .identity(identity), options: options)
    change = KeyChange(adding: [.publicKey(publicKey)])
    change.removing.publicKeys = [strong.publicKey]
    change.removing.identities = [strong]
    try check(change.removing.publicKeys.count == 1 && change.removing.identities.count == 1)
    try Vault.rotate(at: path, change, with: .identity(identity))
    var sealing = SealOptions()
    sealing.mayMixRecipients = true
    var reencrypting = ReencryptionOptions()
    reencrypting.mayMixRecipients = true
    reencrypting.recipientsOf = { copies in copies.isEmpty ? [] : [.publicKey(publicKey)] }
    try check(sealing.mayMixRecipients && reencrypting.mayMixRecipients && strong.publicKey.kind == .xWing)
    var limits = OpenLimits.standard
    limits.maximumPublicKeySlots = 1
    try check(limits.maximumPublicKeySlots > 0)
}
