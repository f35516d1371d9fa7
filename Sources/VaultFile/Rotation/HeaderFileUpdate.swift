import SystemPackage
import VaultFormat
import VaultStream

/// Rotation of a header file in a file system (DET-10). The body is not read.
struct HeaderFileUpdate {
    let change: KeyChange
    let credentials: Credentials
    let options: RotationOptions
    let randomness: Randomness

    func run(at place: FilePlace) throws -> Rotation {
        var trials = SlotTrials(credentials.with(change.adding, removing: change.removing))
        let source = HeaderFileSource.file(at: place)
        if options.isDryRun {
            let new = try rotated(source.read(), &trials)
            if new.isChanged, let count = try? FileSource(at: place).linkCount() {
                try LockedFile.refuseLinks(count, unless: options.mayBreakLinks)
            }
            return Rotation(new)
        }
        // As for a container, the file is first opened without the lock: a person may be asked for a passphrase.
        let seen = Result { try HeaderFile(source.read()).open(&trials) }
        if case .failure(let error) = seen, !(error is VaultError) { throw error }
        let file = try LockedFile(at: place, onWaiting: options.onWaiting)
        file.removeLeftover()
        // mutant: a new file takes the place; ROT-2 asks for it
        try file.synchronizeAll()
        let new = try rotated(file.headerFileBytes(), &trials)
        if new.isChanged { _ = try file.replaceHeaderFile(with: new.file, mayBreakLinks: options.mayBreakLinks) }
        return Rotation(new)
    }

    private func rotated(_ bytes: [UInt8], _ trials: inout SlotTrials) throws -> HeaderFile.Rotated {
        try HeaderFile(bytes).rotated(
            change, &trials, mayLoseAccess: options.mayLoseAccess, mayMixRecipients: options.mayMixRecipients,
            randomness: randomness)
    }
}

extension Rotation {
    fileprivate init(_ new: HeaderFile.Rotated) {
        self.init(
            found: .intact, added: new.added, removed: new.removed, kept: new.kept, isNewHeader: new.isChanged,
            isRepaired: false, isNewFile: new.isChanged, header: new.file.summary)
    }
}
