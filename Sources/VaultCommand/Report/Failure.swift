internal import SystemPackage
internal import VaultArchive
internal import VaultFile
internal import VaultStore

/// A failure: a message and an exit status.
///
/// Its texts never hold a key, a passphrase or plaintext. Text from outside is escaped before it is put here.
struct Failure: Error {
    var status: ExitStatus
    /// What it is about, usually a file.
    var subject: Subject
    /// Why it failed: lower case, one line, no full stop.
    var reason: String
    /// What to do about it; nil to use the hint that `Hint` has for the error.
    var hint: Hint?
    /// The library's error that caused it.
    var error: VaultError.Code?
    /// The error of a store that caused it.
    var storeError: StoreError.Code?
    /// The state of the header copies, if that is the reason.
    var health: Health?
    /// Where in the container, in bytes.
    var offset: UInt64?
    /// The range of the plaintext that is lost.
    var range: Range<UInt64>?
    /// The offsets of the header copies from which the user has to choose one.
    var headerOffsets: [UInt64]?

    /// What a message is about.
    enum Subject: Sendable {
        /// A file, by the name that the user gave.
        case path([UInt8])
        case standardInput
        case standardOutput
        /// An option, a verb, a terminal; empty for the command line as a whole.
        case text(String)

        /// The subject for messages, escaped.
        var escaped: String {
            switch self {
            case .path(let bytes): bytes.isEmpty ? "''" : Escaping.line(bytes)
            case .standardInput: "standard input"
            case .standardOutput: "standard output"
            case .text(let text): text
            }
        }
    }

    init(_ status: ExitStatus, _ subject: Subject, _ reason: String, hint: Hint? = nil) {
        self.status = status
        self.subject = subject
        self.reason = reason
        self.hint = hint
    }

    /// A failure with an error of the library and its own wording.
    init(code: VaultError.Code, _ subject: Subject, _ reason: String, hint: Hint? = nil) {
        self.init(ExitStatus(code), subject, "\(reason) (\(code.name))", hint: hint)
        error = code
    }

    /// The name of the error in the format's specification.
    var code: String? { error?.name ?? storeError?.name ?? health?.rawValue }

    /// A usage error about an option.
    static func usage(_ option: String, _ reason: String, hint: Hint? = nil) -> Failure {
        Failure(.usage, .text(option), reason, hint: hint)
    }

    /// The failure for an error about `subject`.
    ///
    /// - Parameters:
    ///   - error: The error that was thrown.
    ///   - system: The status for a system error.
    init(_ error: any Error, about subject: Subject, system: ExitStatus = .inputOutput) {
        switch error {
        case let failure as Failure:
            self = failure
        case let errno as Errno:
            self.init(system, subject, errno.words)
            // The folder of an output is not made: its name may be mistyped, or that of a disk that is not there.
            if system == .cannotCreate, errno == .noSuchFileOrDirectory { hint = .makeFolder }
        case let error as VaultError:
            self.init(error, about: subject, system: system)
        case let error as StoreError:
            let reason =
                error.code == .noSuchItem
                ? "there is no such item"
                : error.protection.map { "the class \(ClassName($0).rawValue) is locked" } ?? error.message
            self.init(ExitStatus(error.code), subject, "\(reason) (\(error.code.name))")
            storeError = error.code
        case let error as ArchiveError:
            self.init(
                error.isMissingLibrary ? .unsupported : error.isMalformed ? .damaged : system, subject,
                Escaping.line(error.reason),
                hint: error.isMissingLibrary ? .installArchiveLibrary : nil)
        case let error as NotTar:
            self.init(.damaged, subject, "is no tar stream: \(error.reason)")
        default:
            self.init(.bug, subject, "unexpected error: \(Escaping.line("\(error)"))", hint: .bug)
        }
    }

    private init(_ error: VaultError, about subject: Subject, system: ExitStatus) {
        // What a plugin says is in it.
        var reason = error.code == .pluginFailed ? Escaping.line(error.message) : error.message
        if let record = error.record {
            reason = error.code == .recordDamaged ? "record \(record) is damaged" : reason + ", record \(record)"
        }
        let isOfSystem = error.code == .outputFailed || error.code == .inputFailed
        // What could not be read or written may also be a file without encryption.
        if let offset = error.offset { reason += ", at byte \(offset)" + (isOfSystem ? "" : " of the container") }
        // A passphrase that could not be tried for lack of memory may still fit.
        let status =
            error.systemError == .noMemory ? .inputOutput : isOfSystem ? system : ExitStatus(error.code)
        self.init(status, subject, reason + " (\(error.code.name))")
        self.error = error.code
        offset = error.offset
        if error.isAboutHeaderFile, status == .damaged, error.code != .unexpectedState { hint = .otherHeaderFile }
        if error.systemError == .tooManyOpenFiles { hint = .openFiles }
        if error.code == .pluginFailed, error.systemError == .noSuchFileOrDirectory { hint = .installPlugin }
    }
}

extension Failure.Subject {
    /// Runs `body`. Its errors become failures about this subject.
    ///
    /// - Parameter system: The status for a system error.
    func attempt<R: ~Copyable>(
        system: ExitStatus = .inputOutput, _ body: () throws -> R
    ) throws(Failure) -> R {
        do { return try body() } catch { throw Failure(error, about: self, system: system) }
    }
}
