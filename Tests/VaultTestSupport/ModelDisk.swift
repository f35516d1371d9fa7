internal import CPlatform
import Synchronization
import SystemPackage
import VaultFile
import VaultSystem

/// A disk and a system in memory, behind the seam for system calls. It keeps the state after each call that changes
/// something, so one run gives every moment at which it could have been stopped.
///
/// Paths begin at its own root folder. Only one thread at a time may use it.
package final class ModelDisk: Sendable {
    /// The features of this system and its file system.
    package struct Abilities: Sendable {
        /// Files without a name (O_TMPFILE).
        package var nameless = true
        package var exclusiveRename = true
        /// The most bytes that one call writes.
        package var writeCount = Int.max
        /// The numbers, from 0 on, of the syncs that do nothing but report success, as if the program had left them
        /// out. A test of safety must fail then.
        package var deafSyncs: Set<Int> = []
        /// The numbers, from 0 on, of the writes that store nothing but report success.
        package var lostWrites: Set<Int> = []
        /// The number, from 0 on, of the file sync that fails because the disk does not take the bytes, and which of
        /// the possible results it leaves on the disk. A sync of a folder does not fail.
        package var failingSync: (number: Int, outcome: Int)?
        /// The most results of a failed sync that are told apart; if there are more, a selection.
        package var mostOutcomes = 256
        /// Whether the system drops memory when it is asked to.
        package var forgets = true
        /// The `errno` with which a call fails. Calls that change something are numbered from 0 on.
        package var failure: (@Sendable (Moment.Call, _ number: Int) -> Int32?)?

        /// Called before each call that syncs, locks, or changes a name, numbered from 0 on. It may use the disk,
        /// as another program would; its own calls are not numbered.
        package var interlude: (@Sendable (_ number: Int) -> Void)?

        package init() {}
    }

    /// The state after each call.
    package struct Moment: Sendable {
        package enum Call: String, Sendable {
            case start, make, write, partOfWrite, truncate, syncFile, syncFolder, link, rename, remove, permissions,
                owner
        }

        package let call: Call
        package let state: DiskState
    }

    private let machine: Mutex<Machine>
    private let interlude: (@Sendable (Int) -> Void)?
    /// How many interludes there were, and whether one is under way.
    private let interludes = Mutex((count: 0, isPlaying: false))

    package init(_ state: DiskState, abilities: Abilities = Abilities()) {
        machine = Mutex(Machine(state, abilities))
        interlude = abilities.interlude
    }

    /// The number of calls before which there was an interlude, or could have been one.
    package var interludeCount: Int { interludes.withLock { $0.count } }

    private func playInterlude() {
        let number = interludes.withLock { state -> Int? in
            guard !state.isPlaying else { return nil }
            state.count += 1
            state.isPlaying = true
            return state.count - 1
        }
        guard let number else { return }
        interlude?(number)
        interludes.withLock { $0.isPlaying = false }
    }

    private func answerAfterInterlude<N: SignedInteger & Sendable>(
        _ body: (inout Machine) throws(Errno) -> N
    ) -> N {
        playInterlude()
        return answer(body)
    }

    package var state: DiskState { machine.withLock { $0.state } }
    /// All states from the start on.
    package var moments: [Moment] { machine.withLock { $0.moments } }
    /// The number of calls that could change something.
    package var changeCount: Int { machine.withLock { $0.changeCount } }
    /// The number of calls that write bytes.
    package var writeCount: Int { machine.withLock { $0.writeCount } }
    /// The number of syncs.
    package var syncCount: Int { machine.withLock { $0.syncCount } }
    /// The number of results that the failed sync could have left on the disk; 0 if none failed.
    package var outcomeCount: Int { machine.withLock { $0.outcomeCount } }
    /// Whether these are only a selection of the possible results.
    package var isSelection: Bool { machine.withLock { $0.isSelection } }
    /// The number of descriptors that were not closed.
    package var openCount: Int { machine.withLock { $0.descriptors.count } }
    /// How often a lock was asked for that another holder would never have released.
    package var deadlocks: Int { machine.withLock { $0.deadlocks } }

    /// Runs `body` on this system.
    package func during<R>(_ body: () throws -> R) rethrows -> R {
        try SystemCalls.$current.withValue(systemCalls, operation: body)
    }

    private func answer<N: SignedInteger & Sendable>(_ body: (inout Machine) throws(Errno) -> N) -> N {
        let result = machine.withLock { machine in
            Result { () throws(Errno) in try body(&machine) }
        }
        switch result {
        case .success(let number): return number
        case .failure(let error):
            vaultfile_set_error_number(error.rawValue)
            return -1
        }
    }

    private func fill(
        _ buffer: UnsafeMutableRawBufferPointer, _ body: (inout Machine, Int) throws(Errno) -> ArraySlice<UInt8>
    ) -> Int {
        let room = buffer.count
        let result = machine.withLock { machine in
            Result { () throws(Errno) in try body(&machine, room) }
        }
        switch result {
        case .success(let bytes):
            unsafe buffer.copyBytes(from: bytes)
            return bytes.count
        case .failure(let error):
            vaultfile_set_error_number(error.rawValue)
            return -1
        }
    }

    private var systemCalls: SystemCalls {
        var calls = SystemCalls()
        unsafe calls.read = { file, buffer in
            unsafe self.fill(buffer) { machine, room throws(Errno) in try machine.read(file, room) }
        }
        unsafe calls.readAt = { file, buffer, offset in
            unsafe self.fill(buffer) { machine, room throws(Errno) in try machine.read(file, room, at: Int(offset)) }
        }
        calls.seek = { file, offset, origin in
            self.answer { machine throws(Errno) in try machine.seek(file, Int(offset), from: origin) }
        }
        unsafe calls.write = { file, buffer in
            let bytes = unsafe [UInt8](buffer)
            return self.answer { machine throws(Errno) in try machine.write(file, bytes, at: nil) }
        }
        unsafe calls.writeAt = { file, buffer, offset in
            let bytes = unsafe [UInt8](buffer)
            return self.answer { machine throws(Errno) in try machine.write(file, bytes, at: Int(offset)) }
        }
        calls.truncate = { file, length in
            self.answer { machine throws(Errno) in try machine.truncate(file, Int(length)) }
        }
        calls.wait = { _, _, _ in self.answer { _ throws(Errno) in 1 } }
        calls.sync = { file in self.answerAfterInterlude { machine throws(Errno) in try machine.sync(file) } }
        calls.forget = { file, offset, length in
            self.answer { machine throws(Errno) in try machine.forget(file, Int(offset), Int(length)) }
        }
        calls.lock = { file, operation in
            self.answerAfterInterlude { machine throws(Errno) in try machine.lock(file, operation) }
        }
        calls.pause = { _ in 0 }
        calls.setOwner = { file, owner, group in
            self.answer { machine throws(Errno) in
                try machine.change(file, .owner) { ($0.owner, $0.group) = (owner, group) }
            }
        }
        calls.setPermissions = { file, mode in
            self.answer { machine throws(Errno) in
                try machine.change(file, .permissions) { $0.permissions = FilePermissions(rawValue: mode) }
            }
        }
        // This system does not store times.
        calls.setModified = { _, _ in 0 }
        calls.openAt = { folder, path, flags, mode in
            self.answer { machine throws(Errno) in
                try machine.open(folder, path, flags, FilePermissions(rawValue: mode))
            }
        }
        calls.makeFolderAt = { folder, path, _ in
            self.answer { machine throws(Errno) in try machine.makeFolder(folder, path) }
        }
        calls.forEachName = { folder, body in
            let names = self.machine.withLock { machine in
                Result { () throws(Errno) in try machine.names(folder) }
            }
            return names.map { for entry in $0 { body(Array(entry.name.utf8), entry.kind) } }
        }
        calls.linkAt = { from, old, to, new, flags in
            self.answerAfterInterlude { machine throws(Errno) in
                try machine.link(from, old, to, new, follows: flags & AT_SYMLINK_FOLLOW != 0)
            }
        }
        calls.renameAt = { folder, old, new in
            self.answerAfterInterlude { machine throws(Errno) in
                try machine.rename(folder, old, new, isExclusive: false)
            }
        }
        calls.renameExclusiveAt = { folder, old, new in
            self.answerAfterInterlude { machine throws(Errno) in try machine.rename(folder, old, new, isExclusive: true)
            }
        }
        calls.unlinkAt = { folder, path in
            self.answerAfterInterlude { machine throws(Errno) in try machine.unlink(folder, path) }
        }
        unsafe calls.readLink = { path, buffer in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            return unsafe self.fill(bytes) { machine, room throws(Errno) in try machine.readLink(path).prefix(room) }
        }
        calls.status = { file in
            self.machine.withLock { machine in Result { () throws(Errno) in try machine.status(file) } }
        }
        calls.statusAt = { folder, path, followsLinks in
            self.machine.withLock { machine in
                Result { () throws(Errno) in try machine.status(folder, path, follows: followsLinks) }
            }
        }
        calls.close = { file in self.answer { machine throws(Errno) in try machine.close(file) } }
        return calls
    }
}
