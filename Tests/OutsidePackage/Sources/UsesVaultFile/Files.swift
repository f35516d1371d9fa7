import VaultFile

/// Whole files, ranges and damage.
func files(in folder: FilePath) throws {
    let text = text
    let key = try SymmetricKey.generate()
    let credentials = Credentials.key(key)
    try key.write(to: folder.appending("key"), created: .now)
    try check(SymmetricKey.read(from: folder.appending("key")).id == key.id)
    let (plain, vault, back) = (folder.appending("plain"), folder.appending("vault"), folder.appending("back"))
    try put(text, at: plain)
    let manifest = try Vault.encryptFile(at: plain, to: vault, for: [.key(key)])
    try check(Vault.decryptFile(at: vault, to: back, with: credentials).manifest == manifest)
    try check(contents(back) == text)
    try check(code { try Vault.decryptFile(at: vault, to: back, with: credentials) } == .outputExists)
    try Vault.decryptFile(at: vault, to: back, replacing: true, with: credentials)
    do {
        _ = try FileSource(at: folder.appending("nothing"))
        throw Unexpected(line: #line)
    } catch let error as VaultError where error.systemError == .noSuchFileOrDirectory {
        try check(error.code == .inputFailed && error.code.name == "inputFailed" && error.record == nil)
        try check(error.offset == nil && !error.message.isEmpty && error.description.contains(error.code.description))
    }

    let written = try Vault.write(to: folder.appending("written"), replacing: true, for: [.key(key)]) { write in
        try write(text.span)
    }
    try check(written.plaintextLength == UInt64(text.count))

    let (input, output) = (folder.appending("stream"), folder.appending("streamed"))
    let source = try FileDescriptor.open(plain, .readOnly)
    let sink = try FileDescriptor.open(
        input, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
    try Vault.encrypt(from: source, to: sink, for: [.key(key)], jobs: 2) { try check($0 <= UInt64(text.count)) }
    try source.close()
    try sink.close()
    let container = try FileDescriptor.open(input, .readOnly)
    let plaintext = try FileDescriptor.open(
        output, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
    try Vault.decrypt(from: container, to: plaintext, with: credentials, jobs: 2, sparse: true) { _ in }
    try plaintext.close()
    try container.close()
    try check(contents(output) == text)

    let pipe = try FileDescriptor.open(input, .readOnly)
    var first: [UInt8] = []
    let piped = try PipedContainer(from: pipe, with: credentials) { first = $0 }
    try check(piped.decrypt(to: nil, jobs: 1) { _ in }.manifest.plaintextLength == UInt64(text.count))
    try check(first.starts(with: Vault.beginning))
    try pipe.close()

    let open = try FileDescriptor.open(folder, .readOnly)
    let inside = try OutputFile(at: FilePlace.name("inside", in: open), replacing: false)
    try inside.write(text.span)
    try inside.commit()
    try check(FileSource(at: .name("inside", in: open)).size() == UInt64(text.count))
    try check(code { _ = try FileSource(at: FilePlace.path(folder.appending("none"))) } == .inputFailed)
    try open.close()

    let file = try OutputFile(at: folder.appending("own"), replacing: false)
    try file.write(text.span)
    try check(file.descriptor.rawValue >= 0)
    try check(LeftoverFiles().remove(beside: file).isEmpty)
    try check(LeftoverFiles { _ in true }.remove(beside: file).isEmpty)
    try check(OutputFile.hasTemporaryName(FilePath("\(OutputFile.temporaryPrefix)0123456789abcdef")))
    let kept = try file.commit(permissions: .ownerReadWrite, modified: Timestamp(seconds: 1000), synchronize: false)
    try check(kept == .ownerReadWrite)
    try check(contents(folder.appending("own")) == text)
}

/// A source of a program's own.
struct Counted: ByteSource {
    let bytes: [UInt8]
    let readSize = 2 * standardReadSize

    func size() throws -> UInt64 { UInt64(bytes.count) }

    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        let start = min(Int(offset), bytes.count)
        let count = min(buffer.count, bytes.count - start)
        for index in 0..<count { buffer[index] = bytes[start + index] }
        return count
    }

    func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R { try body(false) }
}

/// Where a reader's bytes come from, and what it says of damaged ones.
func sources(in folder: FilePath) throws {
    let key = try SymmetricKey.generate()
    let path = folder.appending("container")
    try put(text, at: folder.appending("text"))
    try Vault.encryptFile(at: folder.appending("text"), to: path, for: [.key(key)])
    let container = try contents(path)
    let descriptor = try FileDescriptor.open(path, .readOnly)
    defer { try? descriptor.close() }
    for source in [
        try FileSource(at: path, onWaiting: {}), FileSource(descriptor), MemorySource(container),
        Counted(bytes: container),
    ] as [any ByteSource] {
        try check(source.size() == UInt64(container.count))
        var head = [UInt8](repeating: 0, count: 8)
        var span = head.mutableSpan
        try check(source.read(at: 0, into: &span) == 8 && head == [UInt8](container.prefix(8)))
        try check(source.withSharedLock { _ in true })
        let reader = try SeekableVaultReader(source, with: .key(key))
        try check(reader.length == UInt64(text.count) && reader.opened.health == .intact)
        try check(reader.opened.unexpectedCopy == nil)
        try check(reader.bytes(5..<10) == [UInt8](text[5..<10]))
        var all: [UInt8] = []
        try reader.readAll { all.take($0) }
        try reader.read(0..<3) { all.take($0) }
        try check(all == text + text.prefix(3))
        try reader.verify(jobs: 2)
        let out = folder.appending("range")
        let output = try FileDescriptor.open(
            out, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try reader.decrypt(100..<200, to: output, jobs: 1) { _ in }
        try output.close()
        try check(contents(out) == [UInt8](text[100..<200]))
    }
    var broken = container
    broken[container.count / 2] ^= 1
    let reader = try SeekableVaultReader(MemorySource(broken), with: .key(key))
    var damage: [Damage] = []
    try reader.verify(jobs: 1, onProgress: { _ in }) { damage.append($0) }
    try check(damage.count == 1 && damage[0].error.code == .recordDamaged && damage[0].plaintextRange != nil)
}

/// What is left of a damaged container.
func recovery(in folder: FilePath) throws {
    let key = try SymmetricKey.generate()
    try put(text, at: folder.appending("sound"))
    try Vault.encryptFile(at: folder.appending("sound"), to: folder.appending("sound.vault"), for: [.key(key)])
    var bytes = try contents(folder.appending("sound.vault"))
    bytes[bytes.count / 2] ^= 1
    var options = RecoveryOptions()
    options.headerOffset = nil
    options.maximumStretchingKiB = 1 << 22
    options.maximumHashingFactor = 32
    options.maximumCandidateBytes = 1 << 20
    let recovery = try Recovery(MemorySource(bytes), with: .key(key), options: options) { _ in }
    try check(recovery.headers.count == 1 && recovery.headers[0].offset == 0 && !recovery.isSearchCut)
    try check(recovery.headers[0].summary.slots.count == 1 && recovery.fileLength == UInt64(bytes.count))
    var (plaintext, damage): ([UInt8], [Damage]) = ([], [])
    let result = try recovery.read(using: recovery.headers[0], jobs: 2) {
        plaintext.take($0)
    } onDamage: {
        damage.append($0)
    } onProgress: { _ in
    }
    try check(!result.isComplete && result.length == UInt64(text.count) && result.lostLength == 1 << 16)
    try check(result.manifest != nil && result.header == recovery.headers[0])
    try check(damage.count == 1 && plaintext.count == text.count)
}
