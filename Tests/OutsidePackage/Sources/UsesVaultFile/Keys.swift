import VaultFile

/// Other keys for a container that is there.
func keyChanges(in folder: FilePath) throws {
    let (old, new) = (try SymmetricKey.generate(), try SymmetricKey.generate())
    let path = folder.appending("rotated")
    try put(text, at: folder.appending("rotated.txt"))
    try Vault.encryptFile(at: folder.appending("rotated.txt"), to: path, for: [.key(old)])

    var change = KeyChange(adding: [.key(new)], removing: SlotSelection(ids: [old.id]))
    change.removing.passphrases = []
    change.removing.others = false
    try check(change.adding.count == 1 && change.removing.ids == [old.id])
    change.adding = [.key(new)]
    var options = RotationOptions()
    options.isDryRun = true
    options.keeping = .front
    options.mayLoseAccess = true
    options.mayBreakLinks = true
    options.onDifference = { difference in
        try check(difference.frontGeneration != difference.tailGeneration)
        try check(difference.onlyInFront.count + difference.onlyInTail.count > 0)
    }
    options.onExcess = { _ in }
    options.onWaiting = {}
    options.onProgress = { _ in }
    let planned = try Vault.rotate(at: path, change, with: .key(old), options: options)
    try check(planned.isNewHeader && planned.added.count == 1 && planned.removed.count == 1)
    try check(planned.kept.count + planned.added.count == planned.header.slots.count)
    options.isDryRun = false
    options.keeping = nil
    let done = try Vault.rotate(at: FilePlace.path(path), change, with: .key(old), options: options)
    try check(done.found == .intact && !done.isNewFile && done.header.generation == 2)
    try check([HeaderPlace.front, .tail].map(\.rawValue) == ["front", "tail"])

    var bytes = try contents(path)
    bytes[bytes.count - 100] ^= 1
    try put(bytes, at: path)
    let repaired = try Vault.repair(at: path, with: .key(new), options: RotationOptions())
    try check(repaired.isRepaired && repaired.found != .intact && repaired.found?.rawValue == "tailDamaged")
    try check(![Health.frontDamaged, .copiesConflict, .rotationUnfinished].contains { $0 == repaired.found })

    var reencrypting = ReencryptionOptions()
    reencrypting.recipientsThatOpen = [.key(new)]
    reencrypting.dropping = .none
    reencrypting.mayLoseSlots = true
    reencrypting.mayLoseSignatures = true
    reencrypting.mayBreakLinks = true
    reencrypting.onLoss = { _ in }
    reencrypting.onAccessLoss = {}
    reencrypting.onWaiting = {}
    reencrypting.onProgress = { _ in }
    let passphrase = Recipient.passphrase(try Passphrase("a word"), cheap)
    let renewed = try Vault.reencrypt(at: path, for: [passphrase], with: .key(new), options: reencrypting, jobs: 2)
    try check(renewed.lost.isEmpty && renewed.header.slots.count == 2 && renewed.old.header.slots.count == 1)

    var rewriting = ReencryptionOptions()
    rewriting.keepsSlot = { _ in true }
    rewriting.requiring = renewed.header.pin
    rewriting.dropping = SlotSelection(others: true)
    rewriting.modified = .now
    rewriting.isDryRun = true
    let plan = try Vault.reencrypt(at: path, for: [], with: .key(new), options: rewriting)
    try check(plan.lost.count == 1 && plan.header == plan.old.header)
    rewriting.isDryRun = false
    let file = try FileDescriptor.open(folder.appending("rotated.txt"), .readOnly)
    defer { try? file.close() }
    let rewritten = try Vault.rewrite(at: path, from: file, for: [], with: .key(new), options: rewriting, jobs: 1)
    try check(rewritten.header.slots.count == 1)
}

