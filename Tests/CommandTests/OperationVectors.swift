import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// The vectors for rotation, repair, re-encryption and recover, through the finished command.
@Suite struct OperationVectors {
    /// The vectors whose changes a command line can express. The library's tests use all of them.
    static let changes = ofKeys.filter(\.isExpressible)
    /// Those without public keys, which the command does not have.
    private static let ofKeys = Vector.operations.filter { $0.value("needs") == nil }

    @Test func mostCanBeExpressed() {
        #expect(Self.changes.count * 3 > Self.ofKeys.count * 2)
        for operation in ["rotate", "repair", "reencrypt"] {
            #expect(Self.changes.contains { $0.value("operation") == operation })
        }
    }

    @Test(arguments: changes) func changing(_ vector: Vector) throws {
        let box = try Sandbox()
        try box.write(Array("c.vault".utf8), vector.container)
        let inode = try box.stat("c.vault").inode
        let (words, environment) = try words(of: vector, box)
        let names = try box.names()
        let outcome = try box.run(words + [Array("c.vault".utf8)], environment: environment)
        let after = try #require(box.bytes("c.vault"))
        #expect(try box.names() == names)

        guard let result = vector.value("result"), result == "done" else {
            let name = vector.value("result") ?? ""
            #expect(outcome.errors.contains("\"error\":\"\(name)\""), "\(outcome.errors)")
            #expect(outcome.text.contains("\"status\":\"failed\"") && outcome.ending != .status(0))
            #expect(after == vector.container)
            return
        }
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        let header = try #require(try Inspection(MemorySource(after)).front.summary)
        #expect(String(header.generation) == vector.value("result-generation"))
        #expect(String(header.capacity.bytes) == vector.value("result-capacity"))
        #expect(header.slots.map(\.keyID.bytes.hexDigits).joined(separator: " ") == vector.value("result-slots"))
        // The command draws its own random bytes.
        if vector.value("random") == nil { #expect(sha256(after).hexDigits == vector.value("result-sha256")) }
        let isSameFile = try box.stat("c.vault").inode == inode
        #expect((after == vector.container ? "nothing" : isSameFile ? "in place" : "copy") == vector.value("written"))
    }

    private func words(of vector: Vector, _ box: Sandbox) throws -> ([[UInt8]], [String]) {
        let operation = vector.value("operation") ?? ""
        var words = [operation, "--json"].map { Array($0.utf8) }
        var environment: [String] = []
        for (index, hex) in vector.values("key").enumerated() {
            try box.writeKey("key\(index)", hex)
            // A key on the command line of a re-encryption also gets a slot.
            if operation == "reencrypt" {
                environment.append("VAULTFILE_KEY_FILE=key\(index)")
            } else {
                words += ["--key-file", "key\(index)"].map { Array($0.utf8) }
            }
        }
        for (index, line) in vector.values("add").enumerated() {
            try box.writeKey("added\(index)", line.dropFirst("key ".count))
            words += ["--add", "file:added\(index)"].map { Array($0.utf8) }
        }
        for line in vector.values("remove") {
            words += ["--remove", line.split(separator: " ").last.map(String.init) ?? ""].map { Array($0.utf8) }
        }
        if let keep = vector.value("keep") { words += ["--keep", keep].map { Array($0.utf8) } }
        if operation == "repair" { words.append(Array("--yes".utf8)) }
        if vector.value("consent") != nil {
            words += (operation == "reencrypt" ? ["--remove", "others"] : ["--give-up-access"]).map { Array($0.utf8) }
        }
        if let context = vector.bytes("context") { words += [Array("--context".utf8), context] }
        return (words + (try box.expectation(of: vector)), environment)
    }

    /// Those without limits and passphrases, which the command takes in its own way.
    static let recoveries = Vector.recoveries.filter {
        !$0.hasLimits && !$0.hasIdentities && $0.values("passphrase").isEmpty
    }

    @Test(arguments: recoveries) func recovering(_ vector: Vector) throws {
        let box = try Sandbox()
        try box.write(Array("c.vault".utf8), vector.container)
        var words = ["recover", "--json", "-o", "out"].map { Array($0.utf8) }
        for (index, hex) in vector.values("key").enumerated() {
            try box.writeKey("key\(index)", hex)
            words += ["--key-file", "key\(index)"].map { Array($0.utf8) }
        }
        if let context = vector.bytes("context") { words += [Array("--context".utf8), context] }
        if let header = vector.value("header") { words += ["--header", header].map { Array($0.utf8) } }
        words += try box.expectation(of: vector)
        let outcome = try box.run(words + [Array("c.vault".utf8)])
        let result = try JSON(parsing: outcome.text)
        let messages = try outcome.errors.split(separator: "\n").map { try JSON(parsing: String($0)) }

        guard vector.value("result") == "done" else {
            #expect(result["error"] == .string(vector.value("result") ?? ""))
            #expect(result["status"] == .string("failed") && outcome.ending != .status(0))
            #expect(box.bytes("out") == nil)
            return
        }
        let plaintext = try #require(box.bytes("out"))
        #expect(String(plaintext.count) == vector.value("plaintext-length"))
        #expect(sha256(plaintext).hexDigits == vector.value("plaintext-sha256"))
        let ranges = messages.compactMap { message -> String? in
            guard case .array(let ends) = message["range"] else { return nil }
            return ends.map { end in if case .number(let number) = end { String(Int(number)) } else { "" } }
                .joined(separator: "-")
        }
        #expect(ranges.joined(separator: " ") == vector.value("lost") ?? "")
        let isComplete = vector.value("complete") == "yes"
        #expect(result["recovery"]?["lengthAuthenticated"] == .bool(isComplete))
        #expect(outcome.ending == .status(isComplete && ranges.isEmpty ? 0 : 65), "\(outcome.errors)")
        #expect(!outcome.errors.contains("vaultfile recover"))
    }
}

extension Vector {
    /// Whether key files and arguments can express the vector, with the program's own cost parameters.
    fileprivate var isExpressible: Bool {
        let isRotation = value("operation") == "rotate"
        let changes = values("add") + values("remove")
        return !hasLimits && values("passphrase").isEmpty && !values("key").isEmpty
            && changes.allSatisfy { !$0.hasPrefix("passphrase ") } && (bytes("context") ?? []).allSatisfy { $0 != 0 }
            && (!isRotation || value("keep") == nil && !changes.isEmpty)
            && (value("operation") != "reencrypt" || values("key").count == 1 && !values("add").isEmpty)
    }
}
