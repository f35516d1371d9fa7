import VaultFile

/// A tar stream in a container, with its index.
func tarStreams(in folder: FilePath) throws {
    var stream: [UInt8] = []
    for (name, type, content) in [("d/", "5", ""), ("d/a", "0", "first"), ("d/b", "2", ""), ("../x", "0", "other")] {
        stream += tarHeader(name, type, count: content.utf8.count) + padded([UInt8](content.utf8))
    }
    stream += [UInt8](repeating: 0, count: 1024)

    let key = try SymmetricKey.generate()
    let (source, path) = (folder.appending("stream.tar"), folder.appending("stream.tar.vault"))
    try put(stream, at: source)
    var options = SealOptions()
    options.tarIndex = true
    try Vault.encryptFile(at: source, to: path, for: [.key(key)], options: options)

    let reader = try SeekableVaultReader(FileSource(at: path), with: .key(key))
    let manifest = reader.opened.manifest
    guard let index = manifest.tarIndex else { throw Unexpected(line: #line) }
    try check(manifest.hasTarIndexMember && !manifest.hasMalformedTarIndex && !manifest.metadata.hasSignatures)
    try check(index.stepExponent == 0 && index.isSorted)
    try check(index.count == 3 && index.streamCount == 4 && index.pathlessCount == 1)
    var entries: [TarIndex.Entry] = []
    index.forEach { entry in
        entries.append(entry)
        return true
    }
    try check(entries.map(\.path.description) == ["d", "d/a", "d/b"] && entries.map(\.place) == [0, 1, 3])

    guard let wanted = TarPath([UInt8]("d/a".utf8)), let above = TarPath(trimming: [UInt8]("./d/".utf8)) else {
        throw Unexpected(line: #line)
    }
    try check(wanted.withFolders.contains(above) && above.withFolders.contains { $0.folder == nil })
    try check(above < wanted && wanted.isBelow(orEqualTo: above) && wanted.bytes.count <= TarPath.longest)
    let tar = reader.tarSource
    guard let found = try tar.find(wanted, index: index) else { throw Unexpected(line: #line) }
    try check(try tar.entry(at: entries[1]) == found && tar.entry(at: 1) == found)
    try check(try tar.find(wanted, index: index, before: found.place) == nil)
    try check(found.kind == .file && found.path == wanted && found.name == wanted.bytes && found.place == 1)
    try check(found.contentLength == 5 && found.fileLength == 5 && !found.isSparse && found.nextPlace == 3)
    try check(found.permissions == 0o644 && found.modified == Timestamp(seconds: 0))
    try check(found.userID == 0 && found.groupID == 0 && found.linkTarget.isEmpty)
    let content = try reader.bytes(found.contentOffset..<found.contentOffset + found.contentLength)
    try check(content == [UInt8]("first".utf8))

    var kinds: [TarEntry.Kind] = []
    try tar.forEachEntry(from: 0, to: 4) { entry in
        kinds.append(entry.kind)
        return true
    }
    try check(kinds == [.folder, .file, .symbolicLink] && kinds[2].isLink && !kinds[0].isLink)
    let others: [TarEntry.Kind] = [.hardLink, .characterDevice, .blockDevice, .pipe, .other(0x56)]
    try check(Set(others + kinds).count == 8)

    let nothing = TarSource(reading: { _, _ in [] })
    do {
        _ = try nothing.find(wanted, index: nil)
        throw Unexpected(line: #line)
    } catch let error as NotTar {
        try check(!error.reason.isEmpty)
    }
}

private func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (512 - bytes.count % 512) % 512)
}

private func tarHeader(_ name: String, _ type: String, count: Int) -> [UInt8] {
    func field(_ text: String, _ width: Int) -> [UInt8] {
        [UInt8](text.utf8) + [UInt8](repeating: 0, count: width - text.utf8.count)
    }
    func octal(_ number: Int, _ width: Int) -> [UInt8] {
        let digits = String(number, radix: 8)
        return field(String(repeating: "0", count: width - 1 - digits.count) + digits, width)
    }
    let before = field(name, 100) + octal(0o644, 8) + octal(0, 8) + octal(0, 8) + octal(count, 12) + octal(0, 12)
    let behind = field(type, 1) + field("", 100) + field("ustar", 6) + field("00", 2)
    let sum = (before + behind).reduce(8 * 32) { $0 + Int($1) }
    let head = before + octal(sum, 7) + [32] + behind
    return head + [UInt8](repeating: 0, count: 512 - head.count)
}
