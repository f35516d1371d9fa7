internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The common part of rotate, repair and reencrypt: it changes containers in place and writes one line for each.
struct InPlace: Sendable {
    let opening: RunKeys
    let change: SlotChange
    let context: Context
    /// What the user knows of the header.
    let header: KnownHeader
    /// Whether nothing is changed: only what would be done is reported.
    let isDryRun: Bool
    let console: Console

    init(
        _ options: InPlaceOptions, opening: RunKeys, changing change: SlotChange = .none,
        isDryRun: Bool = false, on console: Console
    ) throws {
        self.isDryRun = isDryRun
        self.opening = opening
        self.change = change
        context = try options.context.context()
        header = try options.expect.known(for: options.operandLists.flatMap(\.paths), options.many)
        self.console = console
    }

    init(
        opening: RunKeys, change: SlotChange, context: Context, header: KnownHeader, isDryRun: Bool, console: Console
    ) {
        (self.opening, self.change, self.context) = (opening, change, context)
        (self.header, self.isDryRun, self.console) = (header, isDryRun, console)
    }

    /// What opens a container.
    ///
    /// - Parameter headerFile: the header file that is used; nil for none.
    func credentials(_ keys: any KeyProvider, _ headerFile: FilePlace?) -> Credentials {
        header.credentials(keys, context, headerFile)
    }

    /// The same without a header file.
    func credentials(_ keys: any KeyProvider) -> Credentials { credentials(keys, nil) }

    /// Calls `body` with the place of an input and its header file; nil if it has none.
    func withHeaderFile<R>(
        of item: InputItem, _ body: (_ place: FilePlace, _ headerFile: FilePlace?) throws -> R
    ) throws -> R {
        try item.withPlace { place in
            try header.withHeaderFile(of: place) { try body(place, $0) }
        }
    }

    /// Runs one change, and explains its errors.
    func run(
        _ item: InputItem, _ options: RotationOptions,
        _ body: (any KeyProvider, RotationOptions) throws -> Outcome
    ) throws -> Outcome {
        var options = options
        let (console, subject) = (console, item.subject)
        // The change is tried again with the header file.
        let isSaid = Atomic(false)
        options.onDifference = { difference in
            guard !isSaid.exchange(true, ordering: .relaxed) else { return }
            console.warn(difference, about: subject)
        }
        return try withProgress(item) { report in
            options.onProgress = report
            return try run(item) { try body($0, options) }
        }
    }

    /// Shows the progress on one container, for work that reads all of it.
    func withProgress<R>(
        _ item: InputItem, _ body: (@escaping @Sendable (UInt64) -> Void) throws -> R
    ) rethrows -> R {
        let progress = Mutex(ProgressLine(item.subject, total: item.size, on: console))
        defer { progress.withLock { $0.finish() } }
        return try body { done in progress.withLock { $0.update(done) } }
    }

    func run(_ item: InputItem, _ body: (any KeyProvider) throws -> Outcome) throws -> Outcome {
        try ContainerKeys.tries {
            ContainerKeys(opening, changing: change, on: item.subject) {
                try? item.withPlace { try Inspection(FileSource(at: $0)) }
            }
        } _: { keys in
            if change.stretches || opening.stretches { keys.willStretch() }
            do {
                return try body(keys)
            } catch let error as VaultError where error.code == .wrongKey && keys.whyKeysAreMissing == nil {
                throw error
            } catch {
                throw explained(error, item, keys)
            }
        }
    }

    private func explained(
        _ error: any Error, _ item: InputItem, _ keys: ContainerKeys
    ) -> any Error {
        guard let known = error as? VaultError else { return error }
        switch known.code {
        case .wrongKey, .consentNeeded, .rotationUnfinished:
            // The keyring is locked and may hold the missing key. The hint would name the option to give up access,
            // which is wrong advice here.
            if let missing = keys.whyKeysAreMissing { return missing }
        default: break
        }
        // Only for what a file has in it: to open a pipe again would wait for a writer.
        if known.code != .inputFailed,
            let failure = try? item.withInput({ $0.failure(explaining: known) })
        {
            return failure
        }
        let missing = known.code == .inputFailed ? ExitStatus.noInput : .inputOutput
        let isReadOnly = known.systemError == .readOnlyFileSystem
        return Failure(known, about: item.subject, system: isReadOnly ? .cannotCreate : missing)
    }

