internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The header file of the one container that a run of encrypt makes (DET-14).
final class MadeHeaderFile: Sendable {
    private let place: PathArgument
    private let isDurable: Bool
    private let made = Mutex<HeaderFile?>(nil)
    private let isSealed = Mutex(false)
    /// Where the container will be; nil if it goes to a pipe.
    private let container = Mutex<FilePath?>(nil)

    /// - Parameter isDurable: whether it is durable before the container gets its first byte or its name.
    init(at place: PathArgument, isDurable: Bool) {
        self.place = place
        self.isDurable = isDurable
    }

    /// Takes note of where the container will be.
    func noteContainer(_ path: FilePath) { container.withLock { $0 = path } }

    /// Stores it under its name, where no file may be: the only header file of another container would be lost.
    func store(_ file: HeaderFile) throws {
        try place.subject.attempt(system: .cannotCreate) {
            let output = try OutputFile(at: place.path)
            try output.write(file.bytes.span)
            made.withLock { $0 = file }
            try output.commit(synchronize: isDurable)
        }
        // With -f the container would replace its own header file. Now that one of them is there, all ways to write the
        // name of the other lead to it.
        guard let container = container.withLock({ $0 }), let there = try? container.stat(),
            let own = try? place.path.stat(), FileIdentity(there) == FileIdentity(own)
        else { return }
        throw Failure.usage("--header", "names the output", hint: .otherHeaderName)
    }

    /// Takes note that the container is complete, in an output that may not have its name yet.
    func noteSealed() { isSealed.withLock { $0 = true } }

    /// Removes it if the run has failed and left no container that needs it.
    func removeIfUseless() {
        guard let file = made.withLock({ $0 }) else { return }
        if isSealed.withLock({ $0 }) {
            // What went to a pipe is complete. A file may have got its name before something else failed.
            guard let container = container.withLock({ $0 }) else { return }
            let there = try? Inspection(FileSource(at: container)).headers.first
            guard there?.commitment != file.summary.commitment else { return }
        }
        guard (try? HeaderFile(FileSource(at: place.path))) == file else { return }
        _ = try? Platform.remove(place.path)
    }
}
