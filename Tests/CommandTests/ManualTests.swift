import Testing

@testable import VaultCommand

/// The manual page vaultfile(1).
@Suite struct ManualTests {
    @Test("vaultfile(1) has its sections, and every exit status") func manual() throws {
        let text = try Sandbox().run("help", "--long").text
        for heading in ["ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES"] { #expect(text.contains("\n\(heading)\n")) }
        for code in [64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 79, 80] { #expect(text.contains("\n  \(code)\n")) }
        for name in [Variable.keyFile, Variable.keyring, Variable.unlock, Variable.store] {
            #expect(text.contains("\n  \(name)\n"))
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }
}
