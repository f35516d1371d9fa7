import Synchronization
package import SystemPackage
import VaultFormat
internal import VaultSystem

/// The files of this process that have a temporary name: those of each `OutputFile` that is not finished.
///
/// An `OutputFile` that is dropped removes its temporary name. A process that a signal ends drops nothing, so a program
/// that takes signals calls `removeAll` before it ends.
public enum UnfinishedFiles {
    struct Entry {
        /// Open as long as the entry is here.
        let folder: FileDescriptor
        let name: FilePath
        /// Whether a call that makes, renames or removes the name is under way. It can hang, so no lock is held over
        /// it.
        var isBusy = true
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var nextID: UInt64 = 0
        var isEnding = false
    }

    private static let state = Mutex(State())

    /// Removes the temporary names. Call it only to end the process: a thread that then makes an `OutputFile`, commits
    /// it or drops it waits for ever.
    ///
    /// If a file system does not answer, its files stay. They do not delay the other files or the caller.
    ///
    /// - Parameter time: the longest time that the call takes.
    public static func removeAll(within time: Duration = .seconds(1)) {
        let start = ContinuousClock.now
        let calls = SystemCalls.current
        state.withLock { $0.isEnding = true }
        // Waits for calls that are under way: after such a call, another file may have the name.
        wait(until: start + time / 2, calls) { !$0.isBusy }
        let settled = state.withLock { $0.entries.filter { !$0.value.isBusy } }
        for (id, entry) in settled {
            let remove: @Sendable () -> Void = {
                _ = try? retrying { calls.unlinkAt(entry.folder.rawValue, entry.name) }
                state.withLock { $0.entries[id] = nil }
            }
            // Each on a thread of its own: one that hangs holds up no other.
            do { try Thread.start(remove) } catch { remove() }
        }
        wait(until: start + time, calls) { $0.isBusy }
    }

    /// Waits until all entries are as wanted, or the time is over.
    private static func wait(
        until end: ContinuousClock.Instant, _ calls: SystemCalls, _ isWanted: (Entry) -> Bool
    ) {
        while state.withLock({ !$0.entries.values.allSatisfy(isWanted) }), ContinuousClock.now < end {
            _ = calls.pause(2)
        }
    }

    /// All temporary names.
    package static var names: [FilePath] { state.withLock { $0.entries.values.map(\.name) } }

    fileprivate static func add(_ entry: Entry) -> UInt64 {
        let id = state.withLock { state -> UInt64? in
            guard !state.isEnding else { return nil }
            state.nextID += 1
            state.entries[state.nextID] = entry
            return state.nextID
        }
        guard let id else { waitForEnd() }
        return id
    }

    fileprivate static func update(_ id: UInt64, _ body: (inout Entry?) -> Void) {
        let isEnding = state.withLock { state in
            // When the process ends, no new change begins; one that has begun is still recorded.
            let mayChange = !state.isEnding || state.entries[id]?.isBusy == true
            if mayChange { body(&state.entries[id]) }
            return state.isEnding
        }
        if isEnding { waitForEnd() }
    }

    /// Never returns, because the process is about to end.
    private static func waitForEnd() -> Never {
        while true { _ = SystemCalls.current.pause(1000) }
    }
}

/// A temporary name of an `OutputFile`, known to `UnfinishedFiles` from before it exists until it is gone.
struct TemporaryName {
    let name: FilePath
    private let id: UInt64

    /// Records the name, and then makes it.
    ///
    /// - Parameter body: gives a file the name.
    static func make<R>(
        _ name: FilePath, in folder: FileDescriptor, _ body: () throws(VaultError) -> R
    ) throws(VaultError) -> (R, TemporaryName) {
        let temporary = TemporaryName(
            name: name, id: UnfinishedFiles.add(UnfinishedFiles.Entry(folder: folder, name: name)))
        do throws(VaultError) {
            let made = try body()
            UnfinishedFiles.update(temporary.id) { $0?.isBusy = false }
            return (made, temporary)
        } catch {
            UnfinishedFiles.update(temporary.id) { $0 = nil }
            throw error
        }
    }

    /// Ends the temporary name, and then removes the record of it.
    ///
    /// - Parameter body: renames or removes it. If it throws, the name still exists.
    func end<E>(_ body: () throws(E) -> Void) throws(E) {
        UnfinishedFiles.update(id) { $0?.isBusy = true }
        do throws(E) {
            try body()
        } catch {
            // mutant: the file is dropped next, and removing its name makes it busy again
            UnfinishedFiles.update(id) { $0?.isBusy = false }
            throw error
        }
        UnfinishedFiles.update(id) { $0 = nil }
    }
}
