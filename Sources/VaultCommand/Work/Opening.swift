internal import SystemPackage
internal import VaultFile

/// Opens containers, for decrypt, verify, inspect and recover.
struct Opening: Sendable {
    let keys: RunKeys
    /// How the run changes slots. The secrets that it names open containers too.
    var change = SlotChange.none
    let context: Context
    /// How many threads work on one input.
    let threads: Int
    let console: Console
    /// What the user knows of the header.
    var header = KnownHeader()
    /// Whether blocks of zeros become holes in a file.
    var isSparse = false

    private func containerKeys(
        on subject: Failure.Subject, _ look: @escaping @Sendable () -> Inspection? = { nil }
    ) -> ContainerKeys {
        ContainerKeys(keys, changing: change, triesRemoved: true, on: subject, look)
    }

    /// What opens a container.
    ///
    /// - Parameter headerFile: the header file that is used; nil for none.
    func credentials(_ keys: any KeyProvider, _ headerFile: FilePlace?) -> Credentials {
        header.credentials(keys, context, headerFile)
    }

    /// The same for keys that are prepared before an input is opened.
    func credentials(_ keys: any KeyProvider) -> Credentials { credentials(keys, header.file.map { .path($0) }) }

    /// Calls `body` with the credentials for an input, and with its header file if it has one.
    func withCredentials<R>(
        _ keys: any KeyProvider, for input: Input, _ body: (Credentials) throws -> R
    ) throws -> R {
        func open(_ place: FilePlace?) throws -> R {
            try header.withHeaderFile(of: place) { try body(credentials(keys, $0)) }
        }
        if let found = input.found { return try found.withPlace(open) }
        return try open(input.operand.isDash ? nil : .path(input.operand.path))
    }

    /// Opens a regular file.
    ///
    /// - Parameter source: The source that has read it before: it does not wait a second time for a lock.
    func seekable(_ input: Input, _ source: FileSource? = nil) throws -> SeekableVaultReader {
        guard input.canSeek else {
            throw Failure(
                .usage, input.subject, "is not a regular file that is read from its beginning",
                hint: .needsFile("a part of a container"))
        }
        return try withKeys(for: input) { keys in
            let source = source ?? input.source(console)
            return try withCredentials(keys, for: input) { try SeekableVaultReader(source, with: $0) }
        }
    }

    /// Opens a regular file to write what it holds. Its errors are failures: nothing has been written yet, so there is
    /// no partial output to warn of (see `Conversion`).
    func seekableToWrite(_ input: Input) throws(Failure) -> SeekableVaultReader {
        try input.subject.attempt { try seekable(input) }
    }

    /// The slots of the current header that the given keys open.
    func opened(_ seen: Inspection, _ subject: Failure.Subject) throws -> Set<SlotDescription> {
        try opened(subject) { try seen.trySlots(with: $0) }
    }

    /// The slots of a header file that the given keys open.
    func opened(_ file: HeaderFile, _ subject: Failure.Subject) throws -> Set<SlotDescription> {
        try opened(subject) { try file.trySlots(with: $0) }
    }

    private func opened(
        _ subject: Failure.Subject, _ body: (Credentials) throws -> [Inspection.TriedSlot]
    ) throws -> Set<SlotDescription> {
        let keys = containerKeys(on: subject)
        defer { keys.end() }
        return Set(try body(credentials(keys)).filter { $0.outcome == .opened }.map(\.slot))
    }

    /// What a header file that is the input itself holds, authenticated.
    func summary(of file: HeaderFile, _ input: Input) throws -> HeaderSummary {
        try withKeys(for: input) { keys in
            var credentials = credentials(keys)
            // The user names one input, so the state that they remember is that of this one.
            credentials.expectingHeaderFile = header.expectingFile ?? header.expecting
            return try file.opened(with: credentials)
        }
    }

    /// Decrypts all of an input.
    func decrypt(_ input: Input, to output: FileDescriptor) throws -> OpenedContainer {
        guard input.canSeek else {
            return try stream(input, to: output)
        }
        let reader = try seekableToWrite(input)
        try write(nil, of: reader, from: input, to: output)
        return reader.opened
    }

    /// Writes plaintext.
    ///
    /// - Parameter range: The part to write; nil for all of it, which also checks the digest and the end.
    func write(
        _ range: Range<UInt64>?, of reader: SeekableVaultReader, from input: Input, to output: FileDescriptor
    ) throws {
        let total = range.map { $0.upperBound - $0.lowerBound } ?? reader.length
        var progress = ProgressLine(input.subject, total: total, on: console)
        defer { progress.finish() }
        try reader.decrypt(range, to: output, jobs: threads, sparse: isSparse) { progress.update($0) }
    }

