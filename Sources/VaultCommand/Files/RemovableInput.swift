internal import CPlatform
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// An input that is removed once its output is durable, unless another program may have changed it after it was read.
///
/// A store through a shared mapping changes the file's times only if the page was clean before. So the file is synced
/// before its status is taken: from then on every change shows in the status. tmpfs keeps no page clean, and notes only
/// the first store after a program has mapped the file. So the system is asked for a write lease twice, before the file
/// is read and when it is removed: it gives none as long as any program has the file open or mapped. Under the second
/// lease the status is compared.
struct RemovableInput {
    /// The input, with its status from before it is read.
    let input: Input
    /// Whether every change since that status shows in the file's times.
    private let isSettled: Bool
    /// Whether another program had it open before it was read.
    private let wasOpen: Bool

    private static let attempts = 5

    private enum Lease {
        case taken, inUse, unavailable(Errno)
    }

    /// Syncs the input and takes its status. Waits a moment if the file has just been changed.
    init(_ input: Input) throws(Failure) {
        let calls = RemovalCalls.current
        var input = input
        var isSettled = false
        for _ in 0..<Self.attempts {
            try Self.synchronize(input, calls)
            input.stat = try input.subject.attempt { try calls.stat(input.descriptor) }
            guard let time = Self.wait(for: input.stat, at: calls.now()) else {
                isSettled = true
                break
            }
            calls.pause(time)
        }
        self.input = input
        self.isSettled = isSettled
        switch Self.takeLease(on: input, calls) {
        case .taken:
            Self.endLease(on: input, calls)
            wasOpen = false
        case .inUse: wasOpen = true
        case .unavailable: wasOpen = false
        }
    }

    private static func synchronize(_ input: Input, _ calls: RemovalCalls) throws(Failure) {
        do throws(Errno) {
            try calls.synchronize(input.descriptor)
        } catch {
            guard ![.invalidArgument, .notSupported, .readOnlyFileSystem].contains(error) else { return }
            throw Failure(.inputOutput, input.subject, "cannot be synced, and is not removed: \(error.words)")
        }
    }

    /// How long to wait until a change of the file would give it other times; nil if one would already.
    static func wait(for stat: Stat, at now: Timestamp) -> Duration? {
        wait(for: [stat.modified, stat.changed].compactMap(\.self), at: now)
    }

    static func wait(for times: [Timestamp], at now: Timestamp) -> Duration? {
        // Systems count time in steps of up to 10 ms, exFAT too, and FAT in steps of 2 seconds.
        let step: Duration = times.allSatisfy { $0.nanoseconds == 0 } ? .milliseconds(2100) : .milliseconds(30)
        let isNew = times.contains { time in
            let age = now.sinceBeginning - time.sinceBeginning
            return age < step && age > .zero - step
        }
        return isNew ? step : nil
    }

    /// Removes the input after its output is durable.
    ///
    /// - Parameters:
    ///   - done: What was done with it, for the message if it stays.
    ///   - isForced: Whether to remove it even if the system cannot tell whether another program has it open.
    /// - Throws: `Failure` if it has changed since it was read, because the output lacks the change; `Failure` if
    ///   another program has it open or may have.
    func remove(done: String, isForced: Bool) throws(Failure) {
        let calls = RemovalCalls.current
        do {
            let (folder, name) = try place()
            try refuseChange(folder, name, done, calls)
            guard !wasOpen else { throw inUse(done) }
            let lease = Self.takeLease(on: input, calls)
            // A program that wants to open the file waits for the lease to end. Then it gets the file without a name.
            defer { if case .taken = lease { Self.endLease(on: input, calls) } }
            try refuseChange(folder, name, done, calls)
            switch Self.isKept(lease, on: input, calls) {
            case .taken: break
            case .inUse: throw inUse(done)
            case .unavailable(let error): if !isForced { throw unknown(done, error) }
            }
            try calls.remove(folder, name)
            try synchronize(folder, done, calls)
        } catch let error as Errno {
            throw Failure(.inputOutput, input.subject, "was \(done), but cannot be removed: \(error.words)")
        } catch {
            throw Failure(error, about: input.subject)
        }
    }

