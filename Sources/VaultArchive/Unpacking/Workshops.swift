internal import CArchive
internal import CPlatform
internal import Synchronization
public import SystemPackage
internal import VaultSystem

/// The private folders in which an extraction writes: one on each file system. A file gets its name by a rename, which
/// does not lead from one file system to another.
///
/// A signal can end the process meanwhile: what takes signals calls ``end(within:)`` before.
public final class Workshops: Sendable {
    private struct State {
        var workshops: [FileSystem: Workshop] = [:]
        /// An open folder on each file system that something is extracted to.
        var places: [FileSystem: FileDescriptor] = [:]
        /// Whether a folder is being made. That can take long, so no lock is held over it.
        var isBusy = false
        var isEnding = false
    }

    private let state = Mutex(State())

    init() {}

    /// What the name of each workshop begins with.
    public static var prefix: [UInt8] { Array(Workshop.prefix.utf8) }

    /// Whether a folder is a workshop, of this process or of another one, or of one that was killed.
    ///
    /// - Parameter name: its name.
    public static func isWorkshop(_ name: [UInt8], _ folder: FileDescriptor) -> Bool { Workshop.isOne(name, folder) }

    deinit {
        state.withLock { for place in $0.places.values { try? place.close() } }
    }

    // MARK: For the thread that extracts

    /// The workshop for the members in a folder. It is made if there is none on the file system of the folder.
    ///
    /// - Parameter isOwn: whether it is to be in this very folder. Another one on the file system is removed.
    func workshop(in folder: FileDescriptor, isOwn: Bool = false) throws(Errno) -> Workshop {
        let fileSystem = try note(folder)
        if !isOwn, let known = state.withLock({ $0.workshops[fileSystem] }) { return known }
        waitIfEnding { $0.isBusy = true }
        defer { waitIfEnding { $0.isBusy = false } }
        let new = try Workshop(in: folder)
        state.withLock { exchange(&$0.workshops[fileSystem], with: new) }?.remove()
        return new
    }

    /// Records that something is extracted to a folder, for `synchronize`.
    @discardableResult
    func note(_ folder: FileDescriptor) throws(Errno) -> FileSystem {
        let fileSystem = try FileSystem(of: folder)
        if state.withLock({ $0.places[fileSystem] }) == nil {
            let place = FileDescriptor(rawValue: try retrying { vaultfile_above_standard(folder.rawValue) })
            state.withLock { $0.places[fileSystem] = place }
        }
        return fileSystem
    }

    /// Makes what was extracted durable, on every file system.
    func synchronize() throws(Errno) {
        var failure: Errno?
        for place in state.withLock({ $0.places.values.map(\.self) }) {
            do {
                try retrying { vaultfile_sync_file_system(place.rawValue) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Removes the workshops.
    func removeAll() {
        waitIfEnding { $0.isBusy = true }
        let old = state.withLock { exchange(&$0.workshops, with: [:]) }
        for workshop in old.values { workshop.remove() }
        waitIfEnding { $0.isBusy = false }
    }

    /// Never returns if the process is about to end. Otherwise this thread would report the workshop that is gone as an
    /// error, or make a file that stays.
    func waitIfEnding() { waitIfEnding { _ in } }

    private func waitIfEnding(_ change: (inout State) -> Void) {
        let isEnding = state.withLock { state in
            // When the process ends, nothing new begins; the end of what has begun is recorded.
            if !state.isEnding || state.isBusy { change(&state) }
            return state.isEnding
        }
        while isEnding { pause() }
    }

    // MARK: For the thread that takes signals

    /// Removes the workshops, with the plaintext in them. Call it only to end the process: the thread that extracts then
    /// waits for ever.
    ///
    /// - Parameter time: the longest time that the call takes, if a file system does not answer.
    public func end(within time: Duration = .seconds(1)) {
        let start = ContinuousClock.now
        state.withLock { $0.isEnding = true }
        wait(until: start + time / 2) { !$0.isBusy }
        for (fileSystem, workshop) in state.withLock({ $0.workshops }) {
            let remove: @Sendable () -> Void = { [self] in
                workshop.remove()
                state.withLock { _ = $0.workshops.removeValue(forKey: fileSystem) }
            }
            // Each on a thread of its own: one that hangs holds up no other.
            do { try Thread.start(remove) } catch { remove() }
        }
        wait(until: start + time) { $0.workshops.isEmpty }
    }

    private func wait(until end: ContinuousClock.Instant, _ isDone: (State) -> Bool) {
        while !state.withLock({ isDone($0) }), ContinuousClock.now < end { usleep(2000) }
    }
}

/// What renames stay within: a file system, as one mount shows it.
struct FileSystem: Hashable, Sendable {
    private let device: UInt64
    /// A file system can be mounted at several places, and the kernel renames nothing from one to another.
    private let mount: UInt64

    init(of folder: FileDescriptor) throws(Errno) {
        let stat = try folder.stat()
        device = UInt64(truncatingIfNeeded: stat.deviceID.rawValue)
        mount = vaultfile_archive_mount(folder.rawValue)
    }
}
