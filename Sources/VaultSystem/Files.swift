internal import CPlatform
public import SystemPackage
public import VaultFormat

/// Identifies a file by device and inode, whatever its names are.
public struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// The file with this inode on this device.
    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    /// The file that has this status.
    public init(_ stat: Stat) {
        device = UInt64(truncatingIfNeeded: stat.deviceID.rawValue)
        inode = UInt64(truncatingIfNeeded: stat.inode.rawValue)
    }

    /// Sixteen bytes that only this file has, as long as the file system stays mounted.
    public var bytes: [UInt8] {
        [device, inode].flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    }
}

extension Stat {
    /// When the contents last changed.
    public var modified: Timestamp? { Self.timestamp(st_mtim) }

    /// When the contents or attributes of the file last changed. No program can set this time.
    public var changed: Timestamp? { Self.timestamp(st_ctim) }

    private static func timestamp(_ time: timespec) -> Timestamp? {
        Timestamp(
            seconds: vaultfile_seconds(time), nanoseconds: UInt32(truncatingIfNeeded: vaultfile_nanoseconds(time)))
    }
}

extension FilePath {
    /// A path of these bytes, up to the first NUL.
    public init(bytes: [UInt8]) {
        unsafe self.init(platformString: bytes.map(CChar.init(bitPattern:)) + [0])
    }

    /// Its bytes, which may not be valid UTF-8.
    public var bytes: [UInt8] {
        unsafe withPlatformString { unsafe [UInt8](UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
}

/// The kind of an entry, as the listing of its folder gives it.
public enum EntryKind: Sendable {
    case folder, regular, other
}

/// The names in an open folder, but `.` and `..`, in the order of the file system. It holds one of them.
///
/// Use it on one thread at a time.
@safe public final class FolderNames {
    #if canImport(Darwin)
    private typealias Stream = UnsafeMutablePointer<DIR>
    #else
    private typealias Stream = OpaquePointer
    #endif

    private let stream: Stream

    /// - Throws: the system's error.
    public init(of folder: FileDescriptor) throws(Errno) {
        // Opened again: a copy of the descriptor would share its position and continue where the last listing ended.
        let number = try FileDescriptor.openForReading(".", in: folder, .folder).rawValue
        guard let stream = unsafe fdopendir(number) else {
            let error = Errno(rawValue: vaultfile_error_number())
            CPlatform.close(number)
            throw error
        }
        unsafe self.stream = stream
    }

    deinit {
        unsafe closedir(stream)
    }

    /// Goes back to the first name.
    public func rewind() {
        unsafe rewinddir(stream)
    }

    /// The next name, with its kind if the listing gives it; nil behind the last one.
    ///
    /// - Throws: the system's error.
    public func next() throws(Errno) -> (name: [UInt8], kind: EntryKind?)? {
        while true {
            vaultfile_set_error_number(0)
            guard let entry = unsafe readdir(stream) else {
                guard vaultfile_error_number() == 0 else { throw Errno(rawValue: vaultfile_error_number()) }
                return nil
            }
            // The name may be longer or shorter than its field is declared, so it is read as a C string.
            let start = unsafe UnsafeMutableRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
            let text = unsafe start.assumingMemoryBound(to: CChar.self)
            let name = unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
            guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
            let kind: EntryKind? =
                switch unsafe Int32(entry.pointee.d_type) {
                case Int32(DT_DIR): .folder
                case Int32(DT_REG): .regular
                case Int32(DT_UNKNOWN): nil
                default: .other
                }
            return (name, kind)
        }
    }
}

extension FileDescriptor {
    /// Calls `body` for each entry of this folder except `.` and `..`, in the order of the file system, with its kind
    /// if the listing gives it.
    ///
    /// - Throws: the system's error.
    public func forEachName(_ body: ([UInt8], EntryKind?) -> Void) throws(Errno) {
        let names = try FolderNames(of: self)
        while let (name, kind) = try names.next() { body(name, kind) }
    }
}

/// Makes a call again while a signal interrupts it.
///
/// - Parameter call: returns -1 and sets the thread's error number if it fails.
/// - Throws: the system's error.
@discardableResult
public func retrying<R: SignedInteger>(_ call: () -> R) throws(Errno) -> R {
    while true {
        let result = call()
        guard result == -1 else { return result }
        let error = Errno(rawValue: vaultfile_error_number())
        guard error == .interrupted else { throw error }
    }
}

extension Errno {
    /// Whether a call that fails with it does not exist for the file: the system or the file system lacks it. A sync
    /// that fails so has nothing to make durable. `EROFS` is none of these errors: a file system that becomes read-only
    /// after a fault gives it, and has lost what was written.
    public var isMissingCall: Bool {
        [.noFunction, .invalidArgument, .notSupported, .notSupportedOnSocket].contains(self)
    }
}

extension FileDescriptor {
    /// What a file is opened for.
    public enum Reading: Sendable {
        /// To be read from its beginning to its end. Opening a pipe waits until a program opens it for writing.
        case anything
        /// To be read at any place. Opening a pipe does not wait.
        case storage
        /// To be listed.
        case folder

        fileprivate var flags: Int32 {
            switch self {
            case .anything: 0
            case .storage: O_NONBLOCK
            case .folder: O_DIRECTORY
            }
        }
    }

    /// `openat`: folder, path, flags, and the mode of a new file.
    public typealias OpenAt = (Int32, FilePath, Int32, CInterop.Mode) -> Int32

    /// Opens a file for reading. If the system allows it, the access time does not change. Child processes do not get
    /// the descriptor, and a terminal does not become the controlling one.
    ///
    /// - Parameters:
    ///   - folder: the folder that the path begins in. The path is a name there, and a link of that name is refused.
    ///     Nil for the current folder and a path that may contain links.
    ///   - call: makes the system call.
    /// - Throws: the system's error.
    public static func openForReading(
        _ path: FilePath, in folder: FileDescriptor? = nil, _ reading: Reading = .anything,
        by call: OpenAt = systemOpenAt
    ) throws(Errno) -> FileDescriptor {
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | reading.flags | (folder == nil ? 0 : O_NOFOLLOW)
        func open(_ flags: Int32) throws(Errno) -> FileDescriptor {
            FileDescriptor(rawValue: try retrying { call(folder?.rawValue ?? AT_FDCWD, path, flags, 0) })
        }
        do {
            return try open(flags | keepsAccessTime)
        } catch {
            // Only the owner of a file may read it without changing its access time.
            guard error == .notPermitted, keepsAccessTime != 0 else { throw error }
            return try open(flags)
        }
    }

    /// The system's `openat`.
    public static func systemOpenAt(_ folder: Int32, _ path: FilePath, _ flags: Int32, _ mode: CInterop.Mode) -> Int32 {
        unsafe path.withPlatformString { unsafe vaultfile_open_at(folder, $0, flags, mode) }
    }

    /// Keeps reading from changing the access time; 0 if the system has no such flag.
    #if os(Linux)
    // O_NOATIME on every architecture that Swift supports; the C library hides it behind a feature macro.
    private static let keepsAccessTime: Int32 = 0o1000000
    #else
    private static let keepsAccessTime: Int32 = 0
    #endif
}