/// Keys with names.
func keyrings(in folder: FilePath) throws {
    let path = folder.appending("keyring")
    let (one, two) = (try name("one"), try name("two"))
    try check(KeyName.longest == 64 && KeyName.reserved.contains("all") && KeyName("all") == nil)
    try check(KeyName(bytes: [97])?.description == "a")
    let unlocker = try SymmetricKey.generate()
    let unlocking = KeySet(keys: [unlocker])
    let first = try Keyring.create(at: path, for: [.key(unlocker)], first: one, created: .now)
    try check(Keyring.unlockKeyPath(of: path).string == path.string + ".key")
    try check(Keyring.isProtected(at: path) && Keyring.inspectUnlockKey(at: path)?.front.summary != nil)

    let changed = try Keyring.change(at: path, making: false, unlocking: unlocking, allowsUnprotected: false) {
        change in
        try check(change.isProtected && change.entries.count == 1 && change.freeName(on: .now) != nil)
        try addKey(to: &change, named: two)
        guard let second = change.entry("two") else { throw Unexpected(line: #line) }
        try change.use(first.name)
        try change.retire(first.name)
        try change.use(second.name)
        try change.add(SymmetricKey.generate(), named: name("three"), created: .now, asCurrent: false)
        try check(change.entry("three")?.state == .retired)
        return second.id
    }
    let keyring = try Keyring.open(at: path, unlocking: unlocking, allowsUnprotected: false)
    try check(keyring.isProtected && keyring.entries.count == 3 && keyring.current?.id == changed.result)
    try check(keyring.health == .intact && keyring.unlockKeyHealth == .intact)
    try check(changed.health == .intact && changed.unlockKeyHealth == .intact)
    let copy = try Keyring.copy(
        from: path, to: folder.appending("copy"), unlocking: unlocking, allowsUnprotected: false
    ) { lost, source in
        try check(lost.isEmpty && source.entries.isEmpty)
        throw Keyring.lossNeedsConsent
    }
    try check(copy.result.entries == keyring.entries && copy.traces.reason == nil)
    try check(keyring.entry("two")?.id == keyring.current?.id && keyring.currentKey().id == changed.result)
    guard let firstID = first.id, first.isKey, first.hasSecret else { throw Unexpected(line: #line) }
    try check(keyring.key(firstID).id == firstID && keyring.symmetricKeys(for: [firstID]).count == 1)
    try check(keyring.keyChangeToCurrent().removing.ids.count == 2)
    guard let current = keyring.current else { throw Unexpected(line: #line) }
    try check(current.name == two && current.created <= .now && current.state == .current)
    try check(current.state.name == "current" && current.state.description == "current")

    try unlocked(path, unlocking)
    let destroyed = try Keyring.change(at: path, unlocking: unlocking) { try $0.destroy(firstID) }.traces
    try check(destroyed.reason == .destroyedKey && destroyed.exchange == .done && destroyed.keyring == .overwritten)
    try check(destroyed.unlockKey > .notNeeded && destroyed.unlockKey < Keyring.Erasure.linkedElsewhere)
    try check(Keyring.open(at: path, unlocking: unlocking).entry("one")?.state == .destroyed)

    let other = try SymmetricKey.generate()
    let added = try Keyring.changeUnlockers(
        at: path, KeyChange(adding: [.key(other)]), unlocking: unlocking)
    try check(added.result.added.count == 1 && added.traces.reason == nil)
    let renewed = try Keyring.protect(
        at: path, renewing: true, unlocking: KeySet(keys: [other]), allowsUnprotected: false, with: [.key(other)])
    try check(renewed.reason == .asked && renewed.reason != .interrupted)
    switch renewed.exchange {
    case .done: break
    case .failed(let error): throw error
    case .notNeeded, .othersUnlockIt: throw Unexpected(line: #line)
    }
    if case .failed(let error) = renewed.keyring { throw error }
    try check(code { _ = try Keyring.open(at: path, unlocking: unlocking) } == .wrongKey)
    do {
        _ = try Keyring.open(at: path, unlocking: unlocking)
    } catch let error as VaultError {
        try check(error.isAboutUnlockKey)
    }

    let bare = folder.appending("bare")
    try Keyring.makeUnprotectedUnlockKey(at: bare)
    _ = try Keyring.change(at: bare, making: true, unlocking: KeySet(), allowsUnprotected: true) {
        _ = try $0.generate(named: one, created: .now)
    }
    try check(code { _ = try Keyring.open(at: bare, unlocking: KeySet()) } == .keyringUnprotected)
    let whole = folder.appending("whole")
    let sole = try Keyring.create(at: whole, for: [], unprotected: true) { try $0.generate(named: one, created: .now) }
    try check(Keyring.open(at: whole, unlocking: KeySet(), allowsUnprotected: true).entries == [sole])
    let later = folder.appending("later")
    try Keyring.makeUnlockKey(at: later, for: [.key(other)])
    try check(!Keyring.isProtected(at: bare) && Keyring.isProtected(at: later))
    try people(at: bare)
}

/// Recipients, identities and groups.
private func people(at path: FilePath) throws {
    let (me, alice, team) = (try name("me"), try name("alice"), try name("team"))
    let (theirs, mine) = (try Identity.generate(.x25519), try Identity.generate(.x25519))
    _ = try Keyring.change(at: path, unlocking: KeySet(), allowsUnprotected: true) { change in
        try change.add(theirs.publicKey, named: alice, created: .now)
        try change.add(mine, named: me, created: .now)
        let new = try change.generateIdentity(.x25519, named: name("new"), created: .now)
        let group = try change.setGroup(team, members: [me, alice, new.name], created: .now)
        try check(group.state == .group && group.members.count == 3 && group.id == nil && !group.hasSecret)
        let gone = try change.destroy(new.name)
        try check(gone.state == .destroyed && change.entry("team")?.members == [me, alice])
        try change.retire(alice)
        try check(change.entry("alice")?.state == .former && change.freeName(on: .now, "group") != nil)
    }
    let keyring = try Keyring.open(at: path, unlocking: KeySet(), allowsUnprotected: true)
    try check(keyring.identities().count == 1 && keyring.identity(named: me).publicKey == mine.publicKey)
    try check(code { _ = try keyring.pluginIdentity(named: me) } == .badKey)
    let recipients = try keyring.recipients(named: team)
    try check(recipients.count == 1 && recipients[0].publicKey == mine.publicKey && recipients[0].state == .identity)
    try check(recipients[0].recipientText == mine.publicKey.text)
    _ = try Keyring.change(at: path, unlocking: KeySet(), allowsUnprotected: true) { change in
        guard let id = change.entry("alice")?.id else { throw Unexpected(line: #line) }
        try change.use(id)
        try change.retire(id)
        try change.use(alice)
        try check(change.entry("alice")?.state == .recipient)
        try change.removeGroup(team)
    }
}

/// Opens a keyring without its secrets, if the system keeps keys for this process.
private func unlocked(_ path: FilePath, _ unlocking: KeySet) throws {
    do {
        try Keyring.checkUnlocking(at: path)
        try Keyring.unlock(at: path, for: min(.seconds(60), Keyring.longestUnlocking), unlocking: unlocking)
    } catch let error as VaultError where error.code == .keyStoreUnavailable {
        return
    }
    try check(Keyring.open(at: path, unlocking: KeySet(), allowsUnlocked: true).current != nil)
    _ = try Keyring.change(at: path, unlocking: KeySet(), allowsUnlocked: true) { try check($0.isProtected) }
    try check(Keyring.lock(at: path))
    try check(code { _ = try Keyring.open(at: path, unlocking: KeySet(), allowsUnlocked: true) } == .wrongKey)
}

private func name(_ text: String) throws -> KeyName {
    guard let name = KeyName(text) else { throw Unexpected(line: #line) }
    return name
}
