import VaultCrypto
import VaultFormat
import VaultStream
import VaultTestSupport

@testable import VaultFile

/// A file of recipients. What it names can be written again, and is read as the same.
enum RecipientsTarget: FuzzTarget {
    static let name = "recipients"

    static func run(_ input: [UInt8]) throws {
        let file: RecipientFile
        do throws(VaultError) {
            file = try RecipientFile(input.span)
        } catch {
            try require(error.code == .badKey, "a file of recipients gives the error \(error)")
            return
        }
        try require(!file.entries.isEmpty, "a file without a recipient is accepted")
        try require(Set(file.entries).count == file.entries.count, "a recipient is there twice")
        let lines = file.entries.map { entry in
            switch entry {
            case .publicKey(let key): key.text
            case .plugin(let recipient): recipient.text
            }
        }
        for (entry, line) in zip(file.entries, lines) {
            try require(try RecipientFile.Entry(line) == entry, "a recipient has a text of another one")
        }
        let again = try RecipientFile([UInt8](lines.joined(separator: "\n").utf8).span)
        try require(again.entries == file.entries, "recipients that are written again are others")
    }
}

/// A file of identities, or the private key of OpenSSH.
enum IdentitiesTarget: FuzzTarget {
    static let name = "identities"

    static func run(_ input: [UInt8]) throws {
        let file: IdentityFile
        do throws(VaultError) {
            file = try IdentityFile(input.span)
        } catch {
            try require(error.code == .badKey, "a file of identities gives the error \(error)")
            return
        }
        try require(!file.entries.isEmpty, "a file without an identity is accepted")
        for identity in file.identities {
            let text = try identity.withFile { [UInt8](copying: $0) }
            let again = try IdentityFile(text.span)
            try require(again.identities.map(\.publicKey) == [identity.publicKey], "an identity is written as another")
        }
        for identity in file.pluginIdentities {
            let again = try identity.withText { try PluginIdentity(text: $0) }
            try require(again.plugin == identity.plugin, "an identity of a plugin is written as another")
        }
    }
}

/// Stanzas in a slot. They have only one encoding.
enum StanzaTarget: FuzzTarget {
    static let name = "stanzas"

    static func run(_ input: [UInt8]) throws {
        guard let stanzas = AgeStanza.parse(input[...], atMost: StanzaSlot.mostStanzas) else { return }
        try require(stanzas.flatMap(\.encoded) == input, "stanzas have another encoding")
        for stanza in stanzas {
            try require(AgeStanza(stanza.arguments, body: stanza.body) == stanza, "a stanza cannot be made again")
        }
        guard let slot = StanzaSlot(labels: 0, text: input[...]) else {
            return try require(input.count > StanzaSlot.longestStanzas, "a slot does not take stanzas")
        }
        try require(Array(slot.encoded.dropFirst(4)) == input, "a slot writes its stanzas otherwise")
    }
}

/// What a plugin writes. The first byte chooses what it is asked for, the second how its bytes are cut.
enum PluginTarget: FuzzTarget {
    static let name = "plugin"

    static func run(_ input: [UInt8]) throws {
        guard input.count > 2 else { return }
        let count = Int(input[0] >> 1 & 3) + 1
        let purpose: PluginConversation.Purpose = input[0] & 1 == 0 ? .wrapping(count) : .unwrapping(count)
        let spoken = input[2...]
        let whole = try outcome(of: spoken, purpose, piece: spoken.count)
        let cut = try outcome(of: spoken, purpose, piece: Int(input[1]) % 64 + 1)
        try require(whole == cut, "a plugin is understood otherwise if its bytes come in pieces")
    }

    private struct Result: Equatable {
        var said: [String] = []
        var answers: [UInt8] = []
        var stanzas: [[AgeStanza]] = []
        var secrets: [[UInt8]?] = []
        var labels: Set<String>?
        var error: String?
    }

    private static func outcome(
        of spoken: ArraySlice<UInt8>, _ purpose: PluginConversation.Purpose, piece: Int
    ) throws -> Result {
        var conversation = try PluginConversation(purpose)
        var result = Result()
        do throws(VaultError) {
            var rest = spoken
            var isFinished = false
            while !isFinished, !rest.isEmpty {
                try conversation.receive([UInt8](rest.prefix(piece)).span)
                rest = rest.dropFirst(piece)
                isFinished = try answer(&conversation, &result)
            }
        } catch {
            try require(error.code == .pluginFailed, "a plugin causes the error \(error)")
            result.error = error.message
        }
        // What was answered before a fault depends on when the fault is seen.
        if result.error != nil { return Result(error: "failed") }
        result.answers = conversation.outgoing.withBytes { [UInt8](copying: $0) }
        result.stanzas = conversation.stanzas
        result.secrets = conversation.secrets.map { $0?.withBytes { [UInt8](copying: $0) } }
        result.labels = conversation.labels
        try require(
            result.stanzas.joined().count <= PluginConversation.mostCommands(purpose), "a plugin makes more than it may"
        )
        return result
    }

    private static func answer(
        _ conversation: inout PluginConversation, _ result: inout Result
    ) throws(VaultError) -> Bool {
        while true {
            switch try conversation.next() {
            case .waiting: return false
            case .finished: return true
            case .message(let text):
                result.said.append(text)
                try conversation.acknowledge(true)
            case .choice(let text, let yes, let no):
                result.said += [text, yes, no ?? "-"]
                try conversation.choose(text.utf8.count.isMultiple(of: 2))
            case .question(let text, let isSecret):
                result.said += [text, "\(isSecret)"]
                try conversation.reply(nil)
            }
        }
    }
}
