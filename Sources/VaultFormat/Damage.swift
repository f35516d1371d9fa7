/// A part of a container that does not hold what was written.
public struct Damage: Hashable, Sendable {
    /// The check that failed first.
    public let error: VaultError
    /// The bytes of plaintext that are lost. Nil if none is lost, but the plaintext is not what was written: its
    /// SHA-256 is not the one in the manifest, or a compressed stream does not agree with its index.
    public let plaintextRange: Range<UInt64>?

    package init(error: VaultError, plaintextRange: Range<UInt64>?) {
        self.error = error
        self.plaintextRange = plaintextRange
    }

    /// The error, if it is a property of the container's bytes or of the medium that holds them.
    ///
    /// - Throws: every other error, which is not damage.
    package static func checked(_ error: any Error) throws -> VaultError {
        let codes: [VaultError.Code] = [
            .recordDamaged, .truncated, .inputFailed, .packingMalformed, .manifestMismatch, .contentMismatch,
        ]
        guard let error = error as? VaultError, codes.contains(error.code) else { throw error }
        return error
    }
}
