import SystemPackage

/// A mount that is ready.
struct Mounted {
    let running: Sandbox.Running
    let point: String
    private let box: Sandbox

    /// Whether an empty folder can be mounted here. Some machines have all that it needs, and forbid it.
    static let isPossible: Bool = {
        guard let device = try? FileDescriptor.open(FilePath("/dev/fuse"), .readWrite) else { return false }
        try? device.close()
        do {
            let found = try Sandbox.shell("command -v fusermount3 && /sbin/ldconfig -p | grep libfuse3.so", [])
            guard !found.isEmpty else { return false }
            let box = try Sandbox()
            try box.makeKey()
            try box.shell("mkdir src view")
            return try Mounted(box, ["-q", "--key-file", "key", "src"]).end().ending == .status(0)
        } catch {
            return false
        }
    }()

    /// Whether a test can have a view of its own of the system's mounts.
    static let hasNamespaces: Bool = {
        guard isPossible, Host.isRoot else { return false }
        return (try? Sandbox.shell("unshare -m echo yes", [])) == "yes\n"
    }()

    /// Mounts on a folder, and waits until it is mounted.
    init(_ box: Sandbox, _ words: [String], at point: String = "view", prelude: String = ":") throws {
        self.box = box
        self.point = point
        let before = try Self.count(box, point)
        running = try box.start((["mount"] + words + [point]).map { Array($0.utf8) }, prelude: prelude)
        for _ in 0..<2000 {
            if try Self.count(box, point) > before { return }
            Host.pause(milliseconds: 10)
        }
        running.child.send(Host.sigTerm)
        // A child that nobody waits for would hold up the exit tests of all suites.
        _ = running.end()
        throw Errno.timedOut
    }

    /// How many mounts are on top of each other there.
    private static func count(_ box: Sandbox, _ point: String) throws -> Int {
        try box.shell("cat /proc/mounts").split(separator: "\n").count {
            $0.contains(" \(box.folder.string)/\(point) fuse.vaultfile ")
        }
    }

    /// Whether the table of mounts has it.
    func isThere() throws -> Bool { try Self.count(box, point) > 0 }

    /// Waits until the table of mounts does not have it. Returns whether it still does after a long time.
    func staysThere() throws -> Bool {
        for _ in 0..<1000 {
            if try !isThere() { return false }
            Host.pause(milliseconds: 10)
        }
        return true
    }

    /// Ends it with a signal.
    func end(_ signal: Int32 = Host.sigTerm) -> Sandbox.Outcome {
        running.child.send(signal)
        return running.end()
    }
}
