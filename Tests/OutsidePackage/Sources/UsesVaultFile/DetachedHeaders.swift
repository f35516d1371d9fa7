import SystemPackage
import VaultFile

/// Containers whose slots are in a header file.
func detachedHeaders(in folder: FilePath) throws {
    let text = text
    let (key, other) = (try SymmetricKey.generate(), try SymmetricKey.generate())
    var credentials = Credentials.key(key)
    var writer = try VaultWriter(detachedFor: [.key(key)])
    guard let file = writer.headerFile else { throw Unexpected(line: #line) }
    var body: [UInt8] = []
    try writer.write(text.span) { body.take($0) }
    try writer.finish { body.take($0) }
    try check(code { _ = try SeekableVaultReader(MemorySource(body), with: credentials) } == .headerDetached)

    // Without a file system.
    try check(file.bytes.count <= HeaderFile.maximumLength && file.summary.generation == 1)
    let new: HeaderFile.Rotated = try file.rotated(
        KeyChange(adding: [.key(other)]), with: credentials, mayLoseAccess: false, mayMixRecipients: false)
    try check(new.isChanged && new.added.count == 1 && new.removed.isEmpty && new.kept.count == 1)
    try check(HeaderFile(new.file.bytes) == new.file && HeaderFile(MemorySource(new.file.bytes)) == new.file)
    try check(new.file.opened(with: credentials).pin == new.file.summary.pin)
    try check(new.file.trySlots(with: credentials).map(\.outcome) == [.opened, .notTried])
    try check(Inspection(MemorySource(new.file.bytes)).isHeaderFile)

    credentials.headerFile = .bytes(new.file.bytes)
    credentials.expectingHeaderFile = new.file.summary.pin
    let opened = try SeekableVaultReader(MemorySource(body), with: credentials).opened
    try check(opened.header.isDetached && opened.header.slots.map(\.kind) == [.mark])
    try check(opened.headerFile == new.file.summary)
    let old = HeaderFileSource(reading: { file.bytes })
    try check(old.read() == file.bytes)
    let wrong = Credentials(KeySet(keys: [key]), headerFile: old, expectingHeaderFile: new.file.summary.pin)
    do {
        _ = try SeekableVaultReader(MemorySource(body), with: wrong)
        throw Unexpected(line: #line)
    } catch let error as VaultError {
        try check(error.code == .unexpectedState && error.isAboutHeaderFile)
    }

    // Files.
    let (path, header) = (folder.appending("body"), folder.appending("header"))
    try put(body, at: path)
    try put(new.file.bytes, at: header)
    let change = KeyChange(removing: SlotSelection(ids: [other.id]))
    try check(Vault.rotateHeaderFile(at: header, change, with: .key(key)).isNewHeader)
    try check(Vault.rotateHeaderFile(at: .path(header), change, with: .key(key)).isNewHeader == false)
    try check(Vault.attach(at: path, from: header, with: .key(key), options: RotationOptions()).isNewHeader)
    var attached = Credentials.key(key)
    attached.headerFile = .bytes(file.bytes)
    try check(code { _ = try SeekableVaultReader(FileSource(at: path), with: attached) } == .notDetached)
    let detached: Detachment = try Vault.detach(
        at: path, to: nil, with: .key(key), capacity: HeaderCapacity(bytes: 1024), mayLoseSlots: false)
    try check(detached.rotation.isNewHeader && detached.header?.capacity.bytes == 1024)
    let commitment = file.summary.commitment
    try check(detached.headerFile == Vault.headerFilePath(of: path, commitment: commitment))
    try check(detached.headerFile.lastComponent?.string == HeaderFile.name(forBody: "body", commitment: commitment))
    try Vault.withHeaderFile(of: .path(path)) { place in
        guard let place else { throw Unexpected(line: #line) }
        var found = Credentials.key(key)
        found.headerFile = .file(at: place)
        try check(SeekableVaultReader(FileSource(at: path), with: found).length == UInt64(text.count))
        found.headerFile = .file(at: detached.headerFile)
        _ = try SeekableVaultReader(FileSource(at: path), with: found)
        var options = ReencryptionOptions()
        options.headerFile = place
        let done = try Vault.reencrypt(at: path, for: [.key(key)], with: .key(key), options: options)
        try check(done.headerFile?.slots.count == 1 && done.headerFilePath != detached.headerFile)
    }

    let (plain, made) = (folder.appending("to detach"), folder.appending("detached"))
    try put(text, at: plain)
    let source = try FileDescriptor.open(plain, .readOnly)
    let sink = try FileDescriptor.open(made, .writeOnly, options: .create, permissions: .ownerReadWrite)
    var stored: HeaderFile?
    try Vault.encrypt(from: source, to: sink, for: [.key(key)], storingHeaderFile: { stored = $0 })
    try source.close()
    try sink.close()
    try check(stored != nil)
}
