import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// The vectors for texts of public keys and identities, through the finished command. `TextVectors` tests the library.
@Suite struct RecipientVectors {
    /// Those that an argument can hold, and a header; without plugins, whose programs would have to be there.
    static let ofCommand = Vector.texts.filter { vector in
        !vector.values("entry").contains { $0.hasPrefix("5 ") }
            && (vector.value("operation") != "recipient" || !vector.container.contains(0))
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
