import SystemPackage
import VaultFormat
internal import VaultSystem

extension LockedFile {
    /// More bytes than a keyring, or the container of an unlock key, can have.
    private static let largest: UInt64 = 4 << 20

    /// Erases the file under the temporary name that a program left when it was killed while it replaced this file
    /// (KEYRING-14). That file is a whole keyring, or what unlocks one, and could be opened for as long as it exists.
    ///
    /// Only the holder of this file's lock gives a file that name, and the file that is going to take this one's place
    /// is locked too. So a file that has the name and is not locked belongs to no running program.
    /// - Throws: `VaultError` with `cancelled`. Other failures are results.
    func eraseLeftover() throws(VaultError) -> Keyring.Erasure {
        do throws(VaultError) {
            return try eraseWhatIsLeft()
        } catch {
            guard error.code != .cancelled else { throw error }
            return error.systemError == .noSuchFileOrDirectory ? .notNeeded : .failed(error)
        }
    }

    private func eraseWhatIsLeft() throws(VaultError) -> Keyring.Erasure {
        let leftover = try LockedFile(at: .name(OutputFile.reservedName(for: name), in: folder))
        // An attacker who may make links in the folder, but not change other people's files, could have put another
        // person's file there.
        let status = try leftover.status()
        guard try status.owner == self.status().owner, status.size <= Self.largest else {
            throw VaultError(
                .outputFailed, "a file beside it looks left over from an earlier change, but is not its own")
        }
        let erasure = try leftover.overwrite(unlessNames: 1)
        do throws(Errno) {
            try retrying { SystemCalls.current.unlinkAt(folder.rawValue, leftover.name) }
        } catch {
            throw VaultError(
                .outputFailed, "the file left over from an earlier change cannot be removed: \(error)",
                systemError: error)
        }
        // mutant: if the name comes back, the next change removes it
        try folder.synchronizeFolder()
        return erasure
    }

    /// Overwrites the file with zeros, durably, if it has at most `count` names: under other names it may be wanted.
    func overwrite(unlessNames count: Int) throws(VaultError) -> Keyring.Erasure {
        guard try status().linkCount <= count else { return .linkedElsewhere }
        try descriptor.overwrite()
        return .overwritten
    }
}
