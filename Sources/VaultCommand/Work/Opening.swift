internal import SystemPackage
internal import VaultFile

/// Opening containers, for decrypt, verify, recover and inspect.
struct Opening: Sendable {
    let keys: RunKeys
    let context: Context
    /// How many threads work on one input.
    let threads: Int
    let console: Console

    /// Opens what can seek.
    func seekable(_ input: Input) throws -> SeekableVaultReader {
        guard input.canSeek else {
            throw Failure(
                .usage, input.subject, "is not a regular file that is read from its beginning",
                hint: "parts of a container can be read only from a file that can seek")
        }
        return try withKeys(for: input.subject, prefix: input.prefix()) { keys in
            try SeekableVaultReader(FileSource(input.descriptor), keys: keys, context: context)
        }
    }

    /// Opens what can seek, to write what it holds. Its errors are failures with hints of their own, because nothing has
    /// been written yet that could be taken for the whole (`Making`).
    func seekableToWrite(_ input: Input) throws(Failure) -> SeekableVaultReader {
        do { return try seekable(input) } catch { throw Failure(error, about: input.subject) }
    }

    /// The slots of the current header that the keys given open.
    func opened(_ seen: Inspection, _ subject: Failure.Subject) throws -> Set<SlotDescription> {
        let keys = ContainerKeys(keys, on: subject)
        defer { keys.end() }
        return Set(try seen.trySlots(keys: keys, context: context).filter { $0.outcome == .opened }.map(\.slot))
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
    /// - Parameter range: Which part; nil for all of it, which is then checked as a whole too.
    func write(
        _ range: Range<UInt64>?, of reader: SeekableVaultReader, from input: Input, to output: FileDescriptor
    ) throws {
        let total = range.map { $0.upperBound - $0.lowerBound } ?? reader.length
        var progress = ProgressLine(input.subject, total: total, on: console)
        defer { progress.finish() }
        try reader.decrypt(range, to: output, jobs: threads) { progress.update($0) }
    }

    /// Reads all of an input as it comes.
    ///
    /// - Parameter output: Takes the authenticated plaintext; nil if it is only checked.
    func stream(_ input: Input, to output: FileDescriptor?) throws -> OpenedContainer {
        let keys = ContainerKeys(keys, on: input.subject)
        defer { keys.end() }
        var prefix: [UInt8] = []
        var isOpen = false
        var progress = ProgressLine(input.subject, total: nil, on: console)
        defer { progress.finish() }
        do {
            return try Vault.decrypt(
                stream: input.descriptor, to: output, keys: keys, context: context, jobs: threads,
                onBeginning: { prefix = $0 },
                onOpened: {
                    isOpen = true
                    // Other threads may stretch now.
                    keys.end()
                },
                onProgress: { progress.update($0) })
        } catch {
            if let known = error as? VaultError, known.code == .notVaultfile { input.complete(&prefix) }
            let error = explained(error, keys, input.subject, prefix: prefix)
            // As in `seekableToWrite`, nothing has been written before it is open.
            throw isOpen ? error : Failure(error, about: input.subject)
        }
    }

    /// Opens something with the keys that it is lent, and says what its errors mean.
    func withKeys<R>(
        for subject: Failure.Subject, prefix: [UInt8], _ body: (any KeyProvider) throws -> R
    ) throws -> R {
        let keys = ContainerKeys(keys, on: subject)
        defer { keys.end() }
        do { return try body(keys) } catch { throw explained(error, keys, subject, prefix: prefix) }
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

extension Failure {
    /// What a file is that is not a vaultfile, if its beginning shows that.
    init(notVaultfile error: VaultError, about subject: Subject, prefix: [UInt8]) {
        self.init(error, about: subject)
        guard let name = KnownFormats.name(of: prefix) else { return }
        reason = "is \(name), not a vaultfile (\(error.code.name))"
    }
}

extension Health {
    /// What it means, in words; nil for `intact`.
    var trouble: String? {
        switch self {
        case .intact: nil
        case .rotationUnfinished: "a change of its keys was interrupted (rotationUnfinished)"
        case .copiesConflict: "its two header copies contradict each other (copiesConflict)"
        case .frontDamaged: "the header copy at its front is damaged (frontDamaged)"
        case .tailDamaged: "the header copy at its end is damaged (tailDamaged)"
        }
    }

    /// What to do about it; nil for `intact`.
    var remedy: String? {
        switch self {
        case .intact: nil
        case .frontDamaged, .tailDamaged:
            "the contents are right; vaultfile repair makes the header copy anew from the other, which is all that is "
                + "left"
        case .rotationUnfinished: "the contents are right; vaultfile repair, or the same rotate again, finishes it"
        case .copiesConflict:
            "the contents are right; vaultfile repair --keep front or --keep tail settles it; ask who else could write "
                + "to the container"
        }
    }
}
