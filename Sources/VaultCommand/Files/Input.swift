internal import SystemPackage
internal import VaultFile

/// A file by what it is, whatever its names are.
typealias FileIdentity = FileStatus.Identity

extension FileIdentity {
    /// All files among the operands that are there.
    ///
    /// - Throws: `Failure` where a medium fails to say which file it is: an output that is this file would be taken for
    ///   another one, and written over it.
    static func all(of operands: [PathArgument]) throws(Failure) -> Set<FileIdentity> {
        var found: Set<FileIdentity> = []
        for operand in operands {
            do throws(Errno) {
                found.insert(FileIdentity(try operand.stat()))
            } catch {
                guard ExitStatus.isOfName(error) else { throw Failure(error, about: operand.subject) }
            }
        }
        return found
    }

    /// All folders among these that are there.
    static func all(ofFolders paths: [PathArgument]) -> Set<FileIdentity> {
        Set(paths.compactMap { (try? $0.path.stat()).map(FileIdentity.init) })
    }
}

extension Stat {
    /// Whether it holds bytes at places, so that writing it while it is read destroys it.
    var isStorage: Bool { type == .regular || type == .blockSpecial }

    /// The permission bits without set-ID and sticky.
    var plainPermissions: FilePermissions { FilePermissions(rawValue: permissions.rawValue & 0o777) }
}

extension PathArgument {
    /// What a message about this input names.
    var subject: Failure.Subject { isDash ? .standardInput : .path(bytes) }

    fileprivate func stat() throws(Errno) -> Stat {
        isDash ? try FileDescriptor.standardInput.stat() : try path.stat()
    }

    /// What stands there, links followed.
    ///
    /// - Throws: `Failure` where nothing does, or nothing that can be read as a file.
    func statAsInput() throws(Failure) -> Stat {
        let stat: Stat
        do {
            stat = try self.stat()
        } catch {
            throw Failure(error, about: subject, system: .noInput)
        }
        guard stat.type != .directory else {
            throw Failure(
                .noInput, subject, "is a folder", hint: "--recursive takes the files in it; tar makes one file of it")
        }
        return stat
    }
}

/// An open input.
struct Input {
    let operand: PathArgument
    /// Nil where it was named.
    let found: FoundFile?
    let descriptor: FileDescriptor
    /// As it was when it was opened.
    let stat: Stat
    /// Whether it is a regular file that is read from its beginning, and so can be read anywhere.
    let canSeek: Bool

    /// What a message about it names.
    var subject: Failure.Subject { operand.subject }

    /// How many bytes there are to read, where that is known.
    var size: UInt64? { stat.type == .regular ? UInt64(max(0, stat.size)) : nil }

    init(_ operand: PathArgument) throws(Failure) {
        try self.init(InputItem(operand: operand))
    }

    init(_ item: InputItem) throws(Failure) {
        operand = item.operand
        found = item.found
        do {
            descriptor =
                try item.found.map { try $0.folder.file($0.name) }
                ?? (operand.isDash ? .standardInput : try FileDescriptor.openForReading(operand.path))
        } catch {
            throw Failure(error, about: item.subject, system: .noInput)
        }
        do {
            stat = try descriptor.stat()
            canSeek = try stat.type == .regular && descriptor.place() == 0
        } catch {
            if !operand.isDash { try? descriptor.close() }
            throw Failure(error, about: item.subject, system: .noInput)
        }
    }

    func close() {
        if !operand.isDash { try? descriptor.close() }
    }

    /// Reads what comes next; nothing at the end.
    func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
        do {
            var span = buffer.mutableSpan
            return try descriptor.readSome(into: &span)
        } catch {
            throw Failure(error, about: subject)
        }
    }

    /// Reads on until there is enough of the beginning to see what it is.
    func complete(_ prefix: inout [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: KnownFormats.prefixLength)
        while prefix.count < KnownFormats.prefixLength, let count = try? read(into: &buffer), count > 0 {
            prefix += buffer.prefix(count)
        }
    }

    /// The first bytes of what can seek.
    func prefix(_ count: Int = KnownFormats.prefixLength) -> [UInt8] {
        (try? bytes(at: 0, count: count)) ?? []
    }

    private func bytes(at offset: UInt64, count: Int) throws(Failure) -> [UInt8] {
        guard canSeek else { return [] }
        do {
            var bytes = [UInt8](repeating: 0, count: count)
            var span = bytes.mutableSpan
            let count = try descriptor.readSome(at: offset, into: &span)
            return Array(bytes.prefix(count))
        } catch {
            throw Failure(error, about: subject)
        }
    }

    /// Whether a container could begin here.
    var beginsWithMagic: Bool {
        get throws(Failure) {
            try bytes(at: 0, count: Preamble.magic.count) == Preamble.magic
        }
    }

    /// Whether a container could end here.
    var endsWithMagic: Bool {
        get throws(Failure) {
            let end = Footer.endMagic
            guard let size, size >= UInt64(end.count) else { return false }
            return try bytes(at: size - UInt64(end.count), count: end.count) == end
        }
    }

    /// Removes the input after its output is durable.
    ///
    /// - Parameter done: What was done, for the message where it cannot be removed.
    /// - Throws: `Failure` where it is no longer what was read: what changed is not in the output.
    func remove(done: String) throws(Failure) {
        do {
            let now = try descriptor.stat()
            let named: Stat
            if let found {
                named = try found.folder.stat(found.name)
            } else {
                named = try operand.path.stat(followTargetSymlink: false)
            }
            guard FileIdentity(named) == FileIdentity(stat), now.size == stat.size, now.modified == stat.modified,
                now.changed == stat.changed
            else {
                throw Failure(
                    .inputOutput, subject, "changed while it was read; it was \(done), and was not removed")
            }
            // What a walk found is removed from its folder: a path may lead to another file of that name by now.
            if let found { try found.folder.remove(found.name) } else { try Platform.remove(operand.path) }
        } catch let error as Errno {
            throw Failure(.inputOutput, subject, "was \(done), but cannot be removed: \(Failure.words(error))")
        } catch {
            throw Failure(error, about: subject)
        }
    }
}
