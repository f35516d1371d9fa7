import Testing
import VaultFormat
import VaultTestSupport

@Suite struct VaultErrorTests {
    static let codes: [VaultError.Code] = [
        .notVaultfile, .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags,
        .headerDamaged, .headerMalformed, .copiesDisagree, .limitExceeded, .wrongKey, .headerForged, .recordDamaged,
        .manifestMalformed, .unsupportedMember, .manifestMismatch, .contentMismatch, .packingMalformed,
        .paddingNotZero, .footerDamaged, .truncated, .trailingData, .rangeInvalid, .badKey, .badPassphrase,
        .badContext, .tooLarge, .doesNotFit, .lastSlot,
    ]

    /// The names are part of the format: those of chapter 16.2, except for operations that the library does not have.
    @Test func namesAreThoseOfTheSpec() throws {
        let text = try Repository.text("Spec/FORMAT.md")
        let chapter = try #require(text.split(separator: "### 16.2 Error names").last)
        let rows = chapter.split(separator: "\n").prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("| `") }
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
        #expect(
            VaultError(.inputFailed, "x", systemError: 5).at(7)
                == VaultError(.inputFailed, "x", offset: 7, systemError: 5))
    }
}
