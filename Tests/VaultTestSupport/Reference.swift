import Foundation
import SystemPackage

/// The reference implementation in Python, which runs as a child process.
package enum Reference {
    /// A failure of the child, with its output.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The interpreter: the one in the environment, or the system's, for which package managers have PyNaCl.
    package static let python = ProcessInfo.processInfo.environment["VAULTFILE_PYTHON"] ?? "/usr/bin/python3"

    private static let advice =
        "install python3 and PyNaCl (Debian: python3-nacl), or name a Python in VAULTFILE_PYTHON"

    /// Whether the interpreter has ML-KEM, without which the reference has no X-Wing.
    package static let hasXWing =
        (try? start(["-c", "from cryptography.hazmat.primitives.asymmetric import mlkem"], input: [])) != nil

    /// Runs a script of the repository and returns what it prints.
    ///
    /// - Throws: `Failure` if there is no Python with PyNaCl, or if the script exits with an error.
    package static func run(_ script: String, _ arguments: [String] = [], input: [UInt8] = []) throws -> [UInt8] {
        try check()
        return try start([Repository.path(FilePath(script)).string] + arguments, input: input)
    }

    private static func check() throws {
        guard FileManager.default.isExecutableFile(atPath: python) else {
            throw Failure(description: "there is no \(python): \(advice)")
        }
        do {
            _ = try start(["-c", "import nacl.bindings"], input: [])
        } catch {
            throw Failure(description: "\(python) has no PyNaCl: \(advice). It says: \(error)")
        }
    }

    private static func start(_ arguments: [String], input: [UInt8]) throws -> [UInt8] {
        // Through files, because a pipe could fill up.
        let folder = try TemporaryFolder()
        try folder.write(input, to: "in")
        try folder.write([], to: "out")
        try folder.write([], to: "errors")
        func open(_ name: String, _ mode: (String) -> FileHandle?) throws -> FileHandle {
            guard let handle = mode(folder[name].string) else { throw Failure(description: "no \(name)") }
            return handle
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        // Without cached byte code, so that the source folder does not change.
        process.arguments = ["-B"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: Repository.root.string)
        process.standardInput = try open("in", FileHandle.init(forReadingAtPath:))
        process.standardOutput = try open("out", FileHandle.init(forWritingAtPath:))
        process.standardError = try open("errors", FileHandle.init(forWritingAtPath:))
        try process.run()
        process.waitUntilExit()
        let output = try folder.read("out")
        guard process.terminationStatus == 0 else {
            let errors = String(decoding: try folder.read("errors") + output.suffix(3000), as: UTF8.self)
            throw Failure(description: "\(python) \(arguments) ended with \(process.terminationStatus): \(errors)")
        }
        return output
    }

    // MARK: Requests

    /// A request of `--batch`; the fields are those of `Spec/reference/README.md`.
    package struct Request: Encodable, Sendable {
        package var operation = "decrypt"
        package var input: String?
        /// The input, in Base64.
        package var data: String?
        package var output: String?
        package var keys: [String] = []
        package var passphrases: [String] = []
        package var identities: [String] = []
        package var stanzaAnswers: [String] = []
        package var failingPlugins: [String] = []
        package var context: String?
        package var reader: String?
        package var log2Chunk: Int?
        package var compression: Int?
        package var capacity: Int?
        package var generation: UInt32?
        package var passes: Int?
        package var memoryKiB: Int?
        package var otherSlots: [OtherSlot]?
        package var digest: Bool?
        package var name: String?
        package var contentType: String?
        package var modified: [Int64]?
        package var mode: String?
        package var headerOffset: UInt64?
        package var maxMemoryKiB: UInt32?
        package var maxPasses: UInt32?
        package var maxStretchingKiB: UInt64?
        /// The fields of a change, as in a vector.
        package var add: [String]?
        package var remove: [String]?
        package var stanzaWrap: [String]?
        package var mixed: String?
        package var keep: String?
        package var consent: String?
        package var random: String?
        package var expect: String?

        package init() {}

        package struct OtherSlot: Encodable, Sendable {
            package let type: Int
            package let id: String
            package let body: String

            package init(type: Int, id: String, body: String) {
                (self.type, self.id, self.body) = (type, id, body)
            }
        }

        private enum CodingKeys: String, CodingKey {
            case operation, data, keys, passphrases, context, reader, compression, capacity, generation, passes, digest
            case name, modified, mode, add, remove, keep, consent, mixed, random, expect, identities
            case stanzaAnswers = "stanza-answers"
            case failingPlugins = "failing-plugins"
            case stanzaWrap = "stanza-wrap"
            case input = "in"
            case output = "out"
            case log2Chunk = "log2-chunk"
            case memoryKiB = "memory-kib"
            case otherSlots = "other-slots"
            case contentType = "content-type"
            case headerOffset = "header-offset"
            case maxMemoryKiB = "max-memory-kib"
            case maxPasses = "max-passes"
            case maxStretchingKiB = "max-stretching-kib"
        }
    }

    /// An answer of `--batch`.
    package struct Answer: Decodable, Sendable {
        package let result: String?
        package let error: String?
        package let badRequest: String?
        package let plaintextLength: Int?
        package let plaintextSHA256: String?
        package let name: String?
        package let contentType: String?
        package let modified: [Int64]?
        package let mode: String?
        package let digest: String?
        package let complete: Bool?
        package let lost: [[UInt64]]?
        package let headerOffset: UInt64?
        package let manifestLength: UInt64?
        package let resultSHA256: String?

        private enum CodingKeys: String, CodingKey {
            case result, error, name, modified, mode, digest, complete, lost
            case badRequest = "bad-request"
            case plaintextLength = "plaintext-length"
            case plaintextSHA256 = "plaintext-sha256"
            case contentType = "content-type"
            case headerOffset = "header-offset"
            case manifestLength = "manifest-length"
            case resultSHA256 = "result-sha256"
        }
    }

    /// The answers to the requests, in their order.
    package static func answers(to requests: [Request]) throws -> [Answer] {
        let encoder = JSONEncoder()
        var input: [UInt8] = []
        for request in requests { input += [UInt8](try encoder.encode(request)) + [0x0A] }
        let output = try run("Spec/reference/vaultfile_reference.py", ["--batch"], input: input)
        let lines = output.split(separator: 0x0A)
        guard lines.count == requests.count else {
            throw Failure(description: "\(lines.count) answers to \(requests.count) requests")
        }
        let decoder = JSONDecoder()
        return try lines.map { try decoder.decode(Answer.self, from: Data($0)) }
    }

    /// A child that answers as long as it is asked.
    package final class Conversation {
        private let process = Process()
        private let (input, output) = (Pipe(), Pipe())
        private var received = Data()

        /// - Throws: `Failure` if there is no Python with PyNaCl.
        package init() throws {
            try check()
            process.executableURL = URL(fileURLWithPath: python)
            process.arguments = ["-B", Repository.path("Spec/reference/vaultfile_reference.py").string, "--batch"]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
        }

        package func answer(to request: Request) throws -> Answer {
            // Without the handles' own functions, which end the process if a signal arrives.
            let line = [UInt8](try JSONEncoder().encode(request)) + [0x0A]
            try FileDescriptor(rawValue: input.fileHandleForWriting.fileDescriptor).writeAll(line)
            let answers = FileDescriptor(rawValue: output.fileHandleForReading.fileDescriptor)
            var buffer = [UInt8](repeating: 0, count: 1 << 14)
            while true {
                if let end = received.firstIndex(of: 0x0A) {
                    defer { received = Data(received[(end + 1)...]) }
                    return try JSONDecoder().decode(Answer.self, from: Data(received[..<end]))
                }
                let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe answers.read(into: $0) }
                guard count > 0 else { throw Failure(description: "the reference has ended") }
                received += buffer.prefix(count)
            }
        }
    }
}
