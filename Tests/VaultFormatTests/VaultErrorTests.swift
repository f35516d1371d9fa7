import Testing
import VaultFormat
import VaultTestSupport

@Suite struct VaultErrorTests {
    static let codes: [VaultError.Code] = [
        .notVaultfile, .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags,
        .headerDamaged, .headerMalformed, .copiesDisagree, .limitExceeded, .wrongKey, .headerForged, .recordDamaged,
        .manifestMalformed, .unsupportedMember, .manifestMismatch, .contentMismatch, .packingMalformed,
        .paddingNotZero, .footerDamaged, .truncated, .trailingData, .rangeInvalid, .badKey, .badPassphrase,
        .badContext, .tooLarge, .doesNotFit, .lastSlot, .unexpectedState,
    ]

    /// The names are part of the format: those of chapter 16.2, except for operations that the library does not have.
    @Test func namesAreThoseOfTheSpec() throws {
        let text = try Repository.text("Spec/FORMAT.md")
        let chapter = try #require(text.split(separator: "### 16.2 Error names").last)
        let rows = chapter.split(separator: "\n").prefix { !$0.contains("Appendix B adds these:") }
            .filter { $0.hasPrefix("| `") }
        let names = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        let others = ["consentNeeded", "hardLinks", "generationExhausted", "copiesConflict", "rotationUnfinished"]
        #expect(names.count == Self.codes.count + others.count)
        #expect(Set(names) == Set(Self.codes.map(\.name) + others))
        #expect(Self.codes.map(\.description) == Self.codes.map(\.name))
    }

    @Test func description() {
        let error = VaultError(.recordDamaged, "the record does not authenticate", offset: 512, record: 3)
        #expect(error.description == "recordDamaged: the record does not authenticate, record 3, at byte 512")
        #expect(VaultError(.wrongKey, "no key").description == "wrongKey: no key")
        let placed = VaultError(.inputFailed, "x", errorNumber: 5).at(7)
        #expect(placed.code == .inputFailed && placed.message == "x" && placed.offset == 7)
        #expect(placed.record == nil && placed.errorNumber == 5 && placed.at(8, record: 2).record == 2)
    }

    @Test("errors are equal if their codes are equal") func equality() {
        let error = VaultError(.recordDamaged, "the record does not authenticate", offset: 512, record: 3)
        #expect(error == VaultError(.recordDamaged, "another message"))
        #expect(error.hashValue == VaultError(.recordDamaged, "another message").hashValue)
        #expect(error != VaultError(.truncated, error.message, offset: 512, record: 3))
    }

    /// Every name that appendix B gives an error, and that chapter 16.2 does not have.
    @Test func keyringNamesAreThoseOfTheSpec() throws {
        let text = try Repository.text("Spec/FORMAT.md")
        let table = try #require(text.split(separator: "Appendix B adds these:").last)
            .split(separator: "## 17.").first
        let appendix = try #require(table)
        for code in [VaultError.Code.keyringMalformed, .keyringMismatch, .keyringUnprotected, .inUse, .indexMismatch] {
            #expect(appendix.contains("`\(code.name)`"), "\(code)")
        }
        #expect(Set(VaultError.Code.all.map(\.name)).count == VaultError.Code.all.count)
    }
}
