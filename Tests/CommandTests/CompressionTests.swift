import Testing

@testable import VaultCommand

/// `--compress deflate` makes the container smaller. Everything else works as without it.
@Suite struct CompressionTests {
    private let contents = String(repeating: "The quick brown fox. ", count: 20_000)
    private let key = ["VAULTFILE_KEY_FILE=key"]

    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", contents)
        return box
    }

    @Test func roundTrip() throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "--compress", "deflate", "--digest", "a", environment: key).ending == .status(0))
        let container = try #require(box.bytes("a.vault"))
        #expect(container.count < contents.utf8.count / 10)
        let inspected = try box.run("inspect", "a.vault")
        #expect(inspected.text.contains("chunks        65536 bytes, compressed"), "\(inspected.text)")
        #expect(try box.run("verify", "a.vault", environment: key).text == "a.vault: intact\n")
        for jobs in ["1", "3"] {
            let decrypted = try box.run("decrypt", "-fo", "b", "--jobs", jobs, "a.vault", environment: key)
            #expect(decrypted.ending == .status(0))
            #expect(box.text("b") == contents)
        }
        let range = try box.run("decrypt", "--offset", "100003", "--length", "200000", "a.vault", environment: key)
        #expect(range.text == String(contents.utf8.dropFirst(100_003).prefix(200_000)))
        let piped = try box.run([Array("decrypt".utf8)], input: container, piped: true, environment: key)
        #expect(piped.text == contents)
        #expect(try box.run("recover", "-o", "c", "a.vault", environment: key).ending == .status(0))
        #expect(box.text("c") == contents)
    }

    @Test func changesKeepIt() throws {
        let box = try prepared()
        try box.run("encrypt", "--compress", "deflate", "a", environment: key)
        let size = try #require(box.bytes("a.vault")?.count)
        #expect(try box.run("reencrypt", "a.vault", environment: key).ending == .status(0))
        #expect(box.bytes("a.vault")?.count == size)
        #expect(try box.run("inspect", "a.vault").text.contains("compressed"))
        #expect(try box.run("decrypt", "-fo", "b", "a.vault", environment: key).ending == .status(0))
        #expect(box.text("b") == contents)
    }

    @Test func warnsAndRefuses() throws {
        let box = try prepared()
        let help = try box.run("help", "--long", "encrypt").text.split(whereSeparator: \.isWhitespace).joined(
            separator: " ")
        #expect(help.contains("depends on the contents: do not compress secrets together with text that others choose"))
        for method in ["zstd", "none", "", "DEFLATE"] {
            #expect(try box.run("encrypt", "--compress", method, "a", environment: key).ending == .status(64))
        }
        #expect(try box.names() == ["a", "key"])
    }
}
