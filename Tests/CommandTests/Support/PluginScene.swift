import SystemPackage
import VaultTestSupport

/// A folder in which the stand-in plugin is found, with its identity `token`.
struct PluginScene {
    let box: Sandbox
    let recipient: String
    let environment: [String]

    init() throws {
        box = try Sandbox()
        let programs = Repository.path("Tests/plugins").string
        environment = ["PATH=\(programs):/usr/bin:/bin", "STAND_LOG=\(box.path("log"))"]
        recipient = try Self.makeIdentity("token", in: box)
    }

    /// Makes an identity in a file.
    ///
    /// - Returns: Its recipient.
    private static func makeIdentity(_ name: String, in box: Sandbox) throws -> String {
        let program = Repository.path("Tests/plugins/age-plugin-stand").string
        let text = try box.shell("'\(program)' --make > \(name); chmod 600 \(name); cat \(name)")
        return text.split(separator: "\n").first.map { String($0.dropFirst("# recipient: ".count)) } ?? ""
    }

    /// Makes an identity in a file that does not tell its recipient.
    func makeBareIdentity(_ name: String) throws {
        _ = try Self.makeIdentity(name, in: box)
        try box.shell("sed -i.bak /recipient/d \(name); rm \(name).bak; chmod 600 \(name)")
    }

    func run(_ words: String..., mode: String = "") throws -> Sandbox.Outcome {
        try box.run(words.map { Array($0.utf8) }, environment: environment + ["STAND_MODE=\(mode)"])
    }

    /// The environment with a keyring that the key file `unlocker` unlocks.
    var keyringEnvironment: [String] {
        environment + ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"]
    }

    func runWithKeyring(_ words: [String]) throws -> Sandbox.Outcome {
        try box.run(words.map { Array($0.utf8) }, environment: keyringEnvironment)
    }

    /// A line for each session since the last call.
    func sessions() throws -> [String] {
        let lines = (box.text("log") ?? "").split(separator: "\n").map(String.init)
        try box.write("log", "")
        return lines
    }
}
