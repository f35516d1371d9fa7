internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Counts the inputs of a run and their bytes ahead of the work, for the line of progress. It goes by names, and opens
/// no file.
struct Census: Sendable {
    let operands: [PathArgument]
    let isRecursive: Bool
    let selection: Selection
    /// A folder that the run leaves out.
    let leftOut: FileIdentity?
    let progress: RunProgress

    private static let checkedEach: UInt64 = 64

    /// Counts on a thread of its own. A run of less than a second shows no progress, so nothing is counted for it.
    func start() {
        guard progress.isShown else { return }
        try? Thread.start {
            for _ in 0..<10 where !progress.isFinished { Platform.pause(.milliseconds(100)) }
            guard !progress.isFinished, let (files, bytes) = count() else { return }
            progress.count(files: files, bytes: bytes)
        }
    }

    /// Nil if a part of the inputs cannot be counted, or if the run is over.
    func count() -> (files: UInt64, bytes: UInt64)? {
        var (files, bytes): (UInt64, UInt64) = (0, 0)
        let add = { (stat: Stat) in
            files += 1
            bytes &+= UInt64(max(0, stat.size))
        }
        for operand in operands {
            guard !operand.isDash, let stat = try? operand.path.stat() else { return nil }
            guard isRecursive, stat.type == .directory else {
                add(stat)
                continue
            }
            let left = Set([leftOut].compactMap(\.self))
            guard var walk = try? FolderWalk(operand, leavingOut: left) else { return nil }
            while let step = walk.next() {
                guard case .file(let path, let found) = step, selection.seemsToTake(path.lastComponent),
                    let stat = try? found.folder.stat(found.name)
                else { continue }
                add(stat)
                if files.isMultiple(of: Self.checkedEach), progress.isFinished { return nil }
            }
        }
        return (files, bytes)
    }
}

extension Selection {
    /// Whether the verb takes most files of this name.
    fileprivate func seemsToTake(_ name: [UInt8]) -> Bool {
        guard !OutputFile.hasTemporaryName(FilePath(bytes: name)) else { return false }
        let isContainer = name.suffix(OutputRules.suffix.count) == OutputRules.suffix[...]
        switch self {
        case .plaintexts: return !isContainer
        case .containers: return isContainer
        case .containersAndHeaderFiles: return isContainer || PathArgument(bytes: name).isNamedHeaderFile
        }
    }
}
