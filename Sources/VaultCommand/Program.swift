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

    /// Runs a command line once signals are taken: without that an end in the middle would leave things behind.
    private static func start(_ arguments: [[UInt8]]) -> ExitStatus {
        do {
            try Signals.start()
        } catch {
            let failure = Failure(
                .inputOutput, .text("start"), "the system has no thread to give: \(Failure.words(error))",
                hint: "ulimit -u and ulimit -v, or the limits of a container, stand in the way")
            console(for: arguments).say(failure)
            return failure.status
        }
        return status(of: arguments)
    }

    /// Runs a command line.
    private static func status(of arguments: [[UInt8]]) -> ExitStatus {
        guard RawArguments.areKnown else {
            Console().say(
                Failure(.noInput, .text("arguments"), "the system does not give them", hint: "is /proc mounted?"))
            return .noInput
        }
        let (version, verbose) = (Array("--version".utf8), Array("--verbose".utf8))
        if arguments.contains(version), arguments.contains(verbose),
            arguments.allSatisfy({ $0 == version || $0 == verbose })
        {
            return end(text: "\(Vaultfile.version)\nenciphering by \(Vault.engine)\n", arguments)
        }
        let command: any ParsableCommand
        if let unknown = unknownTopic(arguments) {
            return usage(unknown, "is no command of vaultfile", names: [], arguments)
        }
        do {
            command = try parse(arguments)
        } catch {
            return end(parsing: error, arguments)
        }
        guard let verb = command as? any Verb else {
            // `help`, which ends with the text that it shows, or a command that does nothing without a verb.
            do { try run(command) } catch { return end(parsing: error, arguments) }
            return .done
        }
        let console = verb.common.console
        do {
            let status = try verb.execute(on: console)
            try console.finish()
            return status
        } catch {
            Signals.endIfClosedPipe(error)
            let failure = Failure(error, about: .text(type(of: command)._commandName))
            console.say(failure)
            return failure.status
        }
    }

    /// What was typed.
    ///
    /// The parser gets the verb alone where that is enough: from the root on it takes a millisecond longer, a sixth of
    /// all that is done for a small file.
    static func parse(_ arguments: [[UInt8]]) throws -> any ParsableCommand {
        let (verb, count) = command(along: arguments)
        if verb is any Verb.Type,
            let command = try? verb.parseAsRoot(ArgumentText.encode(Array(arguments.dropFirst(count)))) as? any Verb
        {
            return command
        }
        // Help, and all that is wrong, is told as of the whole.
        return try Vaultfile.parseAsRoot(ArgumentText.encode(arguments))
    }

    /// What the parser ended with: help, which is a success, or a usage error.
    private static func end(parsing error: any Error, _ arguments: [[UInt8]]) -> ExitStatus {
        guard Vaultfile.exitCode(for: error) == .success else {
            return usage(text(Vaultfile.message(for: error)), arguments)
        }
        return end(text: Vaultfile.fullMessage(for: error) + "\n", arguments)
    }

    /// Ends with a text that was asked for.
    private static func end(text: String, _ arguments: [[UInt8]]) -> ExitStatus {
        do {
            try Console.write(text)
            return .done
        } catch {
            let failure = Failure(error, about: .standardOutput)
            console(for: arguments).say(failure)
            return failure.status
        }
    }

    private static func run(_ command: some ParsableCommand) throws {
        var command = command
        try command.run()
    }

    private static func usage(_ reason: String, _ arguments: [[UInt8]]) -> ExitStatus {
        let words = arguments.prefix { $0.first != UInt8(ascii: "-") }.map(Escaping.line)
        let names = Array(words.prefix(command(along: arguments).count))
        // The parser would repeat what may be a passphrase.
        if let slip = ArgumentSlip(arguments) { return usage(slip.option, slip.reason, slip.hint, arguments) }
        // The parser would call it an unexpected argument.
        if names.isEmpty, let word = words.first {
            return usage(word, "is no command of vaultfile", names: names, arguments)
        }
        if names == ["key", "show"], words.count > names.count {
            return usage(names[1], "takes no operands", "--key-file FILE shows the key of a file", arguments)
        }
        return usage(names.last ?? "usage", reason, names: names, arguments)
    }

    private static func usage(
        _ subject: String, _ reason: String, names: [String], _ arguments: [[UInt8]]
    ) -> ExitStatus {
        let help = (["vaultfile help"] + names).joined(separator: " ")
        return usage(subject, reason, "\(help) says what there is", arguments)
    }

    private static func usage(
        _ subject: String, _ reason: String, _ hint: String, _ arguments: [[UInt8]]
    ) -> ExitStatus {
        console(for: arguments).say(Failure(.usage, .text(subject), reason, hint: hint))
        return .usage
    }

    /// The word behind `help` that is no command; the parser would show the help of what stands before it.
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
            guard let next = command.configuration.subcommands.first(where: { Array($0._commandName.utf8) == word })
            else { break }
            command = next
            count += 1
        }
        return (command, count)
    }

    /// Where to talk before the arguments are understood.
    private static func console(for arguments: [[UInt8]]) -> Console {
        Console(json: arguments.prefix { $0 != Array("--".utf8) }.contains(Array("--json".utf8)))
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
