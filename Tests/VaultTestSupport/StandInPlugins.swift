import Synchronization
package import VaultFile

/// The secrets of a vector.
package struct VectorKeys: KeyProvider {
    private let keys: KeySet
    private let plugins: [PluginIdentity]
    /// What the plugins of the vector answer.
    package let standIn: StandInPlugins

    init(_ keys: KeySet, _ plugins: [PluginIdentity], _ standIn: StandInPlugins) {
        self.keys = keys
        self.plugins = plugins
        self.standIn = standIn
    }

    package func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { keys.symmetricKeys(for: ids) }
    package func identities() -> [Identity] { keys.identities() }
    package func passphrases() -> [Passphrase] { keys.passphrases() }
    package func pluginIdentities() -> [PluginIdentity] { plugins }

    package func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try standIn.secrets(in: slots, by: plugin)
    }
}

/// Answers in place of plugins, as a vector says.
package final class StandInPlugins: Sendable {
    private let answers: [String: [UInt8]]
    private let failing: Set<String>
    private let held = Mutex<[String]>([])

    /// The sessions so far: the name of the plugin, and the number of slots that it got.
    package var sessions: [String] { held.withLock { $0 } }

    package init(_ vector: Vector) throws {
        var answers: [String: [UInt8]] = [:]
        for line in vector.values("stanza-answer") {
            let words = line.split(separator: " ")
            guard words.count == 3, let secret = [UInt8](hexDigits: words[2]) else { throw Misread(line: line) }
            answers["\(words[0]) \(words[1])"] = secret
        }
        self.answers = answers
        failing = Set(vector.values("failing-plugin"))
    }

    /// What a plugin answers for stanzas; nil for nothing.
    package func answer(_ plugin: String, for stanzas: [UInt8]) -> [UInt8]? {
        answers["\(plugin) \(sha256(stanzas).hexDigits)"]
    }

    package func secrets(in slots: [[AgeStanza]], by plugin: String) throws -> [StanzaSecret?] {
        held.withLock { $0.append("\(plugin) \(slots.count)") }
        if failing.contains(plugin) { throw VaultError(.pluginFailed, "the plugin fails") }
        return try slots.map { stanzas in
            guard let answer = answer(plugin, for: stanzas.flatMap(\.encoded)) else { return nil }
            // As the library's own client does.
            guard answer.count == StanzaSecret.byteCount else {
                throw VaultError(.pluginFailed, "the plugin gives \(answer.count) bytes")
            }
            return try StanzaSecret(bytes: answer.span)
        }
    }
}
