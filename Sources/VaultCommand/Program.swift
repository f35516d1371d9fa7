internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// The start and the end of the program.
public enum Program {
    /// Runs the command line of this process, then ends the process.
    public static func main() -> Never {
        Signals.refuseCrashReports()
        Vault.forbidCoreDumps()
        Platform.holdStandardDescriptors()
        // Reading the mask sets it for a moment. Now no other thread can create a file with the wrong mode.
        _ = Platform.creationMask
        Platform.exit(start(RawArguments.all()).rawValue)
    }

    /// Runs a command line after the signal thread has started: before that, a signal would leave files behind.
    private static func start(_ arguments: [[UInt8]]) -> ExitStatus {
        do {
            try Signals.start()
        } catch {
            let reason = "the system cannot start a thread: \(error.words)"
            return end(Failure(.inputOutput, .text("start"), reason, hint: .limits), arguments)
        }
        guard RawArguments.areKnown else {
            let reason = "the system does not provide them"
            return end(Failure(.noInput, .text("arguments"), reason, hint: .procMounted), arguments)
        }
        return run(arguments)
    }

    private static func run(_ arguments: [[UInt8]]) -> ExitStatus {
        let (version, verbose) = (Array("--version".utf8), Array("--verbose".utf8))
        if Set(arguments) == [version, verbose] {
            return end(text: "\(Vaultfile.version)\nencrypts with \(Vault.engine)\n", arguments)
        }
        if let unknown = unknownTopic(arguments) {
            return end(Failure(unknownCommand: unknown), arguments)
        }
        var command: any ParsableCommand
        do {
            command = try parse(arguments)
            // For `help` and for a command without a verb, the parser throws the text to show.
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

    /// Parses the command line.
    ///
    /// The verb's own parser is tried first. If the parser starts at the root, decrypting a small file takes 25.3
    /// million instructions instead of 21.0. Help, and arguments that the verb's parser refuses, need the root.
    static func parse(_ arguments: [[UInt8]]) throws -> any ParsableCommand {
        let (command, count) = command(along: arguments)
        if command is any Verb.Type,
            let verb = try? command.parseAsRoot(ArgumentText.encode(Array(arguments.dropFirst(count)))) as? any Verb
        {
            return verb
        }
        return try Vaultfile.parseAsRoot(ArgumentText.encode(arguments))
    }

    /// Writes a text that the user asked for, such as a help text.
    private static func end(text: String, _ arguments: [[UInt8]]) -> ExitStatus {
        do {
            try Console.write(text)
            return .done
        } catch {
            return end(Failure(error, about: .standardOutput), arguments)
        }
    }

    /// Reports a failure before the arguments are parsed.
    private static func end(_ failure: Failure, _ arguments: [[UInt8]]) -> ExitStatus {
        let json = arguments.prefix { $0 != Array("--".utf8) }.contains(Array("--json".utf8))
        Console(json: json).say(failure)
        return failure.status
    }

    /// A usage error.
    ///
    /// - Parameter reason: The parser's message.
    private static func usage(_ reason: String, _ arguments: [[UInt8]]) -> Failure {
        let words = arguments.prefix { $0.first != UInt8(ascii: "-") }.map(Escaping.line)
        let names = Array(words.prefix(command(along: arguments).count))
        // The parser's message would repeat a word that may be a passphrase.
        if let mistake = Failure(mistakeIn: arguments) { return mistake }
        // The parser would report an unexpected argument.
        if names.isEmpty, let word = words.first { return Failure(unknownCommand: word) }
        if names == ["key", "show"], words.count > names.count {
            return .usage(names[1], "takes no operands", hint: .showsKeyOfFile)
        }
        return .usage(names.last ?? "usage", reason, hint: .help(names))
    }

    /// The word after `help` that is not a command. The parser would show the help of the command before it.
    private static func unknownTopic(_ arguments: [[UInt8]]) -> String? {
        let words = arguments.prefix { $0.first != UInt8(ascii: "-") }.map(Escaping.line)
        guard words.first == "help" else { return nil }
        let topic = Array(words.dropFirst())
        let (_, known) = command(along: arguments.dropFirst())
        return known < topic.count && topic != ["help"] ? topic[known] : nil
    }

    /// The command that the first words name, and how many words that takes.
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

    /// A message of the parser, on one line, with its arguments decoded and escaped.
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
        self.init(.usage, .text(""), "unknown command '\(word)'", hint: .help([]))
    }
}
