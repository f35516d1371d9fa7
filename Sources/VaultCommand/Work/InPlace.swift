internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The work that rotate, repair and reencrypt share: containers changed in their place, one line for each.
struct InPlace: Sendable {
    let verb: String
    let opening: RunKeys
    let change: SlotChange
    let context: Context
    /// Whether nothing is changed, and only said what would be.
    let isDryRun: Bool
    let console: Console

    init(
        _ verb: String, _ options: InPlaceOptions, opening: RunKeys, changing change: SlotChange = .none,
        isDryRun: Bool = false, on console: Console
    ) throws {
        self.verb = verb
        self.isDryRun = isDryRun
        self.opening = opening
        self.change = change
        context = try options.context.context()
        self.console = console
    }

    /// Runs one change, and says what its errors mean.
    func run(
        _ item: InputItem, _ options: RotationOptions,
        _ body: (any KeyProvider, RotationOptions) throws -> Outcome
    ) throws -> Outcome {
        var options = options
        let (console, subject) = (console, item.subject)
        options.onDifference = { console.warn($0, about: subject) }
        return try withProgress(item) { report in
            options.onProgress = report
            return try run(item) { try body($0, options) }
        }
    }

    /// Shows how far the work on one container is, where all of it is read.
    func withProgress<R>(
        _ item: InputItem, _ body: (@escaping @Sendable (UInt64) -> Void) throws -> R
    ) rethrows -> R {
        let progress = Mutex(ProgressLine(item.subject, total: item.size, on: console))
        defer { progress.withLock { $0.finish() } }
        return try body { done in progress.withLock { $0.update(done) } }
    }

    func run(_ item: InputItem, _ body: (any KeyProvider) throws -> Outcome) throws -> Outcome {
        let keys = ContainerKeys(opening, changing: change, on: item.subject)
        defer { keys.end() }
        if change.stretches || opening.stretches { keys.willStretch() }
        do {
            return try body(keys)
        } catch {
            throw explained(error, item, keys)
        }
    }

    private func explained(
        _ error: any Error, _ item: InputItem, _ keys: ContainerKeys
    ) -> any Error {
        guard let known = error as? VaultError else { return error }
        var failure = Failure(known, about: item.subject, system: known.code == .inputFailed ? .noInput : .inputOutput)
        switch known.code {
        case .wrongKey, .consentNeeded, .rotationUnfinished:
            // A keyring that stayed locked may well have what is missing: nobody is to consent to a loss for that.
            if let missing = keys.whyKeysAreMissing { return missing }
        default: break
        }
        switch known.code {
        case .wrongKey: return keys.explain(known)
        case .truncated, .footerDamaged, .paddingNotZero, .trailingData:
            if verb == "repair" { failure.hint = Failure.recovering }
        case .headerDamaged where verb == "repair": failure.hint = nil
        case .copiesConflict:
            failure.hint = "vaultfile inspect shows both; vaultfile repair --keep front or --keep tail keeps one"
        case .rotationUnfinished:
            failure.hint = "give the key that was being added; vaultfile repair --keep front gives the newer copy up"
        case .consentNeeded where verb != "reencrypt":
            failure.hint = "--give-up-access goes on all the same"
        case .hardLinks: failure.hint = "--break-links goes on all the same"
        case .generationExhausted: failure.hint = "vaultfile reencrypt makes a new container of it"
        default: break
        }
        return failure
    }

    /// Says what was done, or of a dry run in the same words what would be.
    func report(
        _ word: String, _ item: InputItem, health: Health? = nil, _ rotation: RotationReport? = nil,
        column: String? = nil
    ) throws -> Outcome {
        var report = Report(.ok, verb: verb, about: item.subject)
        report.outcome = word
        report.rotation = rotation
        report.dryRun = isDryRun ? true : nil
        report.health = health?.rawValue
        let line = [word, item.subject.escaped, column].compactMap { $0 }.joined(separator: "\t")
        let status = try console.give(
            report, lines: [line], about: item.subject, done: isDryRun ? "was looked at" : "\(verb): \(word)")
        return Outcome(status: status, word: word)
    }
}

extension Console {
    /// Shows the slots in which two header copies differ, before one of them is taken for the truth.
    fileprivate func warn(_ difference: CopyDifference, about subject: Failure.Subject) {
        func words(_ slots: [SlotDescription]) -> String {
            slots.isEmpty ? "no slot" : slots.map { "\($0.kind.noun) \($0.keyID)" }.joined(separator: ", ")
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
            added: rotation.added.map { SlotReport($0, opened: nil) },
            removed: rotation.removed.map { SlotReport($0, opened: nil) }, repaired: rotation.isRepaired,
            newFile: rotation.isNewFile)
    }

    init(_ reencryption: Reencryption) {
        self.init(
            generation: reencryption.header.generation, capacity: reencryption.header.capacity.bytes,
            added: reencryption.header.slots.map { SlotReport($0, opened: nil) },
            removed: reencryption.lost.map { SlotReport($0, opened: nil) }, repaired: false, newFile: true)
    }
}
