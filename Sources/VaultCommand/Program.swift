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
        if let words = wordsAfterHelp(arguments) { return help(words, arguments) }
        let command: any ParsableCommand
        do {
            command = try parse(arguments)
        } catch {
            guard Vaultfile.exitCode(for: error) == .success else {
                return end(usage(text(Vaultfile.message(for: error)), arguments), arguments)
            }
            return end(
                text: KeyCompletion.script(Vaultfile.fullMessage(for: error, columns: columns)) + "\n", arguments)
        }
        if let verb = command as? any Verb { return run(verb) }
        let (asked, names) = self.command(along: arguments)
        // For --help the parser returns a command of its own.
        guard command is any Explained else { return end(text: screen(of: asked, names), arguments) }
        return end(Failure(withoutCommand: names), arguments)
    }

    /// What `help` asks about, at the beginning of the line or behind the words that name a group of commands; nil if the
    /// line does not ask.
    private static func wordsAfterHelp(_ arguments: [[UInt8]]) -> [[UInt8]]? {
        guard let place = arguments.firstIndex(of: Array("help".utf8)) else { return nil }
        let before = arguments[..<place]
        // A verb takes the word as an operand.
        let (command, names) = command(along: Array(before))
        guard names.count == before.count, !command.commands.isEmpty else { return nil }
        return Array(before) + Array(arguments[(place + 1)...])
    }

    /// `vaultfile help`: shows the help of a command; with `--long`, all that its manual page says.
    private static func help(_ words: [[UInt8]], _ arguments: [[UInt8]]) -> ExitStatus {
        let options = Set(words.filter { $0.first == UInt8(ascii: "-") }.map(Escaping.line))
        if let unknown = options.subtracting(["--long", "--help", "-h"]).min() {
            return end(.usage("help", "unknown option '\(unknown)'", hint: .help([])), arguments)
        }
        let topic = words.filter { $0.first != UInt8(ascii: "-") }
        let (command, names) = command(along: topic)
        if names.count < topic.count, topic != [Array("help".utf8)] {
            return end(Failure(unknownCommand: Array(topic[names.count...]), of: names, command), arguments)
        }
        guard options.contains("--long") else { return end(text: screen(of: command, names), arguments) }
        let more = names.isEmpty ? "\n\(Manual.sections)\n" : ""
        return end(text: Vaultfile.helpMessage(for: command, columns: columns) + "\n" + more, arguments)
    }

    private static func screen(of command: any Explained.Type, _ names: [String]) -> String {
        HelpText.screen(of: command, names, reports: command is any Verb.Type)
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
            let failure = Failure(error, about: .text(type(of: verb).name.rawValue))
            console.say(failure)
            return failure.status
        }
    }

    /// The width of a help text, if `COLUMNS` gives one that is too small: the parser would leave out words. Nil if the
    /// parser finds the width by itself.
    private static var columns: Int? {
        let number = Platform.environment("COLUMNS").flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        return number.flatMap { $0 < leastColumns ? leastColumns : nil }
    }

    private static let leastColumns = 40

    /// Parses the command line.
    ///
    /// The verb's own parser is tried first. If the parser starts at the root, decrypting a small file takes 25.3
    /// million instructions instead of 21.0. Help, and arguments that the verb's parser refuses, need the root.
    static func parse(_ arguments: [[UInt8]]) throws -> any ParsableCommand {
        let (command, names) = command(along: arguments)
        if command is any Verb.Type,
            let verb = try? command.parseAsRoot(ArgumentText.encode(Array(arguments.dropFirst(names.count))))
                as? any Verb
        {
            return verb
        }
        guard arguments.first == Array("---completion".utf8) else {
            return try Vaultfile.parseAsRoot(ArgumentText.encode(arguments))
        }
        KeyCompletion.find { KeyringSession.namesForCompletion }
        return try Vaultfile.parseAsRoot(arguments.map { String(decoding: $0, as: UTF8.self) })
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
        Console(verb: (command(along: arguments).0 as? any Verb.Type)?.name, json: json).say(failure)
        return failure.status
    }

    /// A usage error.
    ///
    /// - Parameter reason: The parser's message.
    private static func usage(_ reason: String, _ arguments: [[UInt8]]) -> Failure {
        let words = arguments.prefix { $0.first != UInt8(ascii: "-") }
        let (command, names) = command(along: arguments)
        // The parser's message would repeat a word that may be a passphrase.
        if let mistake = Failure(mistakeIn: arguments) { return mistake }
        // The parser would report an unexpected argument.
        if !(command is any Verb.Type), words.count > names.count {
            return Failure(unknownCommand: Array(words[names.count...]), of: names, command)
        }
        if let operand = missingOperand(reason) {
            return .usage(operand, "is missing", hint: operand == "INPUT" ? .nameFile : .help(names))
        }
        if let failure = Failure(formIn: arguments, for: names, reason) { return failure }
        if command is any Verb.Type, let failure = Failure(recipientIn: arguments, for: names, reason) {
            return failure
        }
        var failure = Failure.usage(
            names.isEmpty ? "usage" : names.joined(separator: " "), withoutFarSuggestion(reason), hint: .help(names))
        if names.isEmpty, let option = arguments.first.map(Escaping.line),
            let meant = Suggestion.command(for: option, among: [], of: "")
        {
            failure.hint = .didYouMean("vaultfile \(meant)")
        }
        return failure
    }

    /// The operand that the parser misses, as the help names it.
    private static func missingOperand(_ reason: String) -> String? {
        let parts = reason.split(separator: "'", omittingEmptySubsequences: false)
        guard parts.count > 1, parts[0] == "missing expected argument ", parts[1].first == "<" else { return nil }
        return parts[1].dropFirst().prefix { $0 != ">" }.uppercased()
    }

    /// The parser's message without an option that it suggests although that is unlike the one that was typed.
    private static func withoutFarSuggestion(_ reason: String) -> String {
        let parts = reason.split(separator: "'", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[2] == ". Did you mean " else { return reason }
        let (typed, known) = (parts[1].drop { $0 == "-" }, parts[3].drop { $0 == "-" })
        return Suggestion.isNear(String(typed), String(known)) ? reason : "\(parts[0])'\(parts[1])'"
    }

    /// The command that the first words name, and these words.
    private static func command(along words: some Sequence<[UInt8]>) -> (any Explained.Type, names: [String]) {
        var command: any Explained.Type = Vaultfile.self
        var names: [String] = []
        for word in words {
            guard let next = command.commands.first(where: { $0.isNamed(word) }) else { break }
            command = next
            names.append(next.configuration.commandName ?? "")
        }
        return (command, names)
    }

    /// A message of the parser, on one line, with its arguments decoded and escaped.
    private static func text(_ message: String) -> String {
        let words = ArgumentText.shortened(message).split(separator: "\n").map { line in
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
    /// A word that is none of the commands of `parent`.
    ///
    /// - Parameter words: the word, and those that follow it.
    fileprivate init(unknownCommand words: [[UInt8]], of names: [String], _ parent: any Explained.Type) {
        let word = words.first ?? []
        let text = Escaping.line(word)
        self.init(.usage, .text(""), "unknown command '\(text)'", hint: .help(names))
        let known = parent.commands.compactMap { $0.configuration.commandName }
        // Before the commands that are near: a second mount is the opposite of what is meant.
        if names.isEmpty, text == "umount" || text == "unmount" {
            hint = .unmount(words.dropFirst().first.map(Escaping.line))
        } else if let meant = Suggestion.command(for: text, among: known, of: names.last ?? "") {
            hint = .didYouMean((["vaultfile"] + names + [meant]).joined(separator: " "))
        } else if names.isEmpty, let file = try? Input(PathArgument(bytes: word)) {
            defer { file.close() }
            if file.stat.type == .directory {
                hint = .begin(withFolder: text)
            } else {
                let isContainer = (try? file.beginsWithMagic) == true
                hint = isContainer ? .begin(withContainer: text) : .begin(withFile: text)
            }
        }
    }

    /// The command line ends before it names a command.
    fileprivate init(withoutCommand names: [String]) {
        self.init(.usage, .text(names.last ?? ""), "no command was given", hint: names.isEmpty ? .begin : .help(names))
    }
}
