import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// The vectors for texts of public keys and identities, through the library and through the finished command.
@Suite struct RecipientVectors {
    /// Those without plugins, which this version does not have. What they refuse is refused here, too.
    static let all = Vector.texts.filter { vector in
        !vector.values("entry").contains { $0.hasPrefix("5 ") }
    }

    @Test(arguments: all) func library(_ vector: Vector) throws {
        var (entries, skipped): ([String], Int) = ([], 0)
        do {
            switch vector.value("operation") {
            case "recipient":
                entries = [Self.entry(try PublicKey(String(decoding: vector.container, as: UTF8.self)))]
            case "recipients-file":
                let file = try RecipientFile(vector.container.span)
                (entries, skipped) = (file.publicKeys.map(Self.entry), file.skipped.count)
            default:
                // The vectors have the secrets of identities, which the library does not show.
                entries = try IdentityFile(vector.container.span).identities.map { Self.entry($0.publicKey) }
            }
        } catch {
            #expect(error.code.name == vector.value("result"))
            return
        }
        #expect(vector.value("result") == "done")
        #expect(String(entries.count) == vector.value("entries"))
        #expect(String(skipped) == vector.value("skipped") ?? "0")
        if vector.value("operation") != "identities-file", !vector.values("entry").isEmpty {
            #expect(entries == vector.values("entry"))
        }
    }

    private static func entry(_ key: PublicKey) -> String {
        "\(key.kind == .xWing ? 4 : 3) \(key.fingerprint.hexDigits)"
    }

    /// Those that an argument can hold, and a header.
    static let ofCommand = all.filter { vector in
        (vector.value("operation") != "recipient" || !vector.container.contains(0))
            && (vector.value("entries").flatMap { Int($0) } ?? 0) < 500
    }

    @Test(arguments: ofCommand) func command(_ vector: Vector) throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        var words = ["encrypt", "--allow-classical", "-o", "out", "a"].map { Array($0.utf8) }
        if vector.value("operation") == "recipient" {
            words += [Array("-r".utf8), vector.container]
        } else {
            try box.write(Array("keys".utf8), vector.container, mode: .ownerReadWrite)
            words += [vector.value("operation") == "recipients-file" ? "-R" : "-i", "keys"].map { Array($0.utf8) }
        }
        let outcome = try box.run(words)
        guard vector.value("result") == "done" else {
            #expect(outcome.ending == .status(78) || outcome.ending == .status(64), "\(outcome.errors)")
            #expect(box.bytes("out") == nil)
            return
        }
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        #expect(try box.slots("out").count == vector.value("entries").flatMap { Int($0) })
        let warnings = outcome.errors.split(separator: "\n").filter { $0.contains("is passed over") }
        #expect(String(warnings.count) == vector.value("skipped") ?? "0")
    }
}
