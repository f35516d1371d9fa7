internal import CPlatform
import FoundationEssentials
package import SystemPackage
import VaultCrypto
package import VaultFile
import VaultSystem

/// A folder for one test. It is removed with this value.
package final class TemporaryFolder: Sendable {
    package let path: FilePath

    package init() throws {
        let name = "vaultfile-tests-" + RandomBytes.array(count: 8).hexadecimal
        path = FilePath(FileManager.default.temporaryDirectory.path).appending(name)
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path.string)
    }

    /// The names in the folder, including hidden ones.
    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path.string).sorted() }
    }

    package subscript(name: String) -> FilePath { path.appending(name) }

    /// Makes a file.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> FilePath {
        let file = try FileDescriptor.open(
            self[name], .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { try file.writeFully(bytes.span) }
        return self[name]
    }

    package func read(_ name: String) throws -> [UInt8] {
        try Repository.contents(self[name])
    }

    /// The time of a file's last change.
    package func modified(_ name: String) throws -> Timestamp? {
        try Stat(self[name]).modified
    }

    package func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: self[name].string)
    }

    package func makeLink(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: self[name].string, withDestinationPath: target)
    }

    /// Makes another name of a file (a hard link).
    package func link(_ name: String, to other: String) throws {
        try FileManager.default.linkItem(atPath: self[name].string, toPath: self[other].string)
    }

    package func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: self[name].string, withIntermediateDirectories: false)
    }

    package func makePipe(_ name: String) throws {
        guard unsafe self[name].withPlatformString({ unsafe mkfifo($0, 0o600) }) == 0 else {
            throw Errno(rawValue: SystemCalls.errorNumber)
        }
    }
}
