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

    func show(_ message: String, from plugin: String) -> Bool {
        guard let terminal = Terminal() else { return false }
        defer { terminal.close() }
        return (try? terminal.say(Self.line(message, from: plugin))) != nil
    }

    func confirm(_ message: String, yes: String, no: String?, from plugin: String) throws -> Bool? {
        guard let terminal = Terminal() else { return nil }
        defer { terminal.close() }
        let question = Self.line(message, from: plugin)
        guard let no else {
            _ = try terminal.line("\(question) (Enter: \(Escaping.line(yes))) ")
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
            case []: throw Failure(.noKey, .text(Self.subject(plugin)), "its question was not answered")
            default: continue
            }
        }
    }

    func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer? {
        guard let terminal = Terminal() else { return nil }
        defer { terminal.close() }
        let prompt = Self.line(question, from: plugin) + ": "
        let typed = isSecret ? try terminal.ask(prompt) : try terminal.line(prompt)
        return try typed.withBytes { bytes in
            guard let last = bytes.indices.last else {
                throw Failure(.noKey, .text(Self.subject(plugin)), "its question was not answered")
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
