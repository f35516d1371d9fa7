import Foundation
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import VaultStore

@testable import Storage

@Suite struct AccountsTests {
    private let folder = FilePath(FileManager.default.temporaryDirectory.path).appending("accounts-\(UUID())")
    private let text = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 41 &+ $0 >> 9) }

    @Test func uploadsAndErasure() async throws {
        let group = try StoreGroup.create(at: folder, unlocker: SymmetricKey.generate())
        defer { try? FileManager.default.removeItem(atPath: folder.string) }
        try await Application(router: Accounts(group).router()).test(.live) { client in
            for account in ["anna", "bert"] {
                #expect(try await client.execute(uri: "/\(account)", method: .put).status == .created)
                let stored = try await client.execute(
                    uri: "/\(account)/scan", method: .put, body: ByteBuffer(bytes: text))
                #expect(stored.status == .created)
            }
            #expect(try await client.execute(uri: "/anna", method: .put).status == .conflict)
            let whole = try await client.execute(uri: "/anna/scan", method: .get)
            #expect(whole.status == .ok && [UInt8](buffer: whole.body) == text)
            let part = try await client.execute(
                uri: "/anna/scan", method: .get, headers: [.range: "bytes=299999-300000"])
            #expect(part.status == .partialContent && [UInt8](buffer: part.body)[...] == text[299_999...300_000])
            let list = try await client.execute(uri: "/anna", method: .get)
            #expect(String(buffer: list.body) == "scan\n")
            #expect(try await client.execute(uri: "/anna/none", method: .get).status == .notFound)
            #expect(try await client.execute(uri: "/carl/scan", method: .get).status == .notFound)
            #expect(try await client.execute(uri: "/carl", method: .delete).status == .notFound)

            // A copy of the store that comes back after the erasure opens nothing.
            let store = try group.find("anna").store
            let copy = FilePath(folder.string + "-copy")
            try FileManager.default.copyItem(atPath: store.string, toPath: copy.string)
            #expect(try await client.execute(uri: "/anna", method: .delete).status == .noContent)
            try FileManager.default.removeItem(atPath: store.string)
            try FileManager.default.moveItem(atPath: copy.string, toPath: store.string)
            for method in [HTTPRequest.Method.get, .put, .delete] {
                #expect(try await client.execute(uri: "/anna/scan", method: method).status == .notFound)
            }
            // The account may come back, and is empty.
            #expect(try await client.execute(uri: "/anna", method: .put).status == .created)
            #expect(try await client.execute(uri: "/anna", method: .get).body.readableBytes == 0)
            // The other one is as it was.
            let other = try await client.execute(uri: "/bert/scan", method: .get)
            #expect([UInt8](buffer: other.body) == text)
            #expect(try await client.execute(uri: "/bert/scan", method: .delete).status == .noContent)
            #expect(try await client.execute(uri: "/bert/scan", method: .get).status == .notFound)
        }
    }
}
