internal import SystemPackage
internal import VaultFile
internal import VaultSystem

extension FileIdentity {
    /// The files among the operands that exist.
    ///
    /// - Throws: `Failure` if the system cannot tell which file an operand is. Without that, an output that is the same
    ///   file could overwrite it.
    static func all(of operands: [PathArgument]) throws(Failure) -> Set<FileIdentity> {
        var found: Set<FileIdentity> = []
        for operand in operands {
            do throws(Errno) {
                found.insert(FileIdentity(try operand.stat()))
            } catch {
                guard ExitStatus.isOfName(error) else { throw Failure(error, about: operand.subject) }
            }
        }
        return found
    }

    /// The folders among these that exist.
    static func all(ofFolders paths: [PathArgument]) -> Set<FileIdentity> {
        Set(paths.compactMap { (try? $0.path.stat()).map(FileIdentity.init) })
    }
}

extension PathArgument {
    /// What messages call this input.
    var subject: Failure.Subject { isDash ? .standardInput : .path(bytes) }

    fileprivate func stat() throws(Errno) -> Stat {
        isDash ? try FileDescriptor.standardInput.stat() : try path.stat()
    }

    /// Opens it for reading.
    func opened() throws(Errno) -> FileDescriptor { isDash ? .standardInput : try .openForReading(path) }

    /// The status of the input. Links are followed.
    ///
    /// - Parameter takesFolders: Whether it may be a folder.
    /// - Throws: `Failure` if it does not exist, or is a folder and may not be one.
    func statAsInput(takingFolders takesFolders: Bool = false) throws(Failure) -> Stat {
        let stat = try subject.attempt(system: .noInput) { try self.stat() }
        guard takesFolders || stat.type != .directory else {
            throw Failure(.noInput, subject, "is a folder", hint: .folderInput)
        }
        return stat
    }
}

/// An open input.
struct Input {
    let operand: PathArgument
    /// Where a walk found it; nil if it was named.
    let found: FoundFile?
    let descriptor: FileDescriptor
    /// Its status when it was opened. An input that is to be removed gets a later one, from before it is read.
    var stat: Stat
    /// Whether it is a regular file at offset 0, so that any part of it can be read.
    let canSeek: Bool

    /// What messages call it.
    var subject: Failure.Subject { operand.subject }

    /// How many bytes it has, if known.
    var size: UInt64? { stat.type == .regular ? UInt64(max(0, stat.size)) : nil }

    init(_ operand: PathArgument) throws(Failure) {
        try self.init(InputItem(operand: operand))
    }

    init(_ item: InputItem) throws(Failure) {
        operand = item.operand
        found = item.found
        descriptor = try item.subject.attempt(system: .noInput) {
            try item.found.map { try $0.folder.file($0.name) } ?? item.operand.opened()
        }
        do {
            stat = try descriptor.stat()
            canSeek = try stat.type == .regular && descriptor.seek(offset: 0, from: .current) == 0
        } catch {
            if !operand.isDash { try? descriptor.close() }
            throw Failure(error, about: item.subject, system: .noInput)
        }
    }

    func close() {
        if !operand.isDash { try? descriptor.close() }
    }

    /// Reads the next bytes and returns how many there are; 0 at the end.
    func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
        try subject.attempt { try descriptor.readSome(into: &buffer) }
    }

    /// Reads on until there are enough bytes to recognize the kind of file.
    func complete(_ prefix: inout [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: KnownFormats.prefixLength)
        while prefix.count < KnownFormats.prefixLength, let count = try? read(into: &buffer), count > 0 {
            prefix += buffer.prefix(count)
        }
    }

    /// The first bytes of the input; empty if it cannot seek.
    func prefix(_ count: Int = KnownFormats.prefixLength) -> [UInt8] {
        (try? bytes(at: 0, count: count)) ?? []
    }

    /// Lends as many of the first bytes as a key file can have, in guarded memory: they may be a key.
    func withSecretPrefix<R>(_ body: (Span<UInt8>) -> R) throws -> R? {
        guard canSeek else { return nil }
        var buffer = try SecretBuffer(count: SymmetricKey.largestKeyFile)
        let count = try buffer.withMutableBytes { try FileSource(descriptor).read(at: 0, into: &$0) }
        return buffer.withBytes { body($0.extracting(0..<count)) }
    }

    private func bytes(at offset: UInt64, count: Int) throws(Failure) -> [UInt8] {
        guard canSeek else { return [] }
        return try subject.attempt { try FileSource(descriptor).bytes(at: offset, count: count) }
    }

    /// Whether its bytes are the plaintext of a container, all of which is read and checked.
    ///
    /// - Throws: `Failure` if this input cannot be read; the library's errors about the container.
    func holds(plaintextOf reader: SeekableVaultReader) throws -> Bool {
        guard canSeek, size == reader.length else { return false }
        let source = FileSource(descriptor)
        var (offset, isEqual) = (UInt64(0), true)
        try reader.readAll { text in
            guard isEqual else { return }
            let own = try subject.attempt { try source.bytes(at: offset, count: text.count) }
            isEqual = unsafe text.withUnsafeBytes { text in
                unsafe own.withUnsafeBytes { own in
                    unsafe own.count == text.count && text.elementsEqual(own)
                }
            }
            offset += UInt64(text.count)
        }
        return isEqual
    }

    /// The input for a reader that seeks. If another program has locked it, the user learns what the reader waits for.
    func source(_ console: Console) -> FileSource {
        FileSource(descriptor, onWaiting: console.waitNote(about: subject))
    }

    /// Whether it begins as a container does.
    var beginsWithMagic: Bool {
        get throws(Failure) {
            try bytes(at: 0, count: Vault.beginning.count) == Vault.beginning
        }
    }

    /// Whether it ends as a container does.
    var endsWithMagic: Bool {
        get throws(Failure) {
            let end = Vault.ending
            guard let size, size >= UInt64(end.count) else { return false }
            return try bytes(at: size - UInt64(end.count), count: end.count) == end
        }
    }
}
