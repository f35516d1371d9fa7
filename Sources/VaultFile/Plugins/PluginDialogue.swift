public import VaultStream

/// Brings the words of age plugins to the user, and the answers back (PLUG-3).
///
/// The texts come from the plugin. A program escapes them before a terminal gets them, shows each on one line, and names
/// the plugin before it. While a question waits for the user, the plugin's time stands still. The calls come from the
/// thread on which the plugin is used; there is never more than one at a time.
public protocol PluginDialogue: Sendable {
    /// Shows a message.
    ///
    /// - Parameters:
    ///   - message: the plugin's text.
    ///   - plugin: the name of the plugin.
    /// - Returns: whether there is a user who sees it.
    func show(_ message: String, from plugin: String) -> Bool

    /// Asks the user to choose.
    ///
    /// - Parameters:
    ///   - message: the plugin's text.
    ///   - yes: what the first answer is called.
    ///   - no: what the second one is called; nil if there is only one.
    ///   - plugin: the name of the plugin.
    /// - Returns: whether the user chose the first answer; nil if there is no user to ask.
    /// - Throws: anything, such as that the user gave up: then the session ends, and the caller gets the error.
    func confirm(_ message: String, yes: String, no: String?, from plugin: String) throws -> Bool?

    /// Asks the user for a text, such as a PIN.
    ///
    /// - Parameters:
    ///   - question: the plugin's text.
    ///   - isSecret: whether the terminal must not show what is typed.
    ///   - plugin: the name of the plugin.
    /// - Returns: the answer in UTF-8; nil if there is no user to ask.
    /// - Throws: anything, such as that the user gave up: then the session ends, and the caller gets the error.
    func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer?

    /// Gets what the plugin wrote to standard error, at most 64 KiB, at the end of its session.
    ///
    /// - Parameters:
    ///   - text: what it wrote.
    ///   - plugin: the name of the plugin.
    func noteErrors(_ text: String, from plugin: String)
}

extension PluginDialogue {
    /// Drops the text.
    public func noteErrors(_ text: String, from plugin: String) {}
}

/// There is no user to ask: plugins that ask get `fail`.
public struct NoPluginDialogue: PluginDialogue {
    /// A dialogue without a user.
    public init() {}

    /// False.
    public func show(_ message: String, from plugin: String) -> Bool { false }

    /// Nil.
    ///
    /// - Throws: nothing.
    public func confirm(_ message: String, yes: String, no: String?, from plugin: String) throws -> Bool? { nil }

    /// Nil.
    ///
    /// - Throws: nothing.
    public func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer? { nil }
}
