internal import SystemPackage
internal import VaultFile

/// Why something was not done: a message and an exit status.
///
/// No text of it holds a key, a passphrase or a byte of plaintext. What comes from outside is escaped before it gets
/// here.
struct Failure: Error {
    var status: ExitStatus
    /// What it is about, mostly a file.
    var subject: Subject
    /// Why it failed: lower case, one line, no full stop.
    var reason: String
    /// What to do about it.
    var hint: String?
    /// The error's name in the format's specification.
    var code: String?
    /// Where in the container.
    var offset: UInt64?
    /// The range of the plaintext that is lost.
    var range: Range<UInt64>?
    /// Where header copies were found of which the user has to choose one.
    var headerOffsets: [UInt64]?

    /// What a message is about.
    enum Subject: Sendable {
        /// A file, by the name that the user knows it by.
        case path([UInt8])
        case standardInput
        case standardOutput
        /// An option, a verb, a terminal.
        case text(String)

        /// As it is printed.
        var escaped: String {
            switch self {
            case .path(let bytes): bytes.isEmpty ? "''" : Escaping.line(bytes)
            case .standardInput: "standard input"
            case .standardOutput: "standard output"
            case .text(let text): text
            }
        }
    }

    init(_ status: ExitStatus, _ subject: Subject, _ reason: String, hint: String? = nil) {
        self.status = status
        self.subject = subject
        self.reason = reason
        self.hint = hint
    }

    /// A usage error about an option.
    static func usage(_ option: String, _ reason: String, hint: String? = nil) -> Failure {
        Failure(.usage, .text(option), reason, hint: hint)
    }

    /// What went wrong with `subject`, whatever was thrown.
    ///
    /// - Parameter system: The status for an error of the system.
    init(_ error: any Error, about subject: Subject, system: ExitStatus = .inputOutput) {
        switch error {
        case let failure as Failure:
            self = failure
        case let errno as Errno:
            self.init(system, subject, Self.words(errno))
        case let error as VaultError:
            self.init(error, about: subject, system: system)
        default:
            self.init(
                .bug, subject, "unexpected error: \(Escaping.line("\(error)"))", hint: "this is a bug of vaultfile")
        }
    }

    private init(_ error: VaultError, about subject: Subject, system: ExitStatus) {
        var reason = error.message
        if let record = error.record { reason += ", record \(record)" }
        if let offset = error.offset { reason += ", at byte \(offset)" }
        let status = error.code == .outputFailed || error.code == .inputFailed ? system : ExitStatus(error.code)
        self.init(status, subject, reason + " (\(error.code.name))", hint: Self.hint(for: error.code))
        code = error.code.name
        offset = error.offset
    }

    /// The system's words, which begin with a capital everywhere.
    static func words(_ errno: Errno) -> String {
        let text = errno.description
        guard let first = text.first, text.dropFirst().first?.isLowercase == true else { return text }
        return first.lowercased() + text.dropFirst()
    }

    /// What to do about an end that is damaged.
    static let mending = "vaultfile repair mends the end if the contents are whole, and if not, " + recovering

    /// What to do about contents that are damaged.
    static let recovering = "vaultfile recover gets out what is left"

    private static func hint(for code: VaultError.Code) -> String? {
        switch code {
        case .limitExceeded: "opening it with a passphrase costs more memory than there is; a key of it still opens it"
        case .truncated: "the end is missing: get a whole copy; else " + mending
        case .footerDamaged, .paddingNotZero, .trailingData: mending
        case .headerDamaged, .recordDamaged, .manifestMalformed, .manifestMismatch, .contentMismatch: recovering
        case .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags, .unsupportedMember:
            "a newer vaultfile may know it"
        default: nil
        }
    }
}
