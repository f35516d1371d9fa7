import FoundationEssentials
import Synchronization
import SystemPackage
import Testing
import VaultFormat
import VaultSystem
import VaultTar
import VaultTestSupport

@testable import VaultArchive

/// Extraction into a folder, without a container.
@Suite struct UnpackingTests {
    /// What a run has told.
    private final class Told: Sendable {
        let words = Mutex<[String]>([])
        /// How many files and folders are remembered at the end.
        let remembered = Mutex(0)
    }

    /// Extracts the members of a stream.
    ///
    /// - Parameter before: runs before the attributes of folders are restored.
    @discardableResult
    private func unpack(
        _ stream: [UInt8], into folder: TemporaryFolder, _ options: Unpacker.Options,
        before: @escaping @Sendable () throws -> Void = {}
    ) throws -> Told {
        let (path, told) = (folder.path, Told())
        try onThreadWithOwnFolder {
            let root = try FileDescriptor.openForReading(path, .folder)
            defer { try? root.close() }
            let window = StreamWindow(length: UInt64(stream.count)) {
                Array(stream[Int($0.lowerBound)..<Int($0.upperBound)])
            }
            let unpacker = try Unpacker(into: root, options) { try window.bytes(at: $0, count: $1) }
            try window.source.forEachEntry { entry in
                _ = try unpacker.add(entry) { _ in nil }
                return true
            }
            told.remembered.withLock { $0 = unpacker.made.count }
            try before()
            unpacker.finish { path, words in
                told.words.withLock { $0.append("\(path?.description ?? ""): \(words)") }
            }
        }
        return told
    }

    @Test("folders get their times also if their members come late, up to a limit of memory") func lateTimes() throws {
        var tar = TarMaker()
        for name in ["d1", "d2", "d3"] { tar.add("\(name)/x") }
        for name in ["d1", "d1", "d1", "d2", "d3"] { tar.add("\(name)/", type: "5", mode: 0o555) }
        // These files change the times again, and need the right to write in the folders.
        for name in ["d1", "d2", "d3"] { tar.add("\(name)/y") }
        let time = Timestamp(seconds: 1_700_000_000)
        for most in [2, 3] {
            let folder = try TemporaryFolder()
            var options = Unpacker.Options()
            options.mostFolders = most
            try unpack(tar.stream, into: folder, options)
            #expect(try folder.modified("d1") == time && folder.modified("d2") == time)
            #expect(try (folder.modified("d3") == time) == (most == 3))
            for name in ["d1", "d2", "d3"] {
                let mode = try Stat(folder.path.appending(name)).permissions.rawValue & 0o777
                #expect(mode == (name == "d3" && most == 2 ? 0o755 : 0o555))
                #expect(try folder.read("\(name)/y").isEmpty)
            }
        }
    }

    /// An attacker who can write in the target exchanges a folder for a link, or for another folder, before the end.
    @Test(
        "no folder outside gets the attributes of a member", arguments: ["link above", "link", "other folder", "gone"])
    func exchangedFolders(_ how: String) throws {
        let (folder, outside) = (try TemporaryFolder(), try TemporaryFolder())
        func mode(_ path: FilePath) throws -> FilePermissions { try Stat(path).permissions }
        let closed: FilePermissions = .ownerReadWriteExecute
        for path in [outside["y"], outside["other"]] {
            try FileManager.default.createDirectory(
                atPath: path.string, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        var tar = TarMaker()
        for name in ["x", "x/y"] { tar.add("\(name)/", type: "5", mode: 0o777) }
        var options = Unpacker.Options()
        (options.mask, options.preserves) = (0, true)
        let told = try unpack(tar.stream, into: folder, options) {
            let files = FileManager.default
            func move(_ from: FilePath, _ to: FilePath) throws {
                try files.moveItem(atPath: from.string, toPath: to.string)
            }
            switch how {
            case "link above":
                try move(folder["x"], folder["moved"])
                try folder.makeLink("x", to: outside.path.string)
            case "link":
                try move(folder["x/y"], folder["moved"])
                try folder.makeLink("x/y", to: outside["y"].string)
            case "other folder":
                try move(folder["x/y"], folder["moved"])
                try move(outside["other"], folder["x/y"])
            default: try move(folder["x/y"], folder["moved"])
            }
        }
        #expect(try mode(outside["y"]) == closed)
        if how == "other folder" { #expect(try mode(folder["x/y"]) == closed) }
        #expect(told.words.withLock { $0.contains { $0.hasPrefix("x/y: ") } }, "\(told.words.withLock(\.self))")
    }

    @Test("files that later members have replaced are forgotten: their numbers can be those of other files")
    func reusedNumbers() throws {
        var tar = TarMaker()
        for number in UInt8(0)..<20 { tar.add("a", [number]) }
        tar.add("b", [1])
        var options = Unpacker.Options()
        options.isDurable = false
        #expect(try unpack(tar.stream, into: TemporaryFolder(), options).remembered.withLock(\.self) == 2)
    }

    @Test("what libarchive takes for no kind of file is refused") func manyExtensionHeaders() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        for _ in 0..<40 { tar.add("PaxHeader", Array("12 mtime=12\n".utf8), type: "x") }
        tar.add("pipe", type: "6")
        #expect(throws: ArchiveError.self) { try unpack(tar.stream, into: folder, Unpacker.Options()) }
        #expect(try folder.names() == [])
    }
}
