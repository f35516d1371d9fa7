import Testing
import VaultCrypto
import VaultFormat
import VaultStream

@testable import VaultFile

/// What a plugin may say (PLUG-4), without a process.
@Suite struct PluginConversationTests {
    /// What the plugin says; the message of the error that ends the session, or nil.
    private func reason(
        _ spoken: String, _ purpose: PluginConversation.Purpose = .unwrapping(1)
    ) throws -> String? {
        var conversation = try PluginConversation(purpose)
        do throws(VaultError) {
            try conversation.receive([UInt8](spoken.utf8).span)
            while true {
                switch try conversation.next() {
                case .waiting, .finished: return nil
                case .message: try conversation.acknowledge(true)
                case .choice: try conversation.choose(true)
                case .question: try conversation.reply(nil)
                }
            }
        } catch {
            #expect(error.code == .pluginFailed)
            return error.message
        }
    }

    private func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

    @Test func messages() throws {
        let message = "-> msg\naGVsbG8\n"
        #expect(try reason(times(16, message)) == nil)
        #expect(try reason(times(17, message))?.contains("too many messages") == true)
    }

    @Test func questions() throws {
        for question in ["-> request-public\naGk\n", "-> request-secret\naGk\n", "-> confirm eWVz\naGk\n"] {
            #expect(try reason(times(8, question)) == nil)
            #expect(try reason(times(9, question))?.contains("too many questions") == true)
        }
    }

    @Test func commands() throws {
        let command = "-> unknown\n\n"
        for count in [1, 3] {
            #expect(try reason(times(64 + 4 * count, command), .unwrapping(count)) == nil)
            let tooMany = try reason(times(65 + 4 * count, command), .unwrapping(count))
            #expect(tooMany?.contains("too many commands") == true)
        }
    }

    @Test func bytes() throws {
        let most = 1 << 20 + (2 << 14)
        var conversation = try PluginConversation(.wrapping(2))
        try conversation.receive([UInt8](repeating: 0x61, count: most).span)
        #expect(throws: VaultError(.pluginFailed, "")) { try conversation.receive([0x61].span) }
    }

    @Test func lines() throws {
        #expect(try reason("-> " + times(100, "a") + "\n\n") == nil, "the first line of a command has any length")
        #expect(try reason("-> msg\n" + times(64, "a") + "\n\n") == nil)
        #expect(try reason("-> msg\n" + times(65, "a") + "\n\n")?.contains("a line of it is too long") == true)
        #expect(try reason("msg\n\n")?.contains("no command") == true)
        #expect(try reason("-> msg\n!\n")?.contains("base64") == true)
    }

    @Test func choices() throws {
        for words in ["eWVz", "eWVz bm8"] { #expect(try reason("-> confirm \(words)\naGk\n") == nil) }
        for words in ["", " eWVz bm8 bm8", " !"] {
            #expect(try reason("-> confirm\(words)\naGk\n")?.contains("asks wrongly") == true)
        }
    }

    @Test func slots() throws {
        let secret = "AAECAwQFBgcICQoLDA0ODw"
        #expect(try reason("-> file-key 1\n\(secret)\n", .unwrapping(2)) == nil)
        for words in ["", " 01", " +1", " 2", " -1", " x"] {
            let answer = try reason("-> file-key\(words)\n\(secret)\n", .unwrapping(2))
            #expect(answer?.contains("not asked for") == true, "\(words)")
        }
        let twice = "-> file-key 0\n\(secret)\n-> file-key 0\n\(secret)\n"
        #expect(try reason(twice)?.contains("two secrets") == true)
        for wrong in ["AAECAwQFBgcICQoLDA0O", "AAECAwQFBgcICQoLDA0ODxA", ""] {
            #expect(try reason("-> file-key 0\n\(wrong)\n")?.contains("16 bytes") == true)
        }
        #expect(try reason("-> file-key 0\n!AECAwQFBgcICQoLDA0ODw\n")?.contains("base64") == true)
        #expect(try reason("-> labels a\n\n-> labels a\n\n", .wrapping(1))?.contains("labels twice") == true)
        #expect(try reason("-> recipient-stanza 0\n\n", .wrapping(1))?.contains("without a type") == true)
    }
}
