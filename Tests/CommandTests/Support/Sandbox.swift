import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// A folder for one test, removed with this value, in which the program runs.
final class Sandbox {
    let folder: FilePath
    /// The folder for standard output and error. It is beside the sandbox, so that the sandbox holds only the test's
    /// files.
    private let captures: FilePath
    private var captured = 0

    /// - Parameter parent: Where the folder is; nil for the folder of temporary files.
    init(in parent: String? = nil) throws {
        folder = try Host.temporaryFolder(in: parent)
        captures = try Host.temporaryFolder()
    }

    deinit {
        _ = try? Self.shell("rm -rf \"$1\" \"$2\"", [folder, captures].map { Array($0.string.utf8) })
    }

    // MARK: Files

    func path(_ name: [UInt8]) -> FilePath {
        folder.pushing(PathArgument(bytes: name).path)
    }

    func path(_ name: String) -> FilePath { path(Array(name.utf8)) }

    @discardableResult
    func write(_ name: [UInt8], _ contents: [UInt8], mode: FilePermissions = [.ownerReadWrite, .groupRead, .otherRead])
        throws -> FilePath
    {
        let path = path(name)
        let file = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(contents) }
        try Host.changeMode(path, to: mode)
        return path
    }

    @discardableResult
    func write(_ name: String, _ text: String, mode: FilePermissions = [.ownerReadWrite, .groupRead, .otherRead])
        throws -> FilePath
    {
        try write(Array(name.utf8), Array(text.utf8), mode: mode)
    }

    /// The contents of a file; nil if there is none.
    func bytes(_ name: [UInt8]) -> [UInt8]? { Self.bytes(at: path(name)) }

    func bytes(_ name: String) -> [UInt8]? { bytes(Array(name.utf8)) }

    func text(_ name: String) -> String? { bytes(name).map { String(decoding: $0, as: UTF8.self) } }

    /// Locks a file exclusively, as another run of the command does. The lock ends when the descriptor is closed.
    func lock(_ name: String) throws -> FileDescriptor {
        let file = try FileDescriptor.open(path(name), .readOnly)
        let (exclusively, withoutWaiting): (Int32, Int32) = (2, 4)
        guard SystemCalls().lock(file.rawValue, exclusively | withoutWaiting) == 0 else {
            try file.close()
            throw Errno.wouldBlock
        }
        return file
    }

    func stat(_ name: String) throws -> Stat { try path(name).stat() }

    func mode(_ name: String) throws -> FilePermissions.RawValue { try stat(name).plainPermissions.rawValue }

    /// All names in the folder, sorted.
    func names() throws -> [String] {
        let listing = try Self.shell("cd \"$1\" && ls -A", [Array(folder.string.utf8)])
        return listing.split(separator: "\n").map(String.init).sorted()
    }

    static func bytes(at path: FilePath) -> [UInt8]? {
        guard let file = try? FileDescriptor.open(path, .readOnly) else { return nil }
        return try? file.closeAfter {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe file.read(into: $0) }
                guard count > 0 else { return bytes }
                bytes += buffer.prefix(count)
            }
        }
    }

    // MARK: Running

    /// How a run ended, and its output.
    struct Outcome {
        let ending: Child.Ending
        let output: [UInt8]
        let errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// A run that has begun.
    struct Running {
        let child: Child
        fileprivate let output: FilePath
        fileprivate let errors: FilePath

        func end() -> Outcome {
            let ending = child.wait()
            return Outcome(
                ending: ending, output: Sandbox.bytes(at: output) ?? [],
                errors: String(decoding: Sandbox.bytes(at: errors) ?? [], as: UTF8.self))
        }
    }

    /// Runs the program in the folder.
    ///
    /// - Parameters:
    ///   - input: The contents of standard input; nil for an empty device.
    ///   - prelude: Shell commands that run first: `umask 002`, `ulimit -f 8`, `exec 5<file`.
    @discardableResult
    func run(
        _ arguments: String..., input: String? = nil, prelude: String = ":", environment: [String] = []
    ) throws -> Outcome {
        try run(
            arguments.map { Array($0.utf8) }, input: input.map { Array($0.utf8) }, prelude: prelude,
            environment: environment)
    }

    /// - Parameter piped: Whether the input comes through a pipe. Otherwise standard input is a regular file.
    @discardableResult
    func run(
        _ arguments: [[UInt8]], input: [UInt8]? = nil, piped: Bool = false, prelude: String = ":",
        environment: [String] = []
    ) throws -> Outcome {
        var stream = Child.Stream.null
        if let input {
            captured += 1
            let path = captures.appending("in\(captured)")
            let file = try FileDescriptor.open(
                path, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
            try file.closeAfter { _ = try file.writeAll(input) }
            stream = .file(path)
        }
        return try start(
            arguments, input: stream, prelude: prelude, command: piped ? "cat | \"$@\"" : "exec \"$@\"",
            environment: environment
        ).end()
    }

    /// Begins a run.
    ///
    /// - Parameter terminal: Its controlling terminal; nil for none.
    func start(
        _ arguments: [[UInt8]], input: Child.Stream = .null, prelude: String = ":",
        command: String = "exec \"$@\"", environment: [String] = [], terminal: PseudoTerminal? = nil,
        errorsToTerminal: Bool = false
    ) throws -> Running {
        captured += 1
        let output = captures.appending("out\(captured)")
        let errors = captures.appending("err\(captured)")
        // Even without a terminal the run has a session of its own, so that it cannot find the tester's.
        let script = "cd \"$1\" && shift && \(prelude) && \(command)"
        let lead = terminal == nil && Self.hasSetsid ? ["setsid", "-w"] : []
        let words = ["sh", "-c", script, "sh", folder.string] + lead + [try Self.binary()]
        let terminalKind = environment.contains { $0.hasPrefix("TERM=") } ? [] : ["TERM=xterm"]
        let child = try Child(
            words.map { Array($0.utf8) } + arguments,
            environment: (["PATH=/usr/bin:/bin", "LC_ALL=C"] + terminalKind + environment).map { Array($0.utf8) },
            streams: [
                input, .newFile(output), errorsToTerminal ? terminal.map { .file($0.path) } ?? .null : .newFile(errors),
            ],
            terminal: terminal?.path)
        return Running(child: child, output: output, errors: errors)
    }

    /// Whether the program under test has X-Wing. `make test-more` also tests one that was built without it.
    static let hasXWing = {
        guard let box = try? Sandbox() else { return false }
        return (try? box.run("key", "generate", "--recipient", "-o", "x").ending) == .status(0)
    }()

    private static let hasSetsid = (try? shell("command -v setsid", [])) != ""

    /// Runs a script with `arguments` as `$1` and so on, and returns its output.
    @discardableResult
    static func shell(_ script: String, _ arguments: [[UInt8]]) throws -> String {
        let folder = try Host.temporaryFolder()
        let capture = folder.appending("out")
        defer { Host.remove(file: capture, folder: folder) }
        let child = try Child(
            [Array("sh".utf8), Array("-c".utf8), Array(script.utf8), Array("sh".utf8)] + arguments,
            environment: [Array("PATH=/usr/bin:/bin".utf8)], streams: [.null, .newFile(capture), .null])
        _ = child.wait()
        return String(decoding: bytes(at: capture) ?? [], as: UTF8.self)
    }

    /// The program under test: beside the test bundle, or the one that `VAULTFILE_BINARY` names.
    static func binary() throws -> String {
        if let path = Host.environment("VAULTFILE_BINARY") { return path }
        for argument in CommandLine.arguments {
            var path = FilePath(argument)
            while path.removeLastComponent() {
                let candidate = path.appending("vaultfile")
                if let stat = try? candidate.stat(), stat.type == .regular { return candidate.string }
            }
        }
        throw Errno.noSuchFileOrDirectory
    }

    // MARK: Keys

    /// Makes a key file.
    @discardableResult
    func makeKey(_ name: String = "key") throws -> Outcome {
        let outcome = try run("key", "generate", "-o", name)
        #expect(outcome.ending == .status(0))
        return outcome
    }
}
