internal import SystemPackage
internal import VaultArchive
internal import VaultFile
internal import VaultSystem

/// Packs a folder as a tar stream, for encrypt. The members are in the order of an index that is sorted.
///
/// A thread of its own packs, and the stream goes through a pipe. No byte of it is stored anywhere.
struct FolderPacking: Sendable {
    let root: PathArgument
    /// What the run itself writes or replaces.
    let outputs: Set<FileIdentity>
    let console: Console

    /// What was not packed as it is.
    struct Tally: Sendable {
        var members: UInt64 = 0
        /// How many members are missing or cut short.
        var missing: UInt64 = 0
        /// How many of them the system did not let this user read, or could not.
        var unreadable: UInt64 = 0
        /// How many changed while they were read.
        var changed: UInt64 = 0
        /// How many have paths that no extraction takes.
        var unfit: UInt64 = 0

        /// The failure of the whole; nil if it is as it should be. Both statuses say that the container is complete:
        /// 66 that something is missing in it, 75 that another program was writing.
        func shortfall(about subject: Failure.Subject) -> Failure? {
            guard missing > 0 || changed > 0 || unfit > 0 else { return nil }
            var parts = missing > 0 ? ["\(missing.counted("member")) missing or incomplete"] : []
            if changed > 0 { parts.append("\(changed.counted("member")) changed while packed") }
            if unfit > 0 { parts.append("\(unfit.counted("path")) that extract does not take") }
            let wasWritten = changed > 0 || missing > unreadable
            return Failure(
                missing > 0 || unfit > 0 ? .noInput : .inUse, subject,
                "the container was made, with \(parts.joined(separator: ", ")); everything else is in it",
                hint: wasWritten ? .packAgain : unreadable > 0 ? .packReadable : .otherPaths)
        }
    }

    /// Calls `consume` with a pipe that gives the stream, and with a closure that throws if the stream broke off: the
    /// pipe ends in that case too.
    ///
    /// - Throws: what kept the stream from being made, what `consume` throws.
    func run<R>(_ consume: (FileDescriptor, @escaping () throws -> Void) throws -> R) throws -> (R, Tally) {
        let (input, pipe) = try FileDescriptor.pipe()
        Platform.closeOnExec(input)
        Platform.closeOnExec(pipe)
        let ended = Monitor<Result<Tally, any Error>?>(nil)
        let messages = InputMessages.current
        do {
            try Thread.start {
                let result = InputMessages.$current.withValue(messages) { Result { try pack(into: pipe) } }
                // Now the reader sees the end. What went wrong is known before it does.
                ended.withLock { $0 = result }
                try? pipe.close()
            }
        } catch {
            try? input.close()
            try? pipe.close()
            throw error
        }
        let consumed = Result { try consume(input) { _ = try ended.wait { $0 }.get() } }
        // If the reader has given up, the packer gets an error instead of waiting for ever.
        try? input.close()
        let packed = ended.wait { $0 }
        return (try consumed.get(), try packed.get())
    }

    private func pack(into pipe: FileDescriptor) throws -> Tally {
        let packer = try TarPacker { bytes in try pipe.writeFully(bytes) }
        var tally = Tally()
        var walk = try FolderWalk(root, takesAll: true)
        // Members are named from the folder's own name on, as tar names them. The folder `.` has no name.
        let name = root.folderName
        let prefix = root.bytes.last == UInt8(ascii: "/") ? root.bytes.count : root.bytes.count + 1
        let member = { (path: PathArgument) in
            (name.isEmpty ? [] : name + [UInt8(ascii: "/")]) + path.bytes.dropFirst(prefix)
        }
        if !name.isEmpty {
            let folder = try OpenFolder(at: root.path)
            count(try folder.withDescriptor { try packer.add(folder: $0, as: name) }, root, &tally)
            checkPath(name, root, &tally)
        }
        while let step = walk.next() {
            switch step {
            case .folder(let path, let folder):
                // It has a part of a file in it, which is no file of the user.
                guard !folder.withDescriptor({ Workshops.isWorkshop(path.lastComponent, $0) }) else {
                    console.warn(path.subject, "is a work folder of extract, and is left out")
                    walk.passOver()
                    continue
                }
                count(try folder.withDescriptor { try packer.add(folder: $0, as: member(path)) }, path, &tally)
                checkPath(member(path), path, &tally)
            case .file(let path, let found), .other(let path, let found):
                let outcome = try found.folder.withDescriptor {
                    try packer.add(FilePath(bytes: found.name), in: $0, as: member(path)) {
                        outputs.contains(FileIdentity($0))
                    }
                }
                if let outcome {
                    count(outcome, path, &tally)
                    checkPath(member(path), path, &tally)
                }
            case .failed(let failure):
                console.say(failure)
                tally.missing += 1
                tally.unreadable += 1
            case .passedOver: continue
            }
        }
        try packer.finish()
        return tally
    }

    /// The stream can hold a path that has more bytes than a legal one (TAR-1), or a name that is that of a workshop, and
    /// any tar extracts it. extract does not, and the user is told while they still have the files.
    private func checkPath(_ member: [UInt8], _ path: PathArgument, _ tally: inout Tally) {
        let prefix = Workshops.prefix
        let trouble: String
        if member.count > TarPath.longest {
            trouble = "its path has more than \(TarPath.longest) bytes"
        } else if PathArgument(bytes: member).lastComponent.starts(with: prefix) {
            trouble = "its name begins with \(String(decoding: prefix, as: UTF8.self))"
        } else {
            return
        }
        tally.unfit += 1
        console.say(
            Failure(
                .noInput, .path(Array(path.bytes.suffix(64))), "\(trouble): only a tar program can extract it"))
    }

    private func count(_ outcome: TarPacker.Outcome, _ path: PathArgument, _ tally: inout Tally) {
        switch outcome {
        case .packed:
            tally.members += 1
            console.note(path.subject, "packed")
        case .changed:
            tally.members += 1
            tally.changed += 1
            console.say(Failure(.inUse, path.subject, "changed while it was read"))
        case .incomplete(let error):
            tally.members += 1
            tally.missing += 1
            tally.unreadable += 1
            let reason = Escaping.line(error.reason) + (error.systemError.map { ": \($0.words)" } ?? "")
            console.say(Failure(.noInput, path.subject, "is packed without all of its attributes: \(reason)"))
        case .cut(let error):
            tally.members += 1
            tally.missing += 1
            tally.unreadable += 1
            console.say(
                Failure(.noInput, path.subject, "\(error.words): zeros take the place of what cannot be read"))
        case .vanished:
            tally.missing += 1
            console.say(Failure(.noInput, path.subject, "was removed before it was read"))
        case .changedKind:
            tally.missing += 1
            console.say(Failure(.noInput, path.subject, "became another kind of file before it was read"))
        case .unreadable(let error):
            tally.missing += 1
            tally.unreadable += 1
            console.say(Failure(.noInput, path.subject, error.words))
        case .unsuitable(let what):
            console.warn(path.subject, "\(what), and is left out")
        }
    }
}
