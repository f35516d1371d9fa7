import VaultFile

/// The same from tasks.
func asynchronous(in folder: FilePath) async throws {
    let key = try SymmetricKey.generate()
    let credentials = Credentials.key(key)
    let (plain, vault) = (folder.appending("async"), folder.appending("async.vault"))
    try put(text, at: plain)
    let manifest = try await Vault.encryptFile(at: plain, to: vault, for: [.key(key)])
    let back = try await Vault.decryptFile(at: vault, to: folder.appending("async.txt"), with: credentials)
    try check(back.manifest == manifest)

    let reader = try await SeekableVaultReader(FileSource(at: vault), with: credentials)
    try await check(reader.bytes(1..<4) == [UInt8](text[1..<4]))
    try await reader.verify(jobs: 2)
    try await reader.verify(jobs: 1, onProgress: { _ in }, onDamage: { throw $0.error })
    try await reader.read(0..<1, to: { try check($0[0] == text[0]) })
    try await reader.readAll(to: { _ in })
    let whole = try FileDescriptor.open(vault, .readOnly)
    let container = try await PipedContainer(from: whole, with: credentials) { _ in }
    try await check(container.decrypt(to: nil, jobs: 1) { _ in }.manifest == manifest)
    try whole.close()
    var bytes: [UInt8] = []
    var range: PlaintextRange.Iterator = try reader.plaintext(1000..<280_000).makeAsyncIterator()
    while let more = try await range.next() { bytes += more }
    try check(bytes == [UInt8](text[1000..<280_000]))

    let encrypted: EncryptedBytes<AsyncStream<[UInt8]>> = Vault.encrypt(stream(text), for: [.key(key)], onEnd: { _ in })
    var made: [UInt8] = []
    var sealing: EncryptedBytes<AsyncStream<[UInt8]>>.Iterator = encrypted.makeAsyncIterator()
    while let more = try await sealing.next() { made += more }
    let decrypted: DecryptedBytes<AsyncStream<[UInt8]>> = Vault.decrypt(
        stream(made), with: credentials, onEnd: { _ in })
    var opening: DecryptedBytes<AsyncStream<[UInt8]>>.Iterator = decrypted.makeAsyncIterator()
    bytes = []
    while let more = try await opening.next() { bytes += more }
    try check(bytes == text)
    try await Vault.write(stream(text), to: folder.appending("upload"), for: [.key(key)])

    let ends = try FileDescriptor.pipe()
    let input = try FileDescriptor.open(plain, .readOnly)
    async let sealed = Vault.encrypt(from: input, to: ends.writeEnd, for: [.key(key)], jobs: 1) { _ in }
    let output = try FileDescriptor.open(
        folder.appending("piped"), .writeOnly, options: .create, permissions: .ownerReadWrite)
    async let opened = Vault.decrypt(from: ends.readEnd, to: output, with: credentials, jobs: 1) { _ in }
    let there = try await sealed
    try ends.writeEnd.close()
    try await check(opened.manifest == there)
    try ends.readEnd.close()
    try output.close()
    try input.close()
    try check(contents(folder.appending("piped")) == text)
    let piped = try FileDescriptor.open(
        folder.appending("part"), .writeOnly, options: .create, permissions: .ownerReadWrite)
    try await reader.decrypt(0..<10, to: piped, jobs: 1)
    try piped.close()

    let passphrase = try Passphrase("a word")
    try await check(
        Vault.rotate(at: vault, KeyChange(adding: [.passphrase(passphrase, cheap)]), with: credentials).isNewHeader)
    try await check(!Vault.repair(at: vault, with: credentials).isRepaired)
    var options = ReencryptionOptions()
    options.mayLoseSlots = true
    try await check(
        Vault.reencrypt(at: vault, for: [.key(key)], with: .passphrase(passphrase), options: options).lost.count == 1)
    let place = FilePlace.path(vault)
    try await check(!Vault.rotate(at: place, KeyChange(), with: credentials).isNewHeader)
    try await check(!Vault.repair(at: place, with: credentials).isRepaired)
    try await check(Vault.reencrypt(at: place, for: [.key(key)], with: credentials, jobs: 1).lost.isEmpty)
    try await check(Inspection(FileSource(at: vault)).trySlots(with: credentials)[0].outcome == .opened)
    let recovery = try await Recovery(FileSource(at: vault), with: credentials)
    try await check(recovery.read(to: { _ in }, onDamage: { throw $0.error }).isComplete)
    let recovered = try FileDescriptor.open(
        folder.appending("recovered"), .writeOnly, options: .create, permissions: .ownerReadWrite)
    try await check(recovery.decrypt(to: recovered).isComplete)
    try recovered.close()

    let unlocking = KeySet(keys: [key])
    let ring = folder.appending("async.ring")
    guard let (one, two) = KeyName("one").flatMap({ one in KeyName("two").map { (one, $0) } }) else {
        throw Unexpected(line: #line)
    }
    try await Keyring.create(at: ring, for: [.key(key)], first: one, created: .now)
    _ = try await Keyring.change(at: ring, unlocking: unlocking) { _ = try $0.generate(named: two, created: .now) }
    try await check(Keyring.open(at: ring, unlocking: unlocking).entries.count == 2)
    try await check(
        Keyring.changeUnlockers(at: ring, KeyChange(adding: [.passphrase(passphrase, cheap)]), unlocking: unlocking)
            .result.added.count == 1)
    try await check(
        Keyring.protect(at: ring, renewing: true, unlocking: unlocking, with: [.key(key)]).reason == .asked)
    try await Keyring.makeUnlockKey(at: folder.appending("async.next"), for: [.key(key)])
    try await Keyring.create(at: folder.appending("async.whole"), for: [.key(key)], unprotected: false) {
        _ = try $0.generate(named: one, created: .now)
    }
    try await check(
        Keyring.copy(from: ring, to: folder.appending("async.copy"), unlocking: unlocking).result.entries.count == 2)
}

/// Bytes as they come from elsewhere.
private func stream(_ bytes: [UInt8]) -> AsyncStream<[UInt8]> {
    AsyncStream { continuation in
        for start in stride(from: 0, to: bytes.count, by: 10_000) {
            continuation.yield([UInt8](bytes[start..<min(start + 10_000, bytes.count)]))
        }
        continuation.finish()
    }
}