    /// The folder of the input and its name there. A file that a walk found is removed through the walk's folder: its
    /// path may lead to another file now.
    private func place() throws -> (OpenFolder, [UInt8]) {
        if let found = input.found { return (found.folder, found.name) }
        let folder = input.operand.path.removingLastComponent()
        return (try OpenFolder(at: folder.isEmpty ? "." : folder), input.operand.lastComponent)
    }

    private func refuseChange(
        _ folder: OpenFolder, _ name: [UInt8], _ done: String, _ calls: RemovalCalls
    ) throws {
        let (before, now, named) = (input.stat, try calls.stat(input.descriptor), try folder.stat(name))
        guard isSettled, FileIdentity(named) == FileIdentity(before), now.size == before.size,
            now.modified == before.modified, now.changed == before.changed
        else {
            throw Failure(
                .inputOutput, input.subject, "changed while it was read; it was \(done), and was not removed")
        }
    }

    /// Takes a write lease. A program that only looks at the file soon closes it, so there are several attempts.
    private static func takeLease(on input: Input, _ calls: RemovalCalls) -> Lease {
        for attempt in 0..<attempts {
            if attempt > 0 { calls.pause(.milliseconds(20)) }
            do throws(Errno) {
                try retrying { calls.setLease(input.descriptor, Int32(F_WRLCK)) }
                return .taken
            } catch {
                guard error == .resourceTemporarilyUnavailable || error == .wouldBlock else {
                    return .unavailable(error)
                }
            }
        }
        return .inUse
    }

    /// Whether a lease that was taken still holds: another program may be waiting for its end.
    private static func isKept(_ lease: Lease, on input: Input, _ calls: RemovalCalls) -> Lease {
        guard case .taken = lease else { return lease }
        do throws(Errno) {
            return try retrying { calls.lease(input.descriptor) } == Int32(F_WRLCK) ? .taken : .inUse
        } catch {
            return .unavailable(error)
        }
    }

    private static func endLease(on input: Input, _ calls: RemovalCalls) {
        _ = calls.setLease(input.descriptor, Int32(F_UNLCK))
    }

    private func unknown(_ done: String, _ error: Errno) -> Failure {
        Failure(
            .inputOutput, input.subject,
            "was \(done), and was not removed: the system cannot tell whether another program is writing to it "
                + "(\(error.words))", hint: .forceRemoves)
    }

    private func inUse(_ done: String) -> Failure {
        Failure(
            .inUse, input.subject, "was \(done), and was not removed: another program has it open", hint: .removeLater)
    }

    /// Makes the removal durable. Otherwise a power failure could bring back a plaintext that the user believes to be
    /// gone.
    private func synchronize(_ folder: OpenFolder, _ done: String, _ calls: RemovalCalls) throws(Failure) {
        do throws(Errno) {
            try calls.synchronizeFolder(folder)
        } catch {
            throw Failure(
                .inputOutput, input.subject,
                "was \(done) and removed, but a power failure may bring it back: \(error.words)")
        }
    }
}

extension Timestamp {
    fileprivate var sinceBeginning: Duration { .seconds(seconds) + .nanoseconds(nanoseconds) }
}

/// The system calls by which an input is removed. Tests replace them.
struct RemovalCalls: Sendable {
    var synchronize: @Sendable (FileDescriptor) throws(Errno) -> Void = { file throws(Errno) in
        try file.synchronize()
    }
    var stat: @Sendable (FileDescriptor) throws(Errno) -> Stat = { file throws(Errno) in try file.stat() }
    var setLease: @Sendable (FileDescriptor, Int32) -> Int32 = { vaultfile_set_lease($0.rawValue, $1) }
    var lease: @Sendable (FileDescriptor) -> Int32 = { vaultfile_lease($0.rawValue) }
    var remove: @Sendable (OpenFolder, [UInt8]) throws(Errno) -> Void = { folder, name throws(Errno) in
        try folder.remove(name)
    }
    var synchronizeFolder: @Sendable (OpenFolder) throws(Errno) -> Void = { folder throws(Errno) in
        try folder.synchronize()
    }
    var now: @Sendable () -> Timestamp = { Platform.now }
    var pause: @Sendable (Duration) -> Void = { Platform.pause($0) }

    /// The calls that this task makes.
    @TaskLocal static var current = RemovalCalls()
}
