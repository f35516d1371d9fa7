import FoundationEssentials
import SystemPackage
package import VaultFile

/// The plugin `Tests/plugins/age-plugin-stand` with one key of its own, in one of its modes.
package struct StandIn {
    package let folder: TemporaryFolder
    package let recipient: PluginRecipient
    /// Without a known recipient.
    package let identity: PluginIdentity
    /// The folder with the program, for PATH.
    package var path: String { folder.path.string }

    /// Keys of 16 equal bytes, 1 and 2: the recipient's text, and the identity's.
    package static let texts = [
        (
            "age1stand1qyqszqgpqyqszqgpqyqszqgpqyv23s5p",
            "AGE-PLUGIN-STAND-1QYQSZQGPQYQSZQGPQYQSZQGPQYTK8CK7"
        ),
        (
            "age1stand1qgpqyqszqgpqyqszqgpqyqszqg465aae",
            "AGE-PLUGIN-STAND-1QGPQYQSZQGPQYQSZQGPQYQSZQGJXZ4LX"
        ),
    ]

    private let environment: String

    /// - Parameters:
    ///   - key: which of the two keys.
    ///   - environment: more variables for the program.
    package init(_ mode: String = "", key: Int = 0, environment: String = "") throws {
        self.environment = environment
        folder = try TemporaryFolder()
        recipient = try PluginRecipient(Self.texts[key].0)
        identity = try PluginIdentity(text: [UInt8](Self.texts[key].1.utf8).span)
        try use(mode)
    }

    /// Makes the program behave in another mode.
    package func use(_ mode: String) throws {
        let program = Repository.path("Tests/plugins/age-plugin-stand")
        let script = """
            #!/bin/sh
            STAND_MODE='\(mode)' STAND_LOG='\(folder["log"])' \(environment) exec '\(program)' "$@"

            """
        let path = try folder.write([UInt8](script.utf8), to: "age-plugin-stand")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path.string)
    }

    /// A line for each session so far: `wrap` or `unwrap`, and of how many secrets or slots.
    package var sessions: [String] {
        let log = (try? folder.read("log")) ?? []
        return log.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }

    package func plugins(_ dialogue: any PluginDialogue = NoPluginDialogue()) -> AgePlugins {
        AgePlugins(dialogue: dialogue, path: path)
    }

    package func keys(
        _ plugins: AgePlugins, _ identities: [PluginIdentity]? = nil, others: KeySet = KeySet()
    ) -> PluginKeys {
        PluginKeys(plugins, identities ?? [identity], others: others)
    }
}

/// Keys of which some are in plugins.
package struct PluginKeys: KeyProvider {
    private let plugins: AgePlugins
    private let ofPlugins: [PluginIdentity]
    private let others: KeySet

    package init(_ plugins: AgePlugins, _ identities: [PluginIdentity], others: KeySet = KeySet()) {
        self.plugins = plugins
        ofPlugins = identities
        self.others = others
    }

    package func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { others.symmetricKeys(for: ids) }
    package func identities() -> [Identity] { others.identities() }
    package func passphrases() -> [Passphrase] { others.passphrases() }
    package func pluginIdentities() -> [PluginIdentity] { ofPlugins }

    package func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try plugins.secrets(in: slots, by: plugin, with: identities)
    }
}
