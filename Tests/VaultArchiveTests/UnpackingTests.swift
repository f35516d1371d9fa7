import SystemPackage
import Testing
import VaultFormat
import VaultSystem
import VaultTar
import VaultTestSupport

@testable import VaultArchive

/// Extraction into a folder, without a container.
@Suite struct UnpackingTests {
    /// Extracts the members of a stream.
    private func unpack(_ stream: [UInt8], into folder: TemporaryFolder, _ options: Unpacker.Options) throws {
        let path = folder.path
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
            _ = unpacker.finish()
        }
    }

    @Test("folders get their times also if their members come late, up to a limit of memory") func lateTimes() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        for name in ["d1", "d2", "d3"] { tar.add("\(name)/x") }
        for name in ["d1", "d1", "d1", "d2", "d3", "d4"] { tar.add("\(name)/", type: "5", mode: 0o755) }
        // libarchive sets the time of a folder when the next one comes. These files change the times again.
        for name in ["d1", "d2", "d3"] { tar.add("\(name)/y") }
        var options = Unpacker.Options()
        options.mostLateBytes = 100
        try unpack(tar.stream, into: folder, options)
        let time = Timestamp(seconds: 1_700_000_000)
        #expect(try folder.modified("d1") == time && folder.modified("d2") == time)
        #expect(try folder.modified("d3") != time)
        let other = try TemporaryFolder()
        try unpack(tar.stream, into: other, Unpacker.Options())
        #expect(try other.modified("d3") == time)
    }
}
