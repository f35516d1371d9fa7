import VaultFile

/// Types that programs get as results, and so may name in functions and properties of their own.
let results: [any Sendable.Type] = [
    CopyDifference.self, Damage.self, HeaderSummary.self, Inspection.Copy.self, Inspection.TriedSlot.self,
    Keyring.Changed<Int>.self, Keyring.Erasure.self, Keyring.Exchange.self, Keyring.ExchangeReason.self,
    Keyring.Traces.self, KeyringEntry.self, KeyringEntry.State.self, Manifest.self, OpenedContainer.self,
    Recovered.self,
    RecoveryHeader.self, Reencryption.self, Rotation.self, SlotDescription.self, SlotDescription.Kind.self,
]

/// A function of a program's own that takes a change of a keyring.
func addKey(to change: inout KeyringChange, named name: KeyName) throws {
    try change.generate(named: name, created: .now)
}

/// Every code that a program may decide by.
let codes: [VaultError.Code] = [
    .notVaultfile, .unsupportedVersion, .unsupportedSuite, .unsupportedCompression, .unsupportedFlags, .headerDamaged,
    .headerMalformed, .copiesDisagree, .unexpectedState, .limitExceeded, .wrongKey, .headerForged, .recordDamaged,
    .manifestMalformed, .unsupportedMember, .manifestMismatch, .contentMismatch, .packingMalformed, .paddingNotZero,
    .footerDamaged, .truncated, .trailingData, .rangeInvalid, .indexMismatch, .badKey, .badPassphrase, .badContext,
    .tooLarge,
    .doesNotFit, .mixedRecipients, .pluginFailed, .lastSlot, .consentNeeded, .hardLinks, .generationExhausted,
    .copiesConflict,
    .rotationUnfinished, .invalidArgument, .inputFailed, .outputFailed, .outputExists, .outputNotReplaceable, .inUse,
    .memoryUnavailable, .keyStoreUnavailable, .forked, .keyringMalformed, .keyringMismatch, .keyringUnprotected,
    .keyringProtected, .noSuchKey, .keyDestroyed, .noCurrentKey, .keyExists, .keyNameTaken,
]
