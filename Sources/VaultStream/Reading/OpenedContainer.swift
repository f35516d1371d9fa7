public import VaultFormat

/// An opened container: what was authenticated besides the plaintext.
public struct OpenedContainer: Hashable, Sendable {
    /// The state of the two header copies. Every state except `intact` needs repair; the plaintext is right in all of
    /// them.
    public let health: Health
    /// Its manifest.
    public let manifest: Manifest
    /// Its current header: of two valid copies, the one with the higher generation. A streaming reader gives the front
    /// copy, which it opened.
    public let header: HeaderSummary
    /// The header file that opened it; nil if its own slots did. Its slots count, and ``header`` has only the mark.
    public let headerFile: HeaderSummary?

    /// The header copy that is intact and is not of the state that the caller expects: someone may have put an older one
    /// back. ``health`` counts it as damaged (ARG-6). The other copy is as expected. Nil if there is none, and always
    /// without ``Credentials/expecting``.
    public let unexpectedCopy: HeaderSummary?

    package init(
        health: Health, manifest: Manifest, header: HeaderSummary, headerFile: HeaderSummary? = nil,
        unexpectedCopy: HeaderSummary? = nil
    ) {
        self.health = health
        self.manifest = manifest
        self.header = header
        self.headerFile = headerFile
        self.unexpectedCopy = unexpectedCopy
    }
}
