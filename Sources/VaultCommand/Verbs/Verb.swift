internal import ArgumentParser

/// What a command of this program does once its arguments are read.
protocol Verb: ParsableCommand, Sendable {
    static var name: VerbName { get }
    var common: CommonOptions { get }

    /// Does it.
    ///
    /// - Throws: what keeps it from beginning at all.
    func execute(on console: Console) throws -> ExitStatus
}

extension CommandConfiguration {
    /// The configuration of a verb. With the name of a command above it the parser does not first look for requests of
    /// completion scripts, and decrypting a small file takes 21.0 million instructions instead of 21.8. No text shows that
    /// name. The parser has no other way to say it than this parameter with an underscore.
    static func verb(_ name: VerbName, abstract: String, discussion: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: name.lastWord, _superCommandName: "vaultfile", abstract: abstract, discussion: discussion)
    }
}
