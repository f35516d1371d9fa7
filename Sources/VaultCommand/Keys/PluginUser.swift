internal import VaultFile

/// Brings the words of age plugins to the terminal, each on one line and with the plugin's name before it (PLUG-3).
///
/// It writes to the terminal itself: a message that waited for its turn among the results would ask for a touch too
/// late.
struct PluginUser: PluginDialogue {
    let console: Console

    private static func subject(_ plugin: String) -> String { "age-plugin-\(plugin)" }

    /// A text of the plugin on one line.
    private static func line(_ text: String, from plugin: String) -> String {
        let trimmed = text.drop { $0.isWhitespace || $0.isNewline }
        let end = trimmed.lastIndex { !$0.isWhitespace && !$0.isNewline }
        return subject(plugin) + ": " + Escaping.line(String(end.map { trimmed[...$0] } ?? ""))
    }

    private static func notAnswered(_ plugin: String) -> Failure {
        Failure(.noKey, .text(subject(plugin)), "its question was not answered")
    }

    func show(_ message: String, from plugin: String) -> Bool {
        Terminal.use { terminal in
            terminal.map { (try? $0.say(Self.line(message, from: plugin))) != nil } ?? false
        }
    }

    func confirm(_ message: String, yes: String, no: String?, from plugin: String) throws -> Bool? {
        try Terminal.use { terminal in
            try terminal.map { try Self.choose($0, message, yes: yes, no: no, from: plugin) }
        }
    }

    private static func choose(
        _ terminal: Terminal, _ message: String, yes: String, no: String?, from plugin: String
    ) throws -> Bool {
        let question = line(message, from: plugin)
        guard let no else {
            let typed = try terminal.line("\(question) (Enter: \(Escaping.line(yes))) ")
            // Ctrl-D is not Enter.
            guard typed.count > 0 else { throw notAnswered(plugin) }
            return true
        }
        let choices = "(1: \(Escaping.line(yes)), 2: \(Escaping.line(no))) "
        while true {
            let typed = try terminal.line("\(question) \(choices)")
            let answer = try typed.withBytes { bytes in bytes.indices.map { bytes[$0] } }
            switch answer {
            case Array("1\n".utf8): return true
            case Array("2\n".utf8): return false
            // The terminal has no more input.
            case []: throw notAnswered(plugin)
            default: continue
            }
        }
    }

    func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer? {
        let prompt = Self.line(question, from: plugin) + ": "
        let answer = try Terminal.use { terminal throws -> SecretText? in
            guard let terminal else { return nil }
            return isSecret ? try terminal.ask(prompt) : try terminal.line(prompt)
        }
        guard let typed = answer else { return nil }
        return try typed.withBytes { bytes in
            guard let last = bytes.indices.last else {
                throw Self.notAnswered(plugin)
            }
            let count = bytes[last] == UInt8(ascii: "\n") ? last : bytes.count
            // Guarded memory has at least one byte.
            guard count > 0 else { throw Failure(.noKey, .text(Self.subject(plugin)), "nothing was typed") }
            var answer = try SecretBuffer(count: count)
            answer.withMutableBytes { answer in
                for index in 0..<count { answer[index] = bytes[index] }
            }
            return answer
        }
    }

    /// What a plugin writes to standard error is shown with `--verbose`.
    func noteErrors(_ text: String, from plugin: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            console.note(.text(Self.subject(plugin)), Escaping.line(String(line)))
        }
    }
}
