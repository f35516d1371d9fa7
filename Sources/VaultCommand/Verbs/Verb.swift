internal import ArgumentParser

/// A command of this program. It runs after its arguments are parsed.
protocol Verb: Explained, Sendable {
    static var name: VerbName { get }
    var common: CommonOptions { get }

    /// Runs the verb.
    ///
    /// - Throws: An error that keeps it from starting. Failures of single inputs are reported on `console`.
    func execute(on console: Console) throws -> ExitStatus
}

extension CommandConfiguration {
    /// The configuration of a verb. Because it names a parent command, the parser does not look for requests of
    /// completion scripts first, and decrypting a small file takes 21.0 million instructions instead of 21.8. No text
    /// shows that name. The underscored parameter is the parser's only way to set it.
    static func verb(_ name: VerbName, abstract: String, discussion: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: name.lastWord, _superCommandName: "vaultfile", abstract: abstract, discussion: discussion)
    }
}
