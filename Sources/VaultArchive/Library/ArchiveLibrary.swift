internal import CArchive
internal import CPlatform
internal import Synchronization
public import SystemPackage

/// libarchive cannot be loaded, or one of its calls failed.
public struct ArchiveError: Error, Hashable, Sendable {
    /// Why, in one line. It may hold a path that the maker of an archive chose.
    public let reason: String
    /// The error of the system that caused it, if there is one.
    public let systemError: Errno?
    /// Whether the library itself is missing.
    public let isMissingLibrary: Bool
    /// Whether the headers or the map of a member are wrong. Nothing of the system failed.
    public let isMalformed: Bool

    init(_ reason: String, systemError: Errno? = nil, isMissingLibrary: Bool = false) {
        self.reason = reason
        self.systemError = systemError
        self.isMissingLibrary = isMissingLibrary
        isMalformed = false
    }

    /// - Parameter reason: what is wrong with a member.
    init(malformed reason: String) {
        self.reason = reason
        systemError = nil
        isMissingLibrary = false
        isMalformed = true
    }
}

/// The functions of libarchive, which is loaded when they are needed first.
@safe struct ArchiveLibrary: @unchecked Sendable {
    let calls: vaultfile_archive

    private static let loaded = Mutex<ArchiveLibrary?>(nil)

    /// Loads the library, once in a process.
    ///
    /// - Throws: `ArchiveError` if it is missing, or too old.
    static func load() throws(ArchiveError) -> ArchiveLibrary {
        try loaded.withLock { loaded throws(ArchiveError) in
            if let loaded { return loaded }
            let library = try ArchiveLibrary()
            loaded = library
            return library
        }
    }

    private init() throws(ArchiveError) {
        var table = vaultfile_archive()
        if let missing = unsafe vaultfile_archive_load(&table) {
            throw ArchiveError("cannot load \(unsafe String(cString: missing))", isMissingLibrary: true)
        }
        calls = table
    }

    /// Makes the names of this thread's archives UTF-8. Each thread that uses libarchive calls it first.
    static func useNamesInUTF8() {
        // Without such a locale, names that are not ASCII are kept as bytes too, but other programs warn of them.
        guard let locale = unsafe utf8Locale else { return }
        unsafe vaultfile_use_locale(locale)
    }

    /// It is made once and stays: threads use it until they end.
    private nonisolated(unsafe) static let utf8Locale: UnsafeMutableRawPointer? = unsafe vaultfile_utf8_locale()

    /// The error of the last call on an archive.
    ///
    /// - Parameter archive: a reader or writer of libarchive.
    func error(of archive: OpaquePointer?, _ what: String) -> ArchiveError {
        guard let archive = unsafe archive else {
            return ArchiveError("\(what): out of memory", systemError: .noMemory)
        }
        let number = unsafe calls.archive_errno(archive)
        let text = unsafe calls.archive_error_string(archive).map { unsafe String(cString: $0) }
        // libarchive numbers its own errors below 0.
        return ArchiveError(text ?? what, systemError: number > 0 ? Errno(rawValue: number) : nil)
    }
}
