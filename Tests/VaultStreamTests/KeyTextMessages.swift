import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@testable import VaultStream

/// What a message says about a mistake: a person who mistypes a key has nothing else.
@Suite struct KeyTextMessages {
    @Test(arguments: [
        ("AGE-SECRET-KEY-1GPQ5YS", "not an identity of a plugin"),
        ("AGE-PLUGIN-X-1" + String(repeating: "Q", count: 16_384), "at most 16384 characters"),
        ("AGE-PLUGIN-1QQQQQQ", "no name of a plugin"), ("AGE-PLUGIN-X1QQQQQQ", "no name of a plugin"),
        ("age-plugin-x-1qqqqqq", "upper case"), ("AGE-PLUGIN-X-1QQQQQQ", "checksum"),
    ]) func pluginIdentity(_ text: String, _ message: String) {
        #expect(badKey { try PluginIdentity(text: [UInt8](text.utf8).span) }?.contains(message) == true)
    }

    @Test func pluginIdentityMistyped() throws {
        let right = KeyTexts.text("age-plugin-x-", [1, 2, 3], isUpper: true)
        _ = try PluginIdentity(text: [UInt8](right.utf8).span)
        let wrong = right.dropLast() + (right.last == "Q" ? "P" : "Q")
        #expect(badKey { try PluginIdentity(text: [UInt8](wrong.utf8).span) }?.contains("checksum") == true)
    }

    @Test(arguments: [
        ("bech1qqqqqqqq", "not a recipient"), ("age1" + String(repeating: "q", count: 16_384), "at most 16384"),
        (KeyTexts.recipient.replacing("q", with: "Q"), "lower case"),
        (String(KeyTexts.recipient.dropLast()) + "q", "checksum"), ("age1a\nage1b", "more than one line"),
    ]) func recipient(_ text: String, _ message: String) {
        #expect(badKey { try RecipientFile.Entry(text) }?.contains(message) == true)
    }

    @Test(arguments: [
        (KeyTexts.identity.lowercased(), "upper case"), (KeyTexts.identity + "Q", "75 characters instead of 74"),
        (String(KeyTexts.identity.dropLast()) + "Q", "checksum"),
    ]) func identity(_ text: String, _ message: String) {
        #expect(badKey { try Identity(text: [UInt8](text.utf8).span) }?.contains(message) == true)
    }

    @Test func values() throws {
        let noKey = badKey { try PublicKey(.symmetric, bytes: [UInt8](repeating: 9, count: 32)) }
        #expect(noKey?.contains("type 1") == true)
        for count in [15, 17] {
            #expect(badKey { try StanzaSecret(bytes: [UInt8](repeating: 1, count: count).span) } != nil)
        }
        for arguments in [[], [""], ["a", ""], ["a b"], ["a\u{7F}"], ["ä"]] { #expect(AgeStanza(arguments) == nil) }
    }

    @Test("a line of a stanza's body has at most 64 letters") func longLine() {
        for (count, isRight) in [(63, false), (64, true), (65, false), (68, false)] {
            let text = "-> a\n" + String(repeating: "A", count: count) + "\nAAAA\n"
            #expect((AgeStanza.parse([UInt8](text.utf8)[...], atMost: 1) != nil) == isRight, "\(count)")
        }
    }

    /// A slot for a public key could look like one with stanzas: its maker chooses the first 32 bytes.
    @Test func slotsOfOtherTypes() {
        let text = [UInt8]("-> aaaaaaaaaaaaaaaaaaaaaaa\n\n".utf8)
        let body = [0, 0, 0, UInt8(text.count)] + text + [UInt8](repeating: 0, count: 24 + Slot.wrappedCount)
        let id = KeyID(unchecked: [UInt8](repeating: 9, count: 16)[...])
        #expect(StanzaSlot(Slot(type: 5, keyID: id, body: body)) != nil)
        #expect(StanzaSlot(Slot(type: 3, keyID: id, body: body)) == nil)
    }

    @Test("a header holds 32 hidden slots with stanzas, and any number of others that fit") func hiddenSlots() throws {
        func container(_ count: Int, isHidden: Bool) throws -> VaultError.Code? {
            let recipients = try (0..<count).map { number in
                guard let stanza = AgeStanza(["x"], body: [UInt8(number)]) else { throw VaultError(.badKey, "") }
                let one = try PluginRecipient(KeyTexts.text("age1x", [1, UInt8(number)]))
                return Recipient.stanzas(
                    try WrappedStanzas(.generate(), in: [stanza], for: isHidden ? nil : one, labels: []))
            }
            return try code { _ = try VaultWriter(for: recipients) }
        }
        func code(_ body: () throws -> Void) throws -> VaultError.Code? {
            do {
                try body()
                return nil
            } catch let error as VaultError {
                return error.code
            }
        }
        #expect(try container(32, isHidden: true) == nil)
        #expect(try container(33, isHidden: true) == .doesNotFit)
        #expect(try container(33, isHidden: false) == nil)
    }

    @Test func labels() throws {
        let stanza = try #require(AgeStanza(["x"]))
        #expect(try !WrappedStanzas(.generate(), in: [stanza], for: nil, labels: []).isPostQuantum)
        #expect(try WrappedStanzas(.generate(), in: [stanza], for: nil, labels: ["postquantum"]).isPostQuantum)
    }
}
