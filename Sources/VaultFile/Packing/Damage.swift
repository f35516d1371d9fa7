public import VaultFormat

/// A part of a container that does not hold what was written.
public struct Damage: Hashable, Sendable {
    /// The check that failed first.
    public let error: VaultError
    /// The bytes of plaintext that are not to be had; nil where none is lost, and what is there is not what was
    /// written: its SHA-256 is not the manifest's, or a compressed stream is not what its index says.
    public let plaintextRange: Range<UInt64>?

    /// What is a property of the bytes, or of the medium that no longer gives them back; everything else is no damage,
    /// and is thrown on.
    static func checked(_ error: any Error) throws -> VaultError {
        let codes: [VaultError.Code] = [
            .recordDamaged, .truncated, .inputFailed, .packingMalformed, .manifestMismatch, .contentMismatch,
        ]
        guard let error = error as? VaultError, codes.contains(error.code) else { throw error }
        return error
    }
}
