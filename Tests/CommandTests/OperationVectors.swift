import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// The vectors for rotation, repair, re-encryption and recover, through the finished command.
@Suite struct OperationVectors {
    /// The vectors whose changes a command line can express. The library's tests use all of them.
    static let changes = Vector.operations.filter { vector in
        vector.isExpressible && (Sandbox.hasXWing || vector.value("needs")?.contains("x-wing") != true)
    }

    @Test func mostCanBeExpressed() {
        let ofKeys = Vector.operations.filter { $0.value("needs") == nil }
        #expect(ofKeys.count(where: \.isExpressible) * 3 > ofKeys.count * 2)
        let ofRecipients = Vector.operations.filter { vector in
            let needs = vector.value("needs") ?? ""
            return needs.contains("recipient-changes") && !needs.contains("stanzas")
        }
        #expect(ofRecipients.count(where: \.isExpressible) * 2 > ofRecipients.count)
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
        if let slots = vector.value("result-slots") {
            // The command draws its own hidden IDs, too.
            let (here, there) = (header.slots.map { "\($0.keyID)" }, slots.split(separator: " ").map(String.init))
            #expect(here.count == there.count)
            for (here, there) in zip(here, there) where !(vector.isAnonymous && there.hasPrefix("0000000000000000")) {
                #expect(here == there)
            }
        }
        let context = try vector.bytes("context").map { try Context($0) } ?? .none
        for text in vector.values("result-opens") {
            let identity = try Identity(text: [UInt8](text.utf8).span)
            _ = try SeekableVaultReader(MemorySource(after), with: .identity(identity, context: context))
        }
        // The command draws its own random bytes.
        if vector.value("random") == nil, let sum = vector.value("result-sha256") {
            #expect(sha256(after).hexDigits == sum)
        }
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
        for (index, text) in vector.values("identity").enumerated() {
            try box.write("identity\(index)", text, mode: .ownerReadWrite)
            words += ["-i", "identity\(index)"].map { Array($0.utf8) }
        }
        for (index, line) in vector.values("add").enumerated() {
            words += ["--add", try word(for: line, named: "added\(index)", box)].map { Array($0.utf8) }
        }
        for (index, line) in vector.values("remove").enumerated() {
            words += ["--remove", try word(for: line, named: "removed\(index)", box)].map { Array($0.utf8) }
        }
        // The library does not ask for consent to this.
        if operation == "reencrypt" { words.append(Array("--give-up-access".utf8)) }
        if vector.isAnonymous { words.append(Array("--anonymous".utf8)) }
        if vector.value("mixed") != nil { words.append(Array("--allow-classical".utf8)) }
        if let keep = vector.value("keep") { words += ["--keep", keep].map { Array($0.utf8) } }
        if operation == "repair" { words.append(Array("--yes".utf8)) }
        if vector.value("consent") != nil {
            words += (operation == "reencrypt" ? ["--remove", "others"] : ["--give-up-access"]).map { Array($0.utf8) }
        }
        if let context = vector.bytes("context") { words += [Array("--context".utf8), context] }
        return (words + (try box.expectation(of: vector)), environment)
    }

    /// The K for a line of `add` or `remove`.
    private func word(for line: String, named name: String, _ box: Sandbox) throws -> String {
        let (kind, value) = (line.split(separator: " ")[0], line.split(separator: " ").last.map(String.init) ?? "")
        switch kind {
        case "key":
            try box.writeKey(name, value)
            return "file:\(name)"
        case "identity", "hidden-identity":
            try box.write(name, value, mode: .ownerReadWrite)
            return "identity-file:\(name)"
        default: return value
        }
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
        if let header = vector.value("header") { words += ["--header-at", header].map { Array($0.utf8) } }
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
    /// Whether it makes hidden slots.
    fileprivate var isAnonymous: Bool { values("add").contains { $0.hasPrefix("hidden-") } }

    /// Whether key files and arguments can express the vector, with the program's own cost parameters.
    fileprivate var isExpressible: Bool {
        let isRotation = value("operation") == "rotate"
        let changes = values("add") + values("remove")
        let publicKeys = values("add").filter { !$0.hasPrefix("key ") }
        // DetachCommandTests has the operations of header files: their files have other names.
        guard ["rotate", "repair", "reencrypt", "recover"].contains(value("operation")), value("header-file") == nil,
            value("result-header") == nil
        else { return false }
        // One option hides all, and an identity on the command line of a re-encryption also gets a slot.
        // The command starts no plugins.
        guard value("needs")?.contains("stanzas") != true,
            publicKeys.allSatisfy({ $0.hasPrefix("hidden-") == isAnonymous }),
            isRotation || values("identity").isEmpty
        else { return false }
        return !hasLimits && values("passphrase").isEmpty && !(values("key") + values("identity")).isEmpty
            && changes.allSatisfy { !$0.hasPrefix("passphrase ") } && (bytes("context") ?? []).allSatisfy { $0 != 0 }
            && (!isRotation || value("keep") == nil && !changes.isEmpty)
            && (value("operation") != "reencrypt" || values("key").count == 1 && !values("add").isEmpty)
    }
}
