import SystemPackage
import Testing

@testable import VaultCommand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `--json`: every line is an object that follows the schema.
@Suite struct JSONTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// The objects in a text, each checked against the schema.
    private func objects(_ text: String, _ schema: JSONSchema) throws -> [[String: JSON]] {
        try text.split(separator: "\n").map { line in
            let value = try JSON(parsing: String(line))
            #expect(schema.violations(of: value) == [], "\(line)")
            guard case .object(let members) = value else { throw Errno.invalidArgument }
            return members
        }
    }

    @Test func everyLineFollowsTheSchema() throws {
        let box = try Sandbox()
        let schema = try JSONSchema()
        let made = try objects(try box.run("key", "generate", "--json", "-o", "key").text, schema)
        let id = try #require(made.first?["keyID"])
        let shown = try objects(try box.run("key", "show", "--json", "--key-file", "key").text, schema)
        #expect(shown.first?["keyID"] == id && shown.first?["created"] == made.first?["created"])

        try box.write(Array("a".utf8), (0..<20_000).map { UInt8(truncatingIfNeeded: $0) })
        let key = ["VAULTFILE_KEY_FILE=key"]
        let encrypted = try box.run(
            "encrypt", "--json", "-v", "--digest", "--chunk-size", "4K", "a", "none", environment: key)
        let results = try objects(encrypted.text, schema)
        #expect(results.map { $0["status"] } == [.string("ok"), .string("failed")])
        #expect(results[0]["output"] == .string("a.vault") && results[0]["length"] == .number(20_000))
        #expect(results[1]["exit"] == .number(66) && results[1]["path"] == .string("none"))
        let messages = try objects(encrypted.errors, schema)
        #expect(messages.map { $0["status"] } == [.string("note"), .string("error")])

        let inspected = try objects(try box.run("inspect", "--json", "--key-file", "key", "a.vault").text, schema)
        guard case .object(let manifest) = inspected[0]["manifest"],
            case .object(let container) = inspected[0]["container"]
        else { throw Errno.invalidArgument }
        #expect(manifest["name"] == .string("a") && manifest["authenticated"] == .bool(true))
        #expect(container["authenticated"] == .bool(false) && container["streamLength"] == .number(20_000))

        var bytes = try #require(box.bytes("a.vault"))
        for place in [100, bytes.count - 25_000 + 4_000, bytes.count - 200] { bytes[place] ^= 1 }
        try box.write(Array("b.vault".utf8), bytes)
        for arguments in [
            ["verify"], ["verify", "--quick"], ["inspect", "--key-file", "key"], ["inspect"], ["decrypt", "-o", "x"],
        ] {
            let outcome = try box.run((arguments + ["--json", "b.vault"]).map { Array($0.utf8) }, environment: key)
            #expect(outcome.ending != .status(0) && outcome.ending != .status(70))
            let last = try objects(outcome.text, schema).last
            #expect(last?["status"] == .string("failed") && last?["error"] != nil)
            #expect(try !objects(outcome.errors, schema).isEmpty)
        }
        let usage = try box.run("encrypt", "--json", "--no-such-option")
        #expect(try objects(usage.errors, schema).first?["exit"] == .number(64))
    }

    @Test func rangesAndWarnings() throws {
        let box = try Sandbox()
        let schema = try JSONSchema()
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 1, count: 10_000))
        try box.run("encrypt", "--key-file", "key", "--chunk-size", "4K", "--header-capacity", "512", "a")
        let whole = try #require(box.bytes("a.vault"))
        var bytes = whole
        bytes[512 + 4116 + 50] ^= 1
        try box.write(Array("a.vault".utf8), bytes)
        let verified = try box.run("verify", "--json", "--key-file", "key", "a.vault")
        let message = try #require(try objects(verified.errors, schema).first)
        #expect(message["range"] == .array([.number(4096), .number(8192)]))
        #expect(message["error"] == .string("recordDamaged") && message["offset"] == .number(512 + 4116))
        bytes = whole
        bytes[100] ^= 1
        try box.write(Array("a.vault".utf8), bytes)
        let decrypted = try box.run("decrypt", "--json", "-o", "b", "--key-file", "key", "a.vault")
        #expect(try objects(decrypted.errors, schema).first?["status"] == .string("warning"))
        #expect(try objects(decrypted.text, schema).first?["health"] == .string("frontDamaged"))
    }

    @Test(
        "a key that cannot be read has the name of its error",
        arguments: [
            (["--key-file", "/dev/zero"], "badKey"), (["--key-command", "yes"], "badKey"),
            (["--key-file", "."], "inputFailed"), (["--passphrase-file", "."], "inputFailed"),
            (["--passphrase-fd", "99"], "inputFailed"),
        ])
    func unreadableKeys(_ arguments: [String], _ error: String) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "a")
        let outcome = try box.run((["verify", "--json", "a.vault"] + arguments).map { Array($0.utf8) })
        #expect(outcome.ending == .status(78))
        #expect(try objects(outcome.errors, JSONSchema()).first?["error"] == .string(error))
    }

    @Test("a dry run has the words of the others, and says that it is one") func dryRun() throws {
        let box = try Sandbox()
        let schema = try JSONSchema()
        try box.makeKey()
        try box.run("key", "generate", "-o", "new")
        try box.write("a", "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        for isDryRun in [true, false] {
            let words = ["rotate", "--json", "--key-file", "key", "--add", "file:new", "a.vault"]
            let done = try box.run((words + (isDryRun ? ["--dry-run"] : [])).map { Array($0.utf8) })
            let result = try #require(try objects(done.text, schema).first)
            #expect(result["outcome"] == .string("rotated"))
            #expect(result["dryRun"] == (isDryRun ? .bool(true) : nil))
            let messages = try objects(done.errors, schema)
            #expect(messages.map { $0["status"] } == (isDryRun ? [.string("note")] : []))
        }
    }

    @Test func namesThatAreNotUTF8AndDataOnStandardOutput() throws {
        let box = try Sandbox()
        let schema = try JSONSchema()
        try box.makeKey()
        let name: [UInt8] = [0x66, 0xFF]
        try box.write(name, Array("contents".utf8))
        let encrypted = try box.run(words("encrypt", "--json", "--key-file", "key") + [name])
        let object = try #require(try objects(encrypted.text, schema).first)
        #expect(object["pathBase64"] == .string("Zv8=") && object["path"] == nil)
        #expect(object["outputBase64"] == .string("Zv8udmF1bHQ="))
        let decrypted = try box.run(
            words("decrypt", "--json", "-o", "-", "--key-file", "key") + [name + Array(".vault".utf8)])
        #expect(decrypted.text == "contents")
        #expect(try objects(decrypted.errors, schema).first?["output"] == .string("-"))
    }

    @Test(
        "a message names the verb, and the input that the run was working on",
        arguments: [
            (["encrypt", "--key-file", "key", "-o", "there", "a"], "there"),
            (["encrypt", "--key-file", "key", "a"], "a.vault"),
            (["decrypt", "-f", "--key-file", "none", "a.vault"], "none"),
            (["verify", "--passphrase-fd", "99", "a.vault"], nil),
            (["recover", "--key-file", "key", "-o", "there", "a.vault"], "there"),
            (["recover", "--key-file", "none", "-o", "out", "a.vault"], "none"),
            (["cat", "--key-file", "none", "a.vault"], "none"),
        ])
    func verbAndInput(_ words: [String], _ path: String?) throws {
        let box = try Sandbox()
        try box.makeKey()
        for name in ["a", "there"] { try box.write(name, "contents") }
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        let outcome = try box.run((words + ["--json"]).map { Array($0.utf8) })
        let message = try #require(try objects(outcome.errors, JSONSchema()).first { $0["kind"] == .string("message") })
        #expect(message["verb"] == words.first.map { .string($0) } && message["path"] == path.map { .string($0) })
        // A key that cannot be read ends the run before it begins with an input.
        let isOfKey = path == "none" || path == nil
        #expect(message["input"] == (isOfKey && words[0] != "recover" ? nil : words.last.map { .string($0) }))
        let mistyped = try objects(box.run("verify", "--jsno", "--json", "a").errors, JSONSchema())
        #expect(mistyped.first?["verb"] == .string("verify"))
    }

    @Test func theValidatorRefuses() throws {
        let schema = try JSONSchema()
        for text in [
            "[]", "{}", "{\"schema\":\"vaultfile.v1\",\"kind\":\"result\",\"status\":\"odd\"}",
            "{\"schema\":\"vaultfile.v2\",\"kind\":\"result\",\"status\":\"ok\"}",
            "{\"schema\":\"vaultfile.v1\",\"kind\":\"result\",\"status\":\"ok\",\"new\":1}",
            "{\"schema\":\"vaultfile.v1\",\"kind\":\"result\",\"status\":\"ok\",\"keyID\":\"x\"}",
            "{\"schema\":\"vaultfile.v1\",\"kind\":\"result\",\"status\":\"ok\",\"range\":[1]}",
            "{\"schema\":\"vaultfile.v1\",\"kind\":\"result\",\"status\":\"ok\",\"length\":-1}",
        ] {
            #expect(schema.violations(of: try JSON(parsing: text)) != [], "\(text)")
        }
    }
}

