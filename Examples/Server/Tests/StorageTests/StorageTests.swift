import Foundation
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import VaultFile

@testable import Storage

@Suite struct StorageTests {
    private let folder = FilePath(FileManager.default.temporaryDirectory.path).appending("storage-\(UUID())")
    private let text = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ $0 >> 9) }

    private func application() throws -> some ApplicationProtocol {
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
        return Application(router: Storage(folder: folder, key: try SymmetricKey.generate()).router())
    }

    @Test func uploadAndRange() async throws {
        let application = try application()
        defer { try? FileManager.default.removeItem(atPath: folder.string) }
        try await application.test(.live) { client in
            let stored = try await client.execute(uri: "/film", method: .put, body: ByteBuffer(bytes: text))
            #expect(stored.status == .created)
            let whole = try await client.execute(uri: "/film", method: .get)
            #expect(whole.status == .ok && [UInt8](buffer: whole.body) == text)
            for (range, part) in [
                ("bytes=0-0", 0..<1), ("bytes=1000-1999999", 1000..<2_000_000),
                ("bytes=2999990-", 2_999_990..<3_000_000),
                ("bytes=-5", 2_999_995..<3_000_000), ("bytes=2999999-4000000", 2_999_999..<3_000_000),
            ] {
                let answer = try await client.execute(uri: "/film", method: .get, headers: [.range: range])
                #expect(answer.status == .partialContent && [UInt8](buffer: answer.body)[...] == text[part], "\(range)")
                #expect(
                    answer.headers[.contentRange] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/3000000")
            }
            let beyond = try await client.execute(
                uri: "/film", method: .get, headers: [.range: "bytes=3000000-"])
            #expect(beyond.status == .rangeNotSatisfiable && beyond.headers[.contentRange] == "bytes */3000000")
            #expect(try await client.execute(uri: "/none", method: .get).status == .notFound)
        }
        // What is stored is a container, and holds none of the plaintext.
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.string)
        #expect(names == ["film.vault"])
        let stored = try Data(contentsOf: URL(fileURLWithPath: folder.appending("film.vault").string))
        #expect(stored.count > text.count && stored.range(of: Data(text[1000..<1032])) == nil)
    }

    @Test func ranges() {
        for wrong in ["", "bytes", "bytes=", "bytes=-", "bytes=2-1", "bytes=a-b", "bytes=0-1,3-4", "items=0-1"] {
            #expect(ByteRange(wrong) == nil, "\(wrong)")
        }
        #expect(ByteRange("bytes=0-")?.within(0) == nil && ByteRange("bytes=-0")?.within(5) == nil)
        #expect(ByteRange("bytes=-9")?.within(5) == 0..<5)
        #expect(ByteRange("bytes=0-18446744073709551615")?.within(5) == 0..<5)
    }
}