    /// Reports what was done; for a dry run, what would be done, in the same words.
    func report(
        _ name: OutcomeName, _ item: InputItem, health: Health? = nil, _ rotation: RotationReport? = nil,
        extent: String? = nil, headerFile: [UInt8]? = nil, headerPin: HeaderPin? = nil, column: String? = nil
    ) throws -> Outcome {
        if let expecting = header.expecting, let pin = rotation?.pin, !isDryRun, pin != expecting.text {
            console.announce(
                item.subject, "its new pin is \(pin); the old one still accepts the header from before this change")
        }
        var report = Report(.ok, about: item.subject)
        report.outcome = name
        report.rotation = rotation
        report.extent = extent
        if let headerFile { report.name(headerFile: headerFile) }
        report.headerPin = headerPin?.text
        report.dryRun = isDryRun ? true : nil
        report.health = health?.rawValue
        let line = [name.text(isDryRun: isDryRun), item.subject.escaped, column].compactMap { $0 }.joined(
            separator: "\t")
        let status = try console.give(
            report, lines: [line], about: item.subject, done: isDryRun ? "was looked at" : "is \(name.text)")
        return Outcome(status: status, name: name)
    }
}

extension InPlace {
    /// Lists the slots that a rotation keeps, on a terminal or with --verbose: if someone has put an old header back,
    /// slots that were removed before are among them.
    func list(_ rotation: Rotation, _ item: InputItem) {
        guard rotation.isNewHeader else { return }
        for slot in rotation.kept {
            let name = opening.name(of: slot, in: rotation.header)
            let what = slot.text + (name.map { " (\($0))" } ?? "")
            let line = isDryRun ? "would keep its slot for \(what)" : "keeps its slot for \(what)"
            console.tell("\(item.subject.escaped): \(line)")
            console.note(item.subject, line)
        }
    }
}

extension InPlace {
    /// Warns of hidden slots that stay and may be those of somebody who is removed by their public key: a public key does
    /// not show whose a hidden slot is. Slots of the identities at hand are not among them.
    ///
    /// - Throws: What the keyring throws.
    func warn(ofHidden slots: [SlotDescription], _ item: InputItem) throws {
        guard !slots.isEmpty else { return }
        let own = try opening.identities().map { LoadedIdentity(identity: $0, name: "") }
        var unknown = slots
        if !own.isEmpty, let seen = try? item.withPlace({ try Inspection(FileSource(at: $0)) }) {
            let owners = SlotOwners(of: seen, among: own, context: context)
            unknown.removeAll { owners[$0] != nil }
        }
        guard !unknown.isEmpty else { return }
        let (subject, verb) = unknown.count == 1 ? ("a hidden slot stays", "it is") : ("hidden slots stay", "they are")
        let ids = unknown.map(\.keyID.description).joined(separator: ", ")
        console.warn(
            item.subject, "\(subject), and a public key does not show whose \(verb): \(ids)", hint: .hiddenSlots)
    }

    /// Warns if a post-quantum slot is added to a container that had a classical one (MIX-3): its file key is as old as
    /// its contents.
    func warnIfStillClassical(_ rotation: Rotation, _ item: InputItem) {
        guard rotation.added.contains(where: { $0.kind == .xWing }),
            (rotation.kept + rotation.removed).contains(where: { $0.kind == .x25519 })
        else { return }
        console.warn(
            item.subject,
            "a slot for a post-quantum key was added, but a quantum computer opens it with any copy of its old header, "
                + "which has a slot for a classical public key", hint: .reencryptForStrength)
    }
}

extension Console {
    /// Warns about the slots in which the two header copies differ. Called before one of the copies is chosen.
    fileprivate func warn(_ difference: CopyDifference, about subject: Failure.Subject) {
        func words(_ slots: [SlotDescription]) -> String {
            slots.isEmpty ? "no slot" : slots.map(\.text).joined(separator: ", ")
        }
        warn(
            subject,
            "its header copies differ: only the front (generation \(difference.frontGeneration)) has "
                + "\(words(difference.onlyInFront)); only the tail (generation \(difference.tailGeneration)) has "
                + words(difference.onlyInTail))
    }
}

extension RotationReport {
    init(_ rotation: Rotation) {
        self.init(
            generation: rotation.header.generation, capacity: rotation.header.capacity.bytes,
            added: rotation.added.map { SlotReport($0) },
            removed: rotation.removed.map { SlotReport($0) },
            kept: rotation.kept.map { SlotReport($0) }, repaired: rotation.isRepaired,
            newFile: rotation.isNewFile, pin: rotation.header.pin.text, headerPin: nil)
    }

    init(_ reencryption: Reencryption) {
        self.init(
            generation: reencryption.header.generation, capacity: reencryption.header.capacity.bytes,
            added: (reencryption.headerFile ?? reencryption.header).slots.map { SlotReport($0) },
            removed: reencryption.lost.map { SlotReport($0) }, kept: [], repaired: false, newFile: true,
            pin: reencryption.header.pin.text, headerPin: reencryption.headerFile?.pin.text)
    }
}