/// A JSON value.
enum JSON: Decodable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    init(parsing text: String) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }

    subscript(_ name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}

/// The part of JSON Schema that our schema uses.
struct JSONSchema {
    private let root: JSON

    /// The schema in the sources of the command.
    init() throws {
        let path = FilePath(#filePath).removingLastComponent().appending("../../Sources/VaultCommand/json-schema.json")
        root = try JSON(parsing: String(decoding: try #require(Sandbox.bytes(at: path)), as: UTF8.self))
    }

    func violations(of value: JSON) -> [String] { violations(of: value, root, at: "$") }

    private func violations(of value: JSON, _ schema: JSON, at place: String) -> [String] {
        guard case .object(let rules) = schema else { return ["\(place): no schema"] }
        return rules.flatMap { name, rule in violations(of: value, name, rule, at: place) }
    }

    private func violations(
        of value: JSON, _ name: String, _ rule: JSON, at place: String
    ) -> [String] {
        let wrong = ["\(place): \(name)"]
        switch (name, rule, value) {
        case ("$schema", _, _), ("title", _, _), ("description", _, _), ("$defs", _, _): return []
        case ("$ref", .string(let reference), _):
            guard let definition = root["$defs"]?[String(reference.split(separator: "/").last ?? "")] else {
                return wrong
            }
            return violations(of: value, definition, at: place)
        case ("const", _, _): return value == rule ? [] : wrong
        case ("enum", .array(let allowed), _): return allowed.contains(value) ? [] : wrong
        case ("type", .string(let type), _): return Self.type(of: value).contains(type) ? [] : wrong
        case ("minimum", .number(let least), .number(let number)): return number >= least ? [] : wrong
        case ("maximum", .number(let most), .number(let number)): return number <= most ? [] : wrong
        case ("pattern", .string(let pattern), .string(let text)):
            guard let expression = try? Regex(pattern) else { return wrong }
            return text.contains(expression) ? [] : wrong
        case ("minItems", .number(let least), .array(let items)): return Double(items.count) >= least ? [] : wrong
        case ("maxItems", .number(let most), .array(let items)): return Double(items.count) <= most ? [] : wrong
        case ("items", _, .array(let items)): return items.flatMap { violations(of: $0, rule, at: place + "[]") }
        case ("required", .array(let names), .object(let members)):
            return names.allSatisfy { if case .string(let name) = $0 { members[name] != nil } else { false } }
                ? [] : wrong
        case ("properties", .object(let known), .object(let members)):
            // The published schema allows unknown members, because later versions add some. But it must have every
            // member that this version writes.
            return members.flatMap { name, member in
                known[name].map { violations(of: member, $0, at: "\(place).\(name)") } ?? ["\(place).\(name): unknown"]
            }
        case ("required", _, _), ("properties", _, _): return wrong
        default: return wrong
        }
    }

    private static func type(of value: JSON) -> [String] {
        switch value {
        case .null: ["null"]
        case .bool: ["boolean"]
        case .number(let number): number == number.rounded() ? ["number", "integer"] : ["number"]
        case .string: ["string"]
        case .array: ["array"]
        case .object: ["object"]
        }
    }
}
