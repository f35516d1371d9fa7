#if os(Linux)
import CFuse
import CPlatform
public import SystemPackage
import VaultSystem

/// A view that is mounted. Only the user who mounts it can look at it.
@safe public final class Mount: @unchecked Sendable {
    private struct State {
        /// How many threads answer requests.
        var threads = 0
        var isStopping = false
        /// Whether nobody waits any more for threads that wait for requests.
        var isLeft = false
        /// Whether unmounting has failed.
        var isStuck = false
    }

    private let server: FuseServer
    private let session: OpaquePointer
    private let point: FilePath
    private let unmounter: Unmounter
    /// The number of the mounted file system; nil if the table of mounts does not say it.
    private let number: [UInt8]?
    private let state = Monitor(State())

    /// What the options of the mount are. `nodev` and `nosuid`: whoever made a container may have put devices and
    /// programs with other users' rights into it. `allow_other` is missing: neither other users nor root can look into the
    /// mount of a user.
    private static let options = "ro,nodev,nosuid,default_permissions,fsname=vaultfile,subtype=vaultfile"

    /// How long a stop waits for threads, in steps of 10 ms. They end at once unless a file of the mount is open.
    private static let patience = 50

    /// Mounts a view.
    ///
    /// - Parameters:
    ///   - view: what is shown.
    ///   - point: the absolute path of a folder.
    public init(_ view: any View, at point: FilePath) throws(MountError) {
        let library = try FuseLibrary.load()
        server = FuseServer(view, library)
        self.point = point
        guard let session = unsafe server.newSession(options: Self.options) else {
            throw .refused(FuseLibrary.takeLine())
        }
        unsafe self.session = session
        do throws(Errno) {
            unmounter = try Unmounter(point)
        } catch {
            unsafe library.functions.session_destroy(session)
            throw .noProcess(error)
        }
        let status = unsafe point.withPlatformString { unsafe library.functions.session_mount(session, $0) }
        guard status == 0 else {
            unmounter.dismiss()
            unsafe library.functions.session_destroy(session)
            throw .refused(FuseLibrary.takeLine())
        }
        number = MountTable.mounts(at: point)?.last.flatMap { $0.isOwn ? $0.number : nil }
        unmounter.watch(number)
    }

    /// Answers requests until the view is unmounted, by this program or another one.
    ///
    /// - Parameter threads: how many answer at once, at least 1.
    /// - Throws: `MountError` with `stuck` if it was stopped and is still mounted. Every program gets errors there then.
    public func serve(threads: Int) throws(MountError) {
        for number in 0..<threads {
            state.withLock { $0.threads += 1 }
            do {
                try Thread.start { self.answer() }
            } catch {
                state.withLock { $0.threads -= 1 }
                // Fewer threads do the same work.
                guard number > 0 else {
                    if unmount() { unmounter.dismiss() }
                    throw .noThread(error)
                }
                break
            }
        }
        let isLeft = state.wait { $0.threads == 0 || $0.isLeft ? $0.isLeft : nil }
        // A thread that still waits for a request uses the session. The end of the process ends it.
        if !isLeft {
            unsafe server.library.functions.session_unmount(session)
            unsafe server.library.functions.session_destroy(session)
        }
        // If it is still here, the other process tries once more when this one has ended.
        guard !state.look(\.isStuck) else { throw .stuck }
        // From now on another mount may be here, which is not to be unmounted.
        unmounter.dismiss()
    }

    /// Unmounts the view, also while its files are open: then they give errors from now on. Returns when it is unmounted.
    public func stop() {
        guard !state.withLock({ exchange(&$0.isStopping, with: true) }) else { return }
        let isGone = unmount()
        state.withLock { $0.isStuck = !isGone }
        for _ in 0..<Self.patience {
            if state.look({ $0.threads }) == 0 { return }
            usleep(10_000)
        }
        state.withLock { $0.isLeft = true }
    }

    /// Takes the mount out of the tree of files. The descriptor of the session stays open, as threads use its number.
    ///
    /// - Returns: whether it is no longer there.
    private func unmount() -> Bool {
        var point = point
        if let mounts = MountTable.mounts(at: point) {
            if let own = mounts.lastIndex(where: isThis) {
                // A mount on top of it would be unmounted in its place.
                guard own == mounts.count - 1 else { return false }
            } else {
                // Another program has unmounted it while files were open, or has moved it.
                guard let moved = number.flatMap(MountTable.place) else { return true }
                point = moved
            }
        }
        if geteuid() == 0, unsafe point.withPlatformString({ unsafe vaultfile_fuse_detach($0) }) == 0 { return true }
        let words = ["fusermount3", "-u", "-q", "-z", "--"].map { Array($0.utf8) } + [point.bytes]
        if (try? ChildProcess(words))?.wait() ?? false { return true }
        // Another program can have unmounted it meanwhile.
        if let number { return MountTable.place(of: number) == nil }
        return MountTable.mounts(at: point)?.contains(where: isThis) == false
    }

    private func isThis(_ mount: MountTable.Mount) -> Bool {
        mount.isOwn && (number == nil || mount.number == number)
    }

    private func answer() {
        defer { state.withLock { $0.threads -= 1 } }
        let functions = server.library.functions
        var buffer = unsafe fuse_buf()
        defer { unsafe free(buffer.mem) }
        while unsafe functions.session_exited(session) == 0 {
            let count = unsafe functions.session_receive_buf(session, &buffer)
            if count == -EINTR || count == -EAGAIN { continue }
            // 0: it was unmounted.
            guard count > 0 else { return }
            unsafe functions.session_process_buf(session, &buffer)
        }
    }
}
#else
public import SystemPackage

/// A view that is mounted. This system has no libfuse3.
public final class Mount: Sendable {
    /// Makes nothing: it always throws.
    public init(_ view: any View, at point: FilePath) throws(MountError) { throw .unavailable }

    /// Is never called.
    public func serve(threads: Int) throws(MountError) { throw .unavailable }

    /// Is never called.
    public func stop() {}
}
#endif
