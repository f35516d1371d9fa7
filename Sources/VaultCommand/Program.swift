internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// Where the program begins and ends.
public enum Program {
    /// Runs the command line of the process, and ends the process.
    public static func main() -> Never {
        Signals.refuseCrashReports()
        Platform.forbidCoreDumps()
        Platform.holdStandardDescriptors()
        // Read now, while no thread can make a file with the mask that reading it sets.
        _ = Platform.creationMask
        Platform.exit(start(RawArguments.all()).rawValue)
    }

    /// Runs a command line once signals are taken: until then an end in the middle would leave files behind.
    private static func start(_ arguments: [[UInt8]]) -> ExitStatus {
        do {
            try Signals.start()
        } catch {
            let reason = "the system has no thread to give: \(Failure.words(error))"
            return end(Failure(.inputOutput, .text("start"), reason, hint: Hint.limits), arguments)
        }
        guard RawArguments.areKnown else {
            let reason = "the system does not give them"
            return end(Failure(.noInput, .text("arguments"), reason, hint: Hint.procMounted), arguments)
        }
        return run(arguments)
    }

    private static func run(_ arguments: [[UInt8]]) -> ExitStatus {
        let (version, verbose) = (Array("--version".utf8), Array("--verbose".utf8))
        if Set(arguments) == [version, verbose] {
            return end(text: "\(Vaultfile.version)\nenciphering by \(Vault.engine)\n", arguments)
        }
        if let unknown = unknownTopic(arguments) {
            return end(Failure(unknownCommand: unknown), arguments)
        }
        var command: any ParsableCommand
        do {
            command = try parse(arguments)
            // `help` and a command without a verb throw the text that they show.
            guard command is any Verb else { try command.run(); return .done }
        } catch {
            guard Vaultfile.exitCode(for: error) == .success else {
                return end(usage(text(Vaultfile.message(for: error)), arguments), arguments)
            }
            return end(text: Vaultfile.fullMessage(for: error) + "\n", arguments)
        }
        guard let verb = command as? any Verb else { return .bug }
        return run(verb)
    }

    private static func run(_ verb: some Verb) -> ExitStatus {
        let options = verb.common
        let console = Console(
            verb: type(of: verb).name, verbosity: options.quiet ? .quiet : options.verbose ? .verbose : .normal,
            json: options.json)
        do {
            let status = try verb.execute(on: console)
            try console.finish()
            return status
        } catch {
            Signals.endIfClosedPipe(error)
            let failure = Failure(error, about: .text(type(of: verb).name.lastWord))
            console.say(failure)
            return failure.status
        }
    }

    /// What was typed.
    ///
    /// The parser gets the verb alone first. From the root on, the process that decrypts a small file runs a fifth more
    /// instructions: 25.3 million instead of 21.0. Help, and what the verb alone refuses, need the root.
    static func parse(_ arguments: [[UInt8]]) throws -> any ParsableCommand {
        let (command, count) = command(along: arguments)
        if command is any Verb.Type,
            let verb = try? command.parseAsRoot(ArgumentText.encode(Array(arguments.dropFirst(count)))) as? any Verb
        {
            return verb
        }
        return try Vaultfile.parseAsRoot(ArgumentText.encode(arguments))
    }

    /// Writes a text that was asked for.
    private static func end(text: String, _ arguments: [[UInt8]]) -> ExitStatus {
        do {
            try Console.write(text)
            return .done
        } catch {
            return end(Failure(error, about: .standardOutput), arguments)
        }
    }

    /// Says why nothing was done, before there is a verb with options of its own.
    private static func end(_ failure: Failure, _ arguments: [[UInt8]]) -> ExitStatus {
        let json = arguments.prefix { $0 != Array("--".utf8) }.contains(Array("--json".utf8))
        Console(json: json).say(failure)
        return failure.status
    }

    /// A usage error.
    ///
    /// - Parameter reason: The parser's words.
    private static func usage(_ reason: String, _ arguments: [[UInt8]]) -> Failure {
        let words = arguments.prefix { $0.first != UInt8(ascii: "-") }.map(Escaping.line)
        let names = Array(words.prefix(command(along: arguments).count))
        // The parser would repeat what may be a passphrase.
        if let mistake = Failure(mistakeIn: arguments) { return mistake }
        // The parser would call it an unexpected argument.
        if names.isEmpty, let word = words.first { return Failure(unknownCommand: word) }
        if names == ["key", "show"], words.count > names.count {
            return .usage(names[1], "takes no operands", hint: Hint.showsKeyOfFile)
        }
        return .usage(names.last ?? "usage", reason, hint: Hint.help(names))
    }

    /// The word behind `help` that names no command. The parser would show the help of the command before it.
    private static func unknownTopic(_ arguments: [[UInt8]]) -> String? {
        let words = arguments.prefix { $0.first != UInt8(ascii: "-") }.map(Escaping.line)
        guard words.first == "help" else { return nil }
        let topic = Array(words.dropFirst())
        let (_, known) = command(along: arguments.dropFirst())
        return known < topic.count && topic != ["help"] ? topic[known] : nil
    }

    /// The command that the first words name, from the root down, and how many words that are.
    private static func command(along words: some Sequence<[UInt8]>) -> (any ParsableCommand.Type, count: Int) {
        var command: any ParsableCommand.Type = Vaultfile.self
        var count = 0
        for word in words {
            guard let next = command.configuration.subcommands.first(where: { $0.isNamed(word) }) else { break }
            command = next
            count += 1
        }
        return (command, count)
    }

    /// A text of the parser, on one line, with the arguments in it as they were given.
    private static func text(_ message: String) -> String {
        let words = message.split(separator: "\n").map { line in
            Escaping.line(ArgumentText.decode(String(line.drop { $0 == " " })))
        }
        let text = words.joined(separator: " ")
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

extension ParsableCommand {
    fileprivate static func isNamed(_ word: [UInt8]) -> Bool {
        configuration.commandName.map { Array($0.utf8) == word } ?? false
    }
}

extension Failure {
    fileprivate init(unknownCommand word: String) {
        self.init(.usage, .text(""), "unknown command '\(word)'", hint: Hint.help([]))
    }
}
