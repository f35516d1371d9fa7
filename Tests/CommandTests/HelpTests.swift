import SystemPackage
import Testing

@testable import VaultCommand

/// Help texts, and what the command says if it is called without a command or with a mistyped one.
@Suite struct HelpTests {
    /// The words of every command: none for the program, those of the groups of commands, and every verb.
    static let topics =
        [[], ["key"], ["store"], ["store", "group"]]
        + VerbName.allCases.map { $0.rawValue.split(separator: " ").map(String.init) }

    private func help(_ topic: [String]) throws -> String {
        try Sandbox().run((["help"] + topic).map { Array($0.utf8) }).text
    }

    @Test("each help fits a screen and begins with usage and three examples that the parser takes", arguments: topics)
    func oneScreen(_ topic: [String]) throws {
        let text = try help(topic)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count <= 40, "\(topic): \(lines.count) lines")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines.filter { $0.count > 80 })")
        let name = (["vaultfile"] + topic).joined(separator: " ")
        #expect(text.hasPrefix("Usage: \(name) "))
        #expect(text.contains("\nMore: man \((["vaultfile"] + topic).joined(separator: "-")),"))
        let blocks = text.split(separator: "\n\n").map { $0.split(separator: "\n") }
        let examples = try #require(blocks.first { $0.allSatisfy { $0.hasPrefix("  ") } })
        #expect(examples.count == 3)
        if !topic.isEmpty { #expect(blocks[1] == examples) }
        for example in examples {
            let words = try Self.arguments(of: String(example))
            #expect(throws: Never.self, "\(words)") { try Program.parse(words.map { Array($0.utf8) }) }
            let isOfVerb = VerbName.allCases.contains { $0.rawValue == topic.joined(separator: " ") }
            #expect(topic.isEmpty || words.starts(with: topic) || !isOfVerb && words.first == topic.first)
        }
    }

    /// The arguments of the first vaultfile in a line of a shell. An explanation may follow after two spaces.
    private static func arguments(of line: String) throws -> [String] {
        let command = try #require(line.split(separator: "vaultfile ", maxSplits: 1).last)
        let text = command.split(separator: "  ").first ?? ""
        var words: [String] = []
        for (index, part) in text.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 1 {
                words.append(String(part))
            } else {
                words += part.split(separator: " ").map(String.init)
            }
        }
        return Array(words.prefix { !["|", ">"].contains($0) })
    }

    @Test("the help of a verb names each of its options", arguments: topics.dropFirst(4)) func everyOption(
        _ topic: [String]
    ) throws {
        let dump = try Sandbox().run("--experimental-dump-help").text
        var command = try #require(try JSON(parsing: dump)["command"])
        for name in topic {
            guard case .array(let commands) = command["subcommands"] else { throw Errno.invalidArgument }
            command = try #require(commands.first { $0["commandName"] == .string(name) })
        }
        guard case .array(let arguments) = command["arguments"] else { throw Errno.invalidArgument }
        let words = Set(try help(topic).split { " \n,".contains($0) }.map(String.init))
        for argument in arguments where argument["shouldDisplay"] == .bool(true) {
            guard case .string(let name) = argument["preferredName"]?["name"],
                argument["kind"] != .string("positional"),
                !["help", "version"].contains(name)
            else { continue }
            #expect(words.contains((name.count == 1 ? "-" : "--") + name), "\(topic) lacks \(name)")
        }
    }

    @Test("the main help begins with groups of commands, and names each command and each exit status") func mainHelp()
        throws
    {
        let text = try help([])
        let blocks = text.split(separator: "\n\n")
        #expect(
            blocks[1].hasPrefix("Every day:\n") && blocks[1].contains("\nKeys:\n") && blocks[1].contains("\nDamage:\n"))
        let words = Set(text.split { " \n,".contains($0) }.map(String.init))
        for name in VerbName.allCases { #expect(words.contains(name.lastWord), "\(name)") }
        for number in [64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 79, 80] { #expect(words.contains("\(number)")) }
        for words in [["key"], ["store"], ["store", "group"]] {
            let group = try help(words)
            let names = VerbName.allCases.filter { name in
                name.rawValue.split(separator: " ").dropLast().map(String.init) == words
            }
            #expect(names.count >= 3)
            for name in names { #expect(group.contains("\n  \(name.lastWord) "), "\(name)") }
        }
        #expect(try Sandbox().run("--help").text == text)
        #expect(try Sandbox().run("-h").text == text)
        #expect(try Sandbox().run("encrypt", "--help").text == help(["encrypt"]))
        #expect(try Sandbox().run("key", "use", "-h").text == help(["key", "use"]))
        #expect(try Sandbox().run("store", "help", "put").text == help(["store", "put"]))
        #expect(try Sandbox().run("store", "group", "help").text == help(["store", "group"]))
    }

    @Test("--long shows all that the manual page says") func long() throws {
        let box = try Sandbox()
        #expect(try box.run("help", "--long", "encrypt").text.contains("This is no backup tool"))
        #expect(try box.run("help", "key", "destroy", "--long").text.contains("None of this reaches a BACKUP"))
        // Without room, the parser leaves out words.
        let narrow = try box.run("help", "--long", "encrypt", environment: ["COLUMNS=0"]).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(narrow.contains("This is no backup tool") && narrow.contains("--remove-source"), "\(narrow)")
        #expect(try box.run("help", "--lang").errors.hasPrefix("vaultfile: help: unknown option '--lang'\n"))
    }

    @Test(
        "a mistyped command is recognized",
        arguments: [
            ("rotat", "rotate"), ("encyrpt", "encrypt"), ("enc", "encrypt"), ("dec", "decrypt"), ("-d", "decrypt"),
            ("-e", "encrypt"), ("key ls", "key list"), ("key lsit", "key list"), ("key rm", "key destroy"),
            ("key gen", "key generate"), ("keygen", "key generate"), ("help rotat", "rotate"), ("verfiy", "verify"),
            ("help key ls", "key list"), ("list", "ls"), ("version", "--version"), ("-V", "--version"),
        ])
    func mistyped(_ typed: String, _ meant: String) throws {
        for more in [[], ["file"]] {
            let words = typed.split(separator: " ").map(String.init) + (typed.hasPrefix("help") ? [] : more)
            let outcome = try Sandbox().run(words.map { Array($0.utf8) })
            #expect(outcome.ending == .status(64))
            #expect(
                outcome.errors.hasSuffix("vaultfile: hint: did you mean vaultfile \(meant)?\n"), "\(outcome.errors)")
        }
    }

    @Test("nothing is suggested that is far off", arguments: ["foo", "rabbit", "key foo", "help foo", "-q", "x"])
    func farCommands(_ typed: String) throws {
        let outcome = try Sandbox().run(typed.split(separator: " ").map { Array($0.utf8) })
        #expect(outcome.ending == .status(64) && !outcome.errors.contains("did you mean"), "\(outcome.errors)")
    }

    @Test("of thousands of unexpected arguments, the message repeats a few") func unexpected() throws {
        let box = try Sandbox()
        let names = (0...5000).map { "f\($0)" }
        let found = try box.run((["detach", "--key-file", "k"] + names).map { Array($0.utf8) })
        #expect(found.ending == .status(64) && found.errors.utf8.count < 500, "\(found.errors.prefix(1000))")
        #expect(found.errors.contains("5000 unexpected arguments: 'f1', 'f2', 'f3' and 4997 more\n"))
        let few = try box.run("detach", "--key-file", "k", "a", "b", "c", "d")
        #expect(few.errors.contains("3 unexpected arguments: 'b', 'c', 'd'"), "\(few.errors)")
    }

    @Test(
        "an option is suggested only if it is near",
        arguments: [
            ("--recursiv", "--recursive"), ("--jbos", "--jobs"), ("--foo", nil), ("--son", "--json"), ("--jot", nil),
        ])
    func options(_ typed: String, _ meant: String?) throws {
        let outcome = try Sandbox().run("encrypt", typed, "a")
        #expect(outcome.ending == .status(64) && outcome.errors.contains("unknown option '\(typed)'"))
        #expect(outcome.errors.contains("Did you mean '\(meant ?? "")") == (meant != nil), "\(outcome.errors)")
    }

    @Test("vaultfile alone, and vaultfile with a file, say how to begin") func begin() throws {
        let box = try Sandbox()
        let alone = try box.run([])
        #expect(alone.ending == .status(64) && alone.errors.hasPrefix("vaultfile: no command was given\n"))
        #expect(alone.errors.contains("hint: vaultfile encrypt -p FILE encrypts a file"))
        try box.makeKey()
        for name in ["a", "my file"] { try box.write(name, "contents") }
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        for (word, hint) in [
            ("a", "vaultfile encrypt -p a encrypts it"), ("a.vault", "vaultfile decrypt a.vault"),
            (".", "vaultfile encrypt --recursive . "), ("..", "vaultfile encrypt --recursive .. "),
            ("my file", "vaultfile encrypt -p 'my file' encrypts"),
        ] {
            let outcome = try box.run(word)
            #expect(outcome.ending == .status(64) && outcome.errors.contains("hint: \(hint)"), "\(outcome.errors)")
        }
        #expect(try box.run("key").errors.hasSuffix("hint: see vaultfile help key\n"))
    }

    @Test("a hint names no option that the verb lacks", arguments: ["cat", "edit", "recover", "decrypt"])
    func fitting(_ verb: String) throws {
        let words = [verb] + (verb == "recover" ? ["-o", "out"] : []) + ["--key-file", "key", "."]
        let box = try Sandbox()
        try box.makeKey()
        let outcome = try box.run(words.map { Array($0.utf8) })
        #expect(outcome.ending == .status(66) && outcome.errors.contains("hint: "))
        #expect(outcome.errors.contains("--recursive") == (verb == "decrypt"))
    }

    @Test("a hint appears once, however many inputs need it; JSON repeats it") func oneHint() throws {
        let box = try Sandbox()
        try box.makeKey()
        for name in ["a", "b", "c"] { try box.write(name, name) }
        let words = ["encrypt", "--key-file", "key", "a", "b", "c"]
        #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(0))
        let again = try box.run(words.map { Array($0.utf8) })
        #expect(again.ending == .status(73))
        let lines = again.errors.split(separator: "\n")
        #expect(lines.count == 4 && lines[1] == "vaultfile: hint: -f replaces it", "\(again.errors)")
        let json = try box.run((words + ["--json"]).map { Array($0.utf8) })
        #expect(json.errors.split(separator: "\n").allSatisfy { $0.contains("\"hint\"") })
    }

    @Test(
        "an operand that is missing is named as the help names it",
        arguments: [
            ("mount", "SOURCE"), ("mount a", "MOUNTPOINT"), ("store move a", "NEW"), ("key export", "NAME"),
            ("detach", "FILE"),
        ])
    func missingOperands(_ line: String, _ operand: String) throws {
        let box = try Sandbox()
        let refused = try box.run(line.split(separator: " ").map { Array($0.utf8) })
        #expect(refused.ending == .status(64))
        #expect(refused.errors.hasPrefix("vaultfile: \(operand): is missing\nvaultfile: hint: "), "\(refused.errors)")
    }
}