    /// Reads all of an input in order, as a stream.
    ///
    /// - Parameter output: Where the authenticated plaintext goes; nil to check only.
    func stream(_ input: Input, to output: FileDescriptor?) throws -> OpenedContainer {
        let keys = containerKeys(on: input.subject)
        defer { keys.end() }
        var prefix: [UInt8] = []
        var progress = ProgressLine(input.subject, total: nil, on: console)
        defer { progress.finish() }
        let container: PipedContainer
        do {
            // What was read of a pipe cannot be read again, so no header file is looked for after a failure.
            container = try PipedContainer(
                from: input.descriptor, with: credentials(keys), onBeginning: { prefix = $0 })
        } catch {
            if let known = error as? VaultError, known.code == .notVaultfile { input.complete(&prefix) }
            // A failure, as in `seekableToWrite`.
            throw Failure(explained(error, keys, input.subject, prefix: prefix), about: input.subject)
        }
        // The container is open. Other threads may stretch a passphrase now.
        keys.end()
        return try container.decrypt(to: output, jobs: threads, sparse: isSparse) { progress.update($0) }
    }

    /// Calls `body` with the keys to open a container, and explains its errors.
    ///
    /// - Parameter prefix: Its beginning, if its own beginning does not matter.
    func withKeys<R>(
        for input: Input, prefix: [UInt8]? = nil, _ body: (any KeyProvider) throws -> R
    ) throws -> R {
        let (subject, prefix) = (input.subject, prefix ?? input.prefix())
        return try ContainerKeys.tries {
            containerKeys(on: subject) { try? Inspection(FileSource(input.descriptor)) }
        } _: { keys in
            do {
                return try body(keys)
            } catch let error as VaultError where error.code == .wrongKey {
                throw error
            } catch {
                if let failure = input.failure(explaining: error) { throw failure }
                throw explained(error, keys, subject, prefix: prefix)
            }
        }
    }

    private func explained(
        _ error: any Error, _ keys: ContainerKeys, _ subject: Failure.Subject, prefix: [UInt8]
    ) -> any Error {
        guard let known = error as? VaultError else { return error }
        switch known.code {
        case .wrongKey: return keys.explain(known)
        case .notVaultfile: return Failure(notVaultfile: known, about: subject, prefix: prefix)
        default: return error
        }
    }
}

extension Input {
    /// The failure for an error about a container if the input is none, or if only a few bytes of one are left; nil for
    /// others.
    func failure(explaining error: any Error) -> Failure? {
        Failure(error, becauseOfKind: self) ?? failure(ofRest: error)
    }

    /// Fewer bytes than the header copies have that encrypt makes by itself.
    private static let usualHeader: UInt64 = 4096

    /// The failure for an error about a container of which only a few bytes are left, so that no command can save
    /// anything: the usual hint would send the user from one to the next. Nil if more is left.
    func failure(ofRest error: any Error) -> Failure? {
        guard !operand.isDash, canSeek, let size, size < Self.usualHeader, let known = error as? VaultError,
            [.truncated, .footerDamaged, .headerDamaged].contains(known.code),
            let seen = try? Inspection(FileSource(descriptor)), seen.front.summary == nil, seen.tail.summary == nil
        else { return nil }
        var failure = Failure(known, about: subject)
        failure.hint = .noHeader
        return failure
    }

    /// What the container shows without a key.
    func inspected(_ source: FileSource) throws -> Inspection {
        guard canSeek else {
            throw Failure(.noInput, subject, "is not a regular file", hint: .needsFile("a header"))
        }
        do {
            return try Inspection(source)
        } catch let error as VaultError where error.code == .notVaultfile {
            throw Failure(notVaultfile: error, about: subject, prefix: prefix())
        }
    }
}

extension Failure {
    /// The failure for a file that is not a vaultfile. It says what the file is if its beginning shows that.
    init(notVaultfile error: VaultError, about subject: Subject, prefix: [UInt8]) {
        self.init(error, about: subject)
        guard let name = KnownFormats.name(of: prefix) else { return }
        hint = KnownFormats.hint(forFile: prefix) ?? .silent
        reason = "is \(name), not a vaultfile (\(error.code.name))"
    }
}

extension OpenedContainer {
    /// What is wrong with its header copies, in words; nil if nothing is.
    var trouble: String? {
        guard let copy = unexpectedCopy else { return health.trouble }
        let place = health == .frontDamaged ? "front" : "end"
        let what =
            copy.generation < header.generation
            ? "has generation \(copy.generation), which is older than the expected header"
            : "is not the expected header, and has its generation \(copy.generation)"
        return "the header copy at its \(place) \(what): someone may have put it there (\(health.rawValue))"
    }
}
