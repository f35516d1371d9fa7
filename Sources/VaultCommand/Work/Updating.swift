internal import SystemPackage
internal import VaultFile

/// Decides for `encrypt --update` which inputs to encrypt: those without a container, and those that changed since
/// their container was made.
///
/// A container says the name, the time and the length of the file that it was made from, and this is authenticated. The
/// times of the container's own file say nothing: they are later than a change that came while the input was read, and
/// a rotation makes them later still.
struct Updating: Sendable {
    let opening: Opening
    /// The public keys that get slots that are not hidden.
    let publicKeys: [PublicKey]

    /// What is at the place of an output.
    enum Finding {
        case nothing
        /// The container of the input as it is now.
        case current
        /// An earlier container of the input, which may be replaced.
        case outdated(Stat)
    }

    /// Looks at the place of an output.
    ///
    /// - Parameter metadata: What a container of the input says about it.
    /// - Throws: `Failure` if there is a file that must not be replaced: anything but a container of this input, a
    ///   container of a later state of the input, and a container that other keys open too.
    func look(at destination: Destination, for input: Input, _ metadata: Metadata) throws -> Finding {
        guard case .file(let place) = destination, let modified = metadata.modified else {
            throw Failure(.usage, input.subject, "is not a regular file that becomes one, which --update needs")
        }
        do {
            _ = try place.stat()
        } catch Errno.noSuchFileOrDirectory {
            return .nothing
        }
        let there = try place.input()
        defer { there.close() }
        guard there.canSeek, try there.beginsWithMagic else {
            throw kept(there, "exists, and is not a container")
        }
        let reader = try opening.seekableToWrite(there)
        let held = reader.opened.manifest.metadata
        guard held.name == metadata.name, let time = held.modified else {
            let other = held.name.map { "is the container of another file, \(Escaping.line($0))" }
            throw kept(there, other ?? "does not say which file it was made from")
        }
        let isSameSize = input.size == reader.length
        if isSameSize, modified.agrees(with: time) {
            if let trouble = reader.opened.health.trouble {
                opening.console.warn(there.subject, trouble, hint: Hint.of(reader.opened.health))
            }
            return .current
        }
        guard modified >= time else {
            throw Failure(
                .cannotCreate, input.subject,
                "is older than the file that its container was made from; the container is kept",
                hint: .forceInsteadOfUpdate)
        }
        try refuseLosses(there)
        return .outdated(there.stat)
    }

    private func kept(_ there: Input, _ reason: String) -> Failure {
        // -f does not replace what holds keys.
        let mayReplace = KeyHolders().what(there) == nil
        return Failure(
            .cannotCreate, there.subject, "\(reason); it is kept", hint: mayReplace ? .forceInsteadOfUpdate : .silent)
    }

    /// Refuses to replace a container that something opens which will not open the new one: another person's key, or
    /// the passphrase in a safe. The keys of the keyring count as one.
    private func refuseLosses(_ there: Input) throws {
        let seen = try Inspection(FileSource(there.descriptor))
        let passphrases = opening.keys.givenPassphrases
        let keys = KeySet(
            keys: try opening.keys.symmetricKeys(for: seen.slots.map(\.keyID)), passphrases: passphrases,
            identities: try opening.keys.identities())
        let stretching = Stretching()
        defer { stretching.end() }
        if !passphrases.isEmpty { stretching.begin() }
        let lost = try seen.trySlots(with: opening.credentials(keys)).filter { tried in
            guard tried.outcome != .opened else { return false }
            let isOfKeyring = opening.keys.usesKeyring && opening.keys.keyring.entryIfOpen(tried.slot.keyID) != nil
            return !(tried.slot.kind.idNamesSecret && isOfKeyring) && !isOfPublicKey(tried.slot, seen)
        }
        guard lost.isEmpty else {
            let list = lost.map(\.slot.text).joined(separator: ", ")
            throw Failure(
                code: .consentNeeded, there.subject, "would no longer open with \(list); it is kept",
                hint: .keysOfUpdate)
        }
    }
}

extension Updating {
    /// Whether a slot belongs to one of the public keys. A hidden one cannot be told.
    private func isOfPublicKey(_ slot: SlotDescription, _ seen: Inspection) -> Bool {
        seen.headers.contains { header in
            publicKeys.contains { $0.kind == slot.kind && $0.slotID(in: header) == slot.keyID }
        }
    }
}

extension Timestamp {
    /// Whether a file's time is this one, as far as its file system can tell. A copy of the file on another system may
    /// have lost the end of its time.
    fileprivate func agrees(with time: Timestamp) -> Bool {
        guard self != time else { return true }
        if seconds == time.seconds {
            let steps: [UInt32] = [100, 1000, 1_000_000, 10_000_000, 1_000_000_000]
            return steps.contains { time.nanoseconds / $0 * $0 == nanoseconds }
        }
        // FAT keeps even seconds.
        return nanoseconds == 0 && seconds.isMultiple(of: 2) && time.seconds == seconds.addingReportingOverflow(1).0
    }
}
