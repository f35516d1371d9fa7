import VaultFile

/// A provider that opens stanzas by itself, in place of a plugin.
private struct OwnStanzas: KeyProvider {
    let identity: PluginIdentity
    let secret: StanzaSecret

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [] }
    func pluginIdentities() throws -> [PluginIdentity] { [identity] }

    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        slots.map { $0.first?.type == "own" ? secret : nil }
    }
}

/// A user who answers nothing.
private struct Silent: PluginDialogue {
    func show(_ message: String, from plugin: String) -> Bool { false }
    func confirm(_ message: String, yes: String, no: String?, from plugin: String) throws -> Bool? { nil }
    func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer? { nil }
}

/// Slots that age plugins make and open.
func plugins(in folder: FilePath) throws {
    let text = "age1stand1qyqszqgpqyqszqgpqyqszqgpqyv23s5p"
    let identityText = "AGE-PLUGIN-STAND-1QYQSZQGPQYQSZQGPQYQSZQGPQYTK8CK7"
    let recipient = try PluginRecipient(text)
    try check(recipient.plugin == "stand" && recipient.text == text && recipient.description == text)
    try check(recipient.fingerprint.count == 32)
    try check(RecipientFile.Entry(text) == .plugin(recipient))
    let recipients = try RecipientFile([UInt8]("\(text)\n".utf8).span)
    try check(recipients.entries == [.plugin(recipient)] && recipients.pluginRecipients == [recipient])
    if case .publicKey = recipients.entries[0] { throw Unexpected(line: #line) }

    let file = try IdentityFile([UInt8]("# \(text)\n\(identityText)\n".utf8).span)
    let found = file.pluginIdentities[0]
    switch file.entries[0] {
    case .plugin(let identity): try check(identity.plugin == "stand")
    case .identity: throw Unexpected(line: #line)
    }
    try check(found.knownRecipients == [recipient] && !found.description.contains("1QYQ"))
    let identity = try PluginIdentity(text: [UInt8](identityText.utf8).span, knownRecipients: []).knowing([recipient])
    try check(identity.withText { $0.count } == identityText.utf8.count)
    let written = try identity.withFile { file in String(decoding: file.indices.map { file[$0] }, as: UTF8.self) }
    try check(written == "# recipient: \(recipient.text)\n\(identityText)\n")

    let secret = try StanzaSecret.generate()
    try check(secret.withBytes { $0.count } == StanzaSecret.byteCount && secret.description == "StanzaSecret")
    let sameSecret = try secret.withBytes { try StanzaSecret(bytes: $0) }
    guard let stanza = AgeStanza(["own", "a"], body: [1, 2]) else { throw Unexpected(line: #line) }
    try check(stanza.type == "own" && stanza.arguments.count == 2 && stanza.body.count == 2)
    try check(stanza.encoded == [UInt8]("-> own a\nAQI\n".utf8))
    let wrapped = try WrappedStanzas(
        sameSecret, in: [stanza], for: recipient, labels: [WrappedStanzas.postQuantumLabel])
    try check(wrapped.recipient == recipient && wrapped.isPostQuantum)

    let (source, path) = (folder.appending("stanza.txt"), folder.appending("stanza"))
    try put([1, 2, 3], at: source)
    try Vault.encryptFile(at: source, to: path, for: [.stanzas(wrapped, isHidden: false)])
    let keys = OwnStanzas(identity: identity, secret: secret)
    let opened = try SeekableVaultReader(FileSource(at: path), with: Credentials(keys)).opened
    try check(opened.header.slots.map(\.kind) == [.stanzas])
    try check(opened.header.slots[0].keyID == recipient.slotID(in: opened.header))
    var limits = OpenLimits.standard
    limits.maximumStanzaSlots = 0
    let limited = Credentials(keys, limits: limits)
    try check(code { _ = try SeekableVaultReader(FileSource(at: path), with: limited) } == .limitExceeded)
    var removing = SlotSelection.none
    removing.pluginRecipients = [recipient]
    removing.pluginIdentities = [identity]
    try check(removing.pluginRecipients.count == 1 && removing.pluginIdentities.count == 1)

    // No such plugin is installed where this runs.
    let plugins = AgePlugins(dialogue: Silent(), path: folder.string)
    try check(code { _ = try plugins.wrap(for: recipient, count: 2) } == .pluginFailed)
    try check(code { _ = try plugins.wrap(for: identity) } == .pluginFailed)
    try check(code { _ = try plugins.secrets(in: [[stanza]], by: "stand", with: [identity]) } == .pluginFailed)
    try plugins.prepare([path], with: Credentials(keys))
    let none = NoPluginDialogue()
    try check(!none.show("", from: "") && none.confirm("", yes: "", no: nil, from: "") == nil)
    let answer = try none.answer(to: "", isSecret: true, from: "")
    none.noteErrors("", from: "")
    if answer != nil { throw Unexpected(line: #line) }
    try check(try KeySet().pluginIdentities().isEmpty)
    try check(code { _ = try KeySet().secrets(in: [], by: "stand", with: []) } == .pluginFailed)
}
