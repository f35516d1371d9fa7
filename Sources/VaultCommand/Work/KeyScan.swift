internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Counts the containers below some folders that need the keys to be destroyed, as their headers say. This needs no
/// key.
struct KeyScan {
    /// The counts for each key.
    private(set) var reports: [KeyID: ScanReport]
    /// For each key, some of the containers that nothing else opens.
    private var examples: [KeyID: [String]] = [:]
    private let ids: Set<KeyID>
    private static let maximumExamples = 5

    /// - Parameter ids: All keys to be destroyed. None of them counts as another opener of a container.
    init(for ids: [KeyID]) {
        self.ids = Set(ids)
        let none = ScanReport(containers: 0, needing: 0, needingOnly: 0, unreadable: 0)
        reports = Dictionary(ids.map { ($0, none) }, uniquingKeysWith: { first, _ in first })
    }

    /// Counts all containers below the folders, each once, even if a folder is named twice or is below another one.
    mutating func add(_ folders: [PathArgument], on console: Console) throws(Failure) {
        let progress = RunProgress(on: console, countsBytes: false)
        Census(
            operands: folders, isRecursive: true, selection: .containersAndHeaderFiles, leftOut: nil, progress: progress
        ).start()
        defer { progress.finish() }
        var seen: Set<FileIdentity> = []
        let all = FileIdentity.all(ofFolders: folders)
        for folder in folders {
            if let there = try? folder.path.stat(), !seen.insert(FileIdentity(there)).inserted { continue }
            try add(folder, leavingOut: all, progress, on: console)
        }
    }

    private mutating func add(
        _ folder: PathArgument, leavingOut others: Set<FileIdentity>, _ progress: RunProgress, on console: Console
    ) throws(Failure) {
        var walk = try FolderWalk(folder, leavingOut: others)
        while let step = walk.next() {
            switch step {
            case .passedOver, .folder, .other: continue
            case .failed(let failure): report(failure, on: console)
            case .file(let path, let found):
                do {
                    try look(at: InputItem(operand: path, found: found), progress, on: console)
                } catch {
                    report(Failure(error, about: path.subject, system: .noInput), on: console)
                }
            }
        }
    }

    private mutating func report(_ failure: Failure, on console: Console) {
        console.say(failure)
        for id in ids { reports[id]?.unreadable += 1 }
    }

    private mutating func look(at item: InputItem, _ progress: RunProgress, on console: Console) throws {
        let input = try Input(item)
        defer { input.close() }
        guard try Selection.containersAndHeaderFiles.takes(input) else { return }
        let part = InputProgress(in: progress)
        part.begin(item.subject, size: nil)
        defer { part.end(isInput: true) }
        guard let slots = SlotSummary(try Inspection(input.source(console))) else {
            throw Failure(code: .headerDamaged, item.subject, "has no readable header copy")
        }
        for id in ids { reports[id]?.containers += 1 }
        for id in slots.keys.intersection(ids) {
            reports[id]?.needing += 1
            guard !slots.opens(without: ids) else { continue }
            reports[id]?.needingOnly += 1
            if examples[id, default: []].count < Self.maximumExamples {
                examples[id, default: []].append(item.subject.escaped)
            }
        }
    }

    /// The warning before a key is destroyed; nil if no container needs the key.
    func warning(of id: KeyID) -> String? {
        guard let report = reports[id], report.needing > 0 || report.unreadable > 0 else { return nil }
        return report.text(examples: examples[id] ?? [])
    }
}

extension ScanReport {
    /// The report as text.
    ///
    /// - Parameter examples: Some of the containers that only this key opens.
    func text(examples: [String] = []) -> String {
        var text =
            "\(containers.counted("container")) scanned: \(needing) open with this key, "
            + "\(needingOnly) with this key only"
        if !examples.isEmpty {
            let more = needingOnly - examples.count
            text += " (" + examples.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "") + ")"
        }
        if unreadable > 0 { text += "; \(unreadable) could not be examined" }
        return text
    }
}
