internal import CPlatform
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// An input that is removed once its output is durable, unless another program may have changed it after it was read.
///
/// From the status of a settled input on, every change shows in the status. tmpfs keeps no page clean, and notes only
/// the first store after a program has mapped the file. So the system is asked for a write lease twice, before the file
/// is read and when it is removed: on a file system that keeps its own files, it gives none as long as any program has
/// the file open or mapped. Under the second lease the status is compared.
///
/// A lease is on the file and not on its name. If another program renames a file to the name in the instant between the
/// last check and the removal, that file is lost. Renaming it aside first would not help: after a kill it would have a
/// name that its owner does not know.
struct RemovableInput {
    /// The input, with its status from before it is read.
    let input: Input
    private let isSettled: Bool
    /// What the system told about it before it was read.
    private let first: Lease

    private static let attempts = 5

    private enum Lease {
        case taken, inUse, unavailable(Errno)
    }

    /// Settles the input.
    init(_ input: Input) throws(Failure) {
        let calls = RemovalCalls.current
        let settled = try SettledInput(input)
        self.input = settled.input
        isSettled = settled.isSettled
        first = Self.takeLease(on: settled.input, calls)
        if case .taken = first { Self.endLease(on: settled.input, calls) }
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
            try refuseUse(first, done, isForced: isForced)
            let lease = Self.takeLease(on: input, calls)
            // A program that wants to open the file waits for the lease to end. Then it gets the file without a name.
            defer { if case .taken = lease { Self.endLease(on: input, calls) } }
            try refuseChange(folder, name, done, calls)
            try refuseUse(Self.isKept(lease, on: input, calls), done, isForced: isForced)
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
        let why: String
        if FileIdentity(named) != FileIdentity(before) {
            why = "the name means another file by now"
        } else if now.size != before.size || now.modified != before.modified || now.changed != before.changed {
            why = "it changed while it was read"
        } else if !isSettled {
            why = "it was changed just before it was read, and a later change might not show"
        } else {
            return
        }
        throw Failure(.inputOutput, input.subject, "was \(done), and was not removed: \(why)")
    }

    /// Refuses to remove a file that another program may have open.
    private func refuseUse(_ lease: Lease, _ done: String, isForced: Bool) throws(Failure) {
        switch lease {
        case .taken: return
        case .inUse:
            throw Failure(
                .inUse, input.subject, "was \(done), and was not removed: another program has it open",
                hint: .removeLater)
        case .unavailable(let error):
            guard !isForced else { return }
            throw Failure(
                .inputOutput, input.subject,
                "was \(done), and was not removed: the system cannot tell whether another program is writing to it "
                    + "(\(error.words))", hint: .forceRemoves)
        }
    }

    /// File systems on which a lease tells nothing; the numbers are those of the Linux kernel. Overlay and FUSE may keep a
    /// file in another file system, and do not see its mappings. Network file systems do not see other machines,
    /// and some refuse each lease as if the file were open.
    private static let cannotTell: Set<Int64> = [
        0x794C_7630,  // overlay
        0xF15F,  // eCryptfs
        0x6573_5546,  // FUSE
        0x6969,  // NFS
        0x517B, 0xFF53_4D42, 0xFE53_4D42,  // SMB
        0x0102_1997,  // 9P
        0x00C3_6400,  // Ceph
        0x5346_414F, 0x6B41_4653,  // AFS
        0x0116_1970,  // GFS2
        0x7461_636F,  // OCFS2
        0x0BD0_0BD0,  // Lustre
    ]

    /// Takes a write lease. A program that only looks at the file soon closes it, so there are several attempts.
    private static func takeLease(on input: Input, _ calls: RemovalCalls) -> Lease {
        do throws(Errno) {
            guard !cannotTell.contains(try retrying { calls.fileSystem(input.descriptor) }) else {
                return .unavailable(.notSupported)
            }
        } catch {
            return .unavailable(error)
        }
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

/// The system calls by which an input is removed. Tests replace them.
struct RemovalCalls: Sendable {
    var synchronize: @Sendable (FileDescriptor) throws(Errno) -> Void = { file throws(Errno) in
        try file.synchronize()
    }
    var stat: @Sendable (FileDescriptor) throws(Errno) -> Stat = { file throws(Errno) in try file.stat() }
    /// The number of the kind of file system; -1 on failure.
    var fileSystem: @Sendable (FileDescriptor) -> Int64 = { vaultfile_file_system($0.rawValue) }
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
