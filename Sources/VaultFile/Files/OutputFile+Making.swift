public import SystemPackage
import VaultCrypto
import VaultFormat
internal import VaultSystem

/// The new file and its temporary name.
extension OutputFile {
    static func create(
        in folder: FileDescriptor, _ reserved: FilePath?
    ) throws(VaultError) -> (FileDescriptor, TemporaryName?) {
        if let flags = OpenFlags.nameless, let descriptor = try? open(folder, ".", flags, mode: .ownerReadWrite) {
            // It gets its name through /proc. Without /proc it could never get one.
            if (try? procPath(of: descriptor).status(followingLinks: false)) != nil { return (descriptor, nil) }
            descriptor.closeQuietly()
        }
        let make = { (name: FilePath) throws(VaultError) in
            try TemporaryName.make(name, in: folder) { () throws(VaultError) in
                let file = try open(folder, name, OpenFlags.exclusive, mode: .ownerReadWrite)
                guard lock(file, name, in: folder) else {
                    file.closeQuietly()
                    throw failed("its temporary name is taken", .fileExists)
                }
                return file
            }
        }
        if let reserved {
            do throws(VaultError) {
                return try make(reserved)
            } catch {
                // mutant: with another name, the same error comes again
                guard error.systemError == .fileExists else { throw error }
            }
        }
        for _ in 0..<attempts {
            do throws(VaultError) {
                return try make(temporaryName())
            } catch {
                guard error.systemError == .fileExists else { throw error }
            }
        }
        return try make(temporaryName())
    }

    private static let attempts = 8

    /// Locks a new file under a temporary name. Returns false if another program has taken it for a file that was left
    /// behind, because it was not locked yet, and removes it.
    private static func lock(_ file: FileDescriptor, _ name: FilePath, in folder: FileDescriptor) -> Bool {
        do {
            try file.lockExclusively()
        } catch {
            // On a file system without locks, no run removes it.
            // mutant: the two are one number on Linux
            return error != .wouldBlock && error != .resourceTemporarilyUnavailable
        }
        switch SystemCalls.current.statusAt(folder.rawValue, name, false) {
        case .success(let there): return there.identity == (try? file.status().identity)
        case .failure(let error): return error != .noSuchFileOrDirectory
        }
    }

    /// The beginning of the temporary names of unfinished files.
    public static let temporaryPrefix = ".vaultfile-"

    private static let randomCount = 8

    static func temporaryName() -> FilePath {
        FilePath(temporaryPrefix + RandomBytes.array(count: randomCount).hexadecimal)
    }

    /// Whether a name has the form of the temporary names that are not reserved for one file.
    static func isTemporaryName(_ name: [UInt8]) -> Bool {
        digitsOfTemporary(name) == 2 * randomCount
    }

    /// Whether the last component of a path has the form of a temporary name. No output file gets such a name: the next
    /// program that writes into the folder would take it for an unfinished file and remove it.
    public static func hasTemporaryName(_ path: FilePath) -> Bool {
        let digits = digitsOfTemporary((path.lastComponent?.string).map { [UInt8]($0.utf8) } ?? [])
        return digits == 2 * randomCount || digits == 2 * digestCount
    }

    private static func digitsOfTemporary(_ name: [UInt8]) -> Int? {
        let digits = name.dropFirst(temporaryPrefix.utf8.count)
        guard name.starts(with: temporaryPrefix.utf8),
            digits.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
        else { return nil }
        return digits.count
    }

    private static let digestCount = 16

    /// The temporary name that is reserved for a file that takes the place of the file with this name. Only the holder
    /// of that file's lock uses it. So the next holder can tell a file that a killed program has left (KEYRING-14) from
    /// files that other programs are writing to the same folder.
    package static func reservedName(for name: FilePath) -> FilePath {
        let digest = BLAKE2b.digest(count: digestCount, label: "vaultfile beside", message: name.bytes.span)
        return FilePath(temporaryPrefix + digest.hexadecimal)
    }
}
