import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// Every vector through the finished command: as a file, which opens by both ends, and through a pipe.
@Suite struct CommandVectors {
    /// The vectors whose secrets a command line can express. The library's tests use all of them.
    static let all = Vector.all.filter { $0.isExpressible }

    @Test func mostCanBeExpressed() {
        #expect(Self.all.count * 10 > Vector.all.count { !$0.hasIdentities } * 9)
    }

    @Test(arguments: all) func file(_ vector: Vector) throws {
        let box = try Sandbox()
        try box.write(Array("c.vault".utf8), vector.container)
        let outcome = try box.run(try words(vector, box) + [Array("c.vault".utf8)])
        try check(vector, "whole", outcome, box)
    }

    @Test(arguments: all) func pipe(_ vector: Vector) throws {
        let box = try Sandbox()
        let outcome = try box.run(try words(vector, box), input: vector.container, piped: true)
        try check(vector, "stream", outcome, box)
    }

    private func words(_ vector: Vector, _ box: Sandbox) throws -> [[UInt8]] {
        var words = ["decrypt", "--json", "-o", "out"].map { Array($0.utf8) }
        for (index, hex) in vector.values("key").enumerated() {
            try box.writeKey("key\(index)", hex)
            words += ["--key-file", "key\(index)"].map { Array($0.utf8) }
        }
        for (index, hex) in vector.values("passphrase").enumerated() {
            try box.write(
                Array("passphrase\(index)".utf8), try #require([UInt8](hexDigits: hex)), mode: .ownerReadWrite)
            words += ["--passphrase-file", "passphrase\(index)"].map { Array($0.utf8) }
        }
        if let context = vector.bytes("context") { words += [Array("--context".utf8), context] }
        return words + (try box.expectation(of: vector))
    }

    private func check(_ vector: Vector, _ reader: String, _ outcome: Sandbox.Outcome, _ box: Sandbox) throws {
        switch try vector.expected(reader) {
        case .health(let health):
            #expect(outcome.ending == .status(0), "\(outcome.errors)")
            let plaintext = try #require(box.bytes("out"))
            #expect(sha256(plaintext).hexDigits == vector.value("plaintext-sha256"))
            #expect(outcome.errors.contains("warning") == (health != .intact))
        case .error(let name, _):
            #expect(outcome.errors.contains("\"error\":\"\(name)\""), "\(outcome.errors)")
            #expect([.status(64), .status(65), .status(66), .status(69), .status(77)].contains(outcome.ending))
            #expect(try !box.names().contains("out"))
        default:
            #expect([.status(65), .status(69), .status(77)].contains(outcome.ending), "\(outcome.errors)")
            #expect(try !box.names().contains("out"))
        }
    }
}

extension Sandbox {
    /// The options that give a vector's header file and require the states of the headers, and their files; empty if the
    /// vector has none of them.
    func expectation(of vector: Vector) throws -> [[UInt8]] {
        var words: [String] = []
        if let pin = try vector.expecting() {
            try write("pin", pin.text)
            words += ["--expect", "pin"]
        }
        if let bytes = vector.headerFile {
            try write(Array("h".utf8), bytes)
            words += ["--header", "h"]
        }
        if let pin = try vector.expecting("expect-header") {
            try write("header-pin", pin.text)
            words += ["--expect-header", "header-pin"]
        }
        return words.map { Array($0.utf8) }
    }

    /// Writes a key file for the key in a vector.
    func writeKey(_ name: String, _ hex: some StringProtocol) throws {
        let bytes = try #require([UInt8](hexDigits: hex))
        let key = try SymmetricKey(bytes: bytes.span)
        let text = try key.withKeyFile { [UInt8](copying: $0) }
        try write(Array(name.utf8), text, mode: .ownerReadWrite)
    }
}

extension Vector {
    /// Whether key files, lines of text and arguments can express the vector, and whether it asks for no special
    /// limits.
    fileprivate var isExpressible: Bool {
        let passphrases = values("passphrase").map { [UInt8](hexDigits: $0) ?? [] }
        return !hasLimits && !hasIdentities
            && passphrases.allSatisfy { (1...1024).contains($0.count) && $0.allSatisfy { (0x20...0x7E).contains($0) } }
            && values("key").allSatisfy { $0.contains { $0 != "0" } }
            && !(values("key") + values("passphrase")).isEmpty
            && (bytes("context") ?? []).allSatisfy { $0 != 0 } && (bytes("context") ?? []).count <= 65_535
    }
}
