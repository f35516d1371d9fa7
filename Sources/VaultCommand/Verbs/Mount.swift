internal import ArgumentParser
internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultMount
internal import VaultSystem

/// `vaultfile mount`.
struct Mount: Verb {
    static let name = VerbName.mount
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Show containers as files, or a tar as a folder, to every program.",
        discussion: """
            Mounts SOURCE at the folder MOUNTPOINT, to be read only, and runs until it is unmounted, or until SIGINT, \
            SIGTERM or SIGHUP. Nothing decrypted is written to a disk. If SOURCE is a folder, each container NAME.vault \
            in it and in the folders below is a file NAME with its contents; other files and links are not shown. If \
            SOURCE is a container whose contents are a tar, the mount shows the members of the tar.

            Needs libfuse3 and fusermount3: Debian's packages fuse3 and libfuse3-3. Only the user who mounts can look \
            at the mount, and every program of this user can; other users cannot, and neither can root.

            All keys are asked for before it begins, and stay in memory until it ends. Without a key, the key file that \
            VAULTFILE_KEY_FILE names is tried, else the keys of the keyring; if there is neither, a passphrase is \
            asked for. A file that none of them opens is there with the size 0, and opening it gives EACCES. \
            Identities of plugins open only a SOURCE that is a container. Reading a damaged part gives EIO; the other \
            parts can be read. A program that has a file open goes on reading it, even if its container is rotated, \
            replaced or removed.

            A container in a folder whose slots are in a header file opens if that file is beside it, under the name \
            that detach gives it. In a tar, links are links; a hard link is shown as a symbolic one. Sparse files and devices are there, and \
            cannot be opened. Names come from the index if it has all of them: \
            encrypt FOLDER makes one, and so does encrypt --index TARFILE. Otherwise all headers of the tar are read \
            first.

            After SIGKILL, a process that waits beside the mount unmounts. If that was killed too, programs get \
            "Transport endpoint is not connected" until fusermount3 -u MOUNTPOINT.
            """)

    static var help: String {
        """
        Usage: vaultfile mount [options] SOURCE MOUNTPOINT

          vaultfile mount backup.vaults ~/view       shows its containers as files
          vaultfile mount -i key.txt photos.tar.vault ~/view
          vaultfile mount --key-file key /srv/vaults /mnt

        Shows the containers in a folder as files, or the tar in a container as a
        folder, to all programs of this user, to be read only. Runs until it is
        unmounted (fusermount3 -u MOUNTPOINT) or interrupted (Ctrl-C). Needs fuse3.

        \(HelpText.openingKeys)
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A folder of containers, or a container with a tar.", valueName: "source"))
    var source: PathArgument

    @Argument(help: ArgumentHelp("A folder, which the mount hides while it lasts.", valueName: "mountpoint"))
    var mountPoint: PathArgument

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        try keys.refuseSharedStandardInput(inputs: [])
        guard !source.isDash else { throw .usage("SOURCE", "must be a folder or a file", hint: .nameFile) as Failure }
        for (name, path) in [("SOURCE", source), ("MOUNTPOINT", mountPoint)] where path.bytes.isEmpty {
            throw .usage(name, "is empty", hint: .help(["mount"])) as Failure
        }
        let context = try context.context()
        let subject = source.subject
        let stat = try subject.attempt(system: .noInput) { try source.path.stat() }
        // Opening a pipe would wait for a writer.
        guard [.directory, .regular].contains(stat.type) else {
            throw Failure(.usage, subject, "is no folder and no regular file", hint: .mountTakes)
        }
        let point = try folderToCover()
        if stat.type == .directory { try refuseInside(point) }
        let place = Platform.resolved(mountPoint.path) ?? mountPoint.path
        if MountTable.hasOwnMount(at: place) {
            console.warn(
                mountPoint.subject,
                "is a mount of vaultfile already: the new one hides it, and each has to be unmounted")
        } else {
            var isEmpty = true
            // One that this user may not list may still be mounted on.
            try? point.forEachName { _, _ in isEmpty = false }
            if !isEmpty { console.warn(mountPoint.subject, "is not empty: the mount hides what is in it") }
        }
        let run = try RunKeys(keys, KeyringSession(keys.unlocking, console))
        let view: any View
        if stat.type == .directory {
            view = try folder(MountKeys(run, context: context), console)
        } else {
            view = try members(Opening(keys: run, context: context, threads: 1, console: console), console)
        }
        // A signal between the mount and the next line unmounts it, too.
        let made = Monitor<VaultMount.Mount?>(nil)
        Signals.undo.withLock { $0.stop = { made.wait { $0 }.stop() } }
        defer { Signals.undo.withLock { $0.stop = nil } }
        let mount = try Self.attempt(mountPoint.subject) { () throws(MountError) in
            try VaultMount.Mount(view, at: place)
        }
        made.withLock { $0 = mount }
        console.announce(subject, "is mounted on \(mountPoint.escaped)")
        try Self.attempt(mountPoint.subject) { () throws(MountError) in try mount.serve(threads: Self.threads) }
        console.note(subject, "is unmounted")
        return try console.give(Report(.ok, about: subject), about: subject, done: "was mounted")
    }

    /// How many containers that no key opens are tried before the mount begins.
    private static let mostTried = 3

    /// How many steps a look for containers takes.
    private static let mostSteps = 1000

    /// How many requests are answered at once. A thread may wait for a disk.
    private static var threads: Int { min(16, 2 + 2 * Vault.processorCount) }

    private func folderToCover() throws(Failure) -> OpenFolder {
        try mountPoint.subject.attempt(system: .cannotCreate) {
            do {
                return try OpenFolder(at: mountPoint.path)
            } catch Errno.socketNotConnected {
                throw Failure(
                    .cannotCreate, mountPoint.subject, "is a mount whose process was killed",
                    hint: .unmount(mountPoint.escaped))
            } catch Errno.notDirectory {
                let isSwapped = mountPoint.isInput(takingFolders: false) && (try? OpenFolder(at: source.path)) != nil
                throw Failure(
                    .cannotCreate, mountPoint.subject, "is not a folder",
                    hint: isSwapped ? .mountOrder(mountPoint.escaped, source.escaped) : .help(["mount"]))
            }
        }
    }

    /// Refuses a mount point in the folder that is mounted: the mount would look into itself for ever.
    private func refuseInside(_ point: OpenFolder) throws {
        let opened = try source.subject.attempt(system: .noInput) { try OpenFolder(at: source.path) }
        guard try !point.isBelow(orEqualTo: opened.identity) else {
            throw Failure(.usage, mountPoint.subject, "is in the folder that is mounted", hint: .mountElsewhere)
        }
    }

    /// The view of a folder of containers.
    private func folder(_ keys: MountKeys, _ console: Console) throws -> any View {
        try source.subject.attempt(system: .noInput) {
            while true {
                let view = try FolderView(try .openForReading(source.path, .folder)) { try keys.open($0, at: $1) }
                var first: Failure?
                let trial = view.trial(atMost: Self.mostTried) { path, error in
                    first = first ?? Failure(error, about: .path(source.withoutSlashes.bytes + Array("/".utf8) + path))
                }
                // A view of files that nobody can read helps nobody. The next view knows nothing of this try.
                if !trial.opens, try keys.askAgain(after: trial) { continue }
                warn(of: trial, first, console)
                return view
            }
        }
    }

    /// Warns if containers do not open. Otherwise programs would get EACCES or EIO for files, and nobody would know why.
    private func warn(of trial: FolderView.Trial, _ first: Failure?, _ console: Console) {
        guard !trial.isEmpty else {
            let isOrder = Self.hasContainers(mountPoint) ? Hint.mountOrder(mountPoint.escaped, source.escaped) : nil
            console.warn(source.subject, "no container NAME.vault is in it", hint: isOrder)
            return
        }
        if trial.unreadFolders > 0 {
            console.warn(source.subject, "\(UInt64(trial.unreadFolders).counted("folder")) in it cannot be read")
        }
        if let first, trial.failed == 1 {
            let hint = first.hint ?? first.error.flatMap { Hint.of($0, Self.name) }
            console.warn(first.subject, "cannot be opened: \(first.reason)", hint: hint)
        } else if trial.failed > 0 {
            let tried = trial.failed + trial.refused + (trial.opens ? 1 : 0)
            let which = trial.isCut || trial.opens ? "the first" : "its"
            console.warn(
                source.subject, "\(trial.failed) of \(which) \(tried) containers are damaged, or cannot be opened",
                hint: .verifyNames(source.escaped))
        }
        guard !trial.opens, trial.refused > 0 else { return }
        let number = trial.refused == 1 ? "" : "\(trial.refused) "
        let containers = (trial.failed > 0 ? "other " : "") + (trial.refused == 1 ? "container" : "containers")
        console.warn(
            source.subject, "these keys do not open its \(trial.isCut ? "first " : "")\(number)\(containers)")
    }

    /// Whether a folder has containers in it, or in folders below it, as far as a short look shows.
    private static func hasContainers(_ folder: PathArgument) -> Bool {
        guard var walk = try? FolderWalk(folder) else { return false }
        for _ in 0..<mostSteps {
            switch walk.next() {
            case .file(let path, _):
                if PathArgument.isNamedAsContainer(path.lastComponent) { return true }
            case nil: return false
            default: continue
            }
        }
        return false
    }

    /// The view of the tar in a container.
    private func members(_ opening: Opening, _ console: Console) throws(Failure) -> any View {
        let input = try Input(source)
        let subject = input.subject
        return try subject.attempt {
            let container = try OpenContainer(input.descriptor, cache: PlaintextCache()) { source in
                try opening.seekable(input, source)
            }
            let manifest = container.reader.opened.manifest
            if let trouble = container.reader.opened.trouble { console.warn(subject, trouble) }
            do {
                let view = try TarView(
                    container, modified: manifest.metadata.modified ?? input.stat.modified ?? Timestamp(seconds: 0))
                if view.hasMalformedIndex {
                    console.warn(subject, "the index of its tar is malformed, and is not used")
                }
                if let gap = view.firstGap {
                    let more = view.gapCount > 1 ? "; and so are \(view.gapCount - 1) other parts" : ""
                    let length = container.reader.length
                    console.warn(
                        subject, TarContainer.failure(gap, about: subject, ofLength: length).reason + more)
                }
                if view.pathless > 0 {
                    let are = view.pathless == 1 ? "is left out: its path is" : "are left out: their paths are"
                    console.warn(
                        subject, "\(view.pathless.counted("member")) \(are) absolute, or cannot be extracted",
                        hint: .tarTakesOut(subject.escaped))
                }
                if view.leftOut > 0 {
                    console.warn(
                        subject, "\(view.leftOut.counted("member")) with names of more than 255 bytes left out")
                }
                if view.names == .index {
                    console.note(subject, "the names are those of its index, which its maker wrote")
                }
                return view
            } catch let error as NotTar {
                throw Failure(
                    .usage, subject, "its contents are not a tar stream: \(error.reason)", hint: .mountTakes)
            }
        }
    }

    private static func attempt<R>(
        _ subject: Failure.Subject, _ body: () throws(MountError) -> R
    ) throws(Failure) -> R {
        do {
            return try body()
        } catch {
            throw Failure(error, about: subject)
        }
    }
}

extension Failure {
    fileprivate init(_ error: MountError, about subject: Subject) {
        switch error {
        case .noLibrary(let what):
            self.init(
                .unsupported, .text("mount"), "\(Escaping.line(Array(what.utf8))) is missing", hint: .installFuse)
        case .unavailable:
            self.init(.unsupported, .text("mount"), "is not available on this system")
        case .refused(let line):
            let reason = "cannot be mounted on" + (line.isEmpty ? "" : ": \(Escaping.line(Array(line.utf8)))")
            self.init(.cannotCreate, subject, reason, hint: .fuseDevice)
        case .noProcess(let errno):
            self.init(.inputOutput, .text("mount"), "the system cannot start a process: \(errno.words)", hint: .limits)
        case .stuck:
            self.init(
                .inputOutput, subject, "is still mounted: the system refuses to unmount it, or another mount hides it",
                hint: .unmount(subject.escaped))
        case .noThread(let errno):
            self.init(.inputOutput, .text("mount"), "the system cannot start a thread: \(errno.words)", hint: .limits)
        }
    }
}
