import SystemPackage
import VaultFormat

extension LockedFile {
    /// More than a keyring takes, or what unlocks one.
    private static let largest: UInt64 = 4 << 20

    /// Does away with what somebody has left under the temporary name who was killed while he replaced this file
    /// (KEYRING-14). It is a whole keyring, or what unlocks one, and would open for as long as that stays.
    ///
    /// Only who holds the lock of this file gives the name to anything, and a file that is to take its place is locked
    /// itself: what is under the name, and is not locked, is nobody's any more.
    func eraseLeftover() -> Keyring.Erasure {
        do throws(VaultError) {
            return try eraseWhatIsLeft()
        } catch {
            return error.systemError == .noSuchFileOrDirectory ? .notNeeded : .failed(error)
        }
    }

    private func eraseWhatIsLeft() throws(VaultError) -> Keyring.Erasure {
        let leftover = try LockedFile(at: .name(OutputFile.reservedName(for: name), in: folder))
        // Whoever may make files in the folder, but not change others', could have put somebody else's there.
        let status = try leftover.status()
        guard try status.owner == self.status().owner, status.size <= Self.largest else {
            throw VaultError(.outputFailed, "what stands beside it as if left of an earlier change is none of its own")
        }
        let erasure = try leftover.overwrite(unlessNames: 1)
        do throws(Errno) {
            try retrying { SystemCalls.current.unlinkAt(folder.rawValue, leftover.name) }
        } catch {
            throw VaultError(
                .outputFailed, "what was left of an earlier change cannot be removed: \(error)",
                systemError: error)
        }
        try OutputFile.syncFolder(folder)
        return erasure
    }

    /// Overwrites all of it with zeros, durably, if it has no more than so many names: under others it may be wanted.
    func overwrite(unlessNames count: Int) throws(VaultError) -> Keyring.Erasure {
        let status = try status()
        guard status.linkCount <= count else { return .linkedElsewhere }
        try write([UInt8](repeating: 0, count: Int(truncatingIfNeeded: status.size)), at: 0)
        return .overwritten
    }
}
