package import VaultFile

/// The result of a recovery.
package struct Recovering: Sendable {
    package let plaintext: [UInt8]
    package let result: Result<Recovered, VaultError>
    package let lost: [Range<UInt64>]

    package var recovered: Recovered? { try? result.get() }
    package var code: VaultError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    /// - Throws: Errors that are not the library's.
    package init(
        _ source: any ByteSource, keys: any KeyProvider = KeySet(keys: [testKey(1)]), context: Context = .none,
        limits: OpenLimits = .standard, options: RecoveryOptions = RecoveryOptions(),
        using header: RecoveryHeader? = nil, jobs: Int? = nil
    ) throws {
        try self.init(using: header, jobs: jobs) {
            try Recovery(source, with: Credentials(keys, context: context, limits: limits), options: options)
        }
    }

    /// - Parameter find: Finds the headers.
    package init(using header: RecoveryHeader?, jobs: Int?, _ find: () throws -> Recovery) throws {
        var plaintext: [UInt8] = []
        var lost: [Range<UInt64>] = []
        do {
            let recovery = try find()
            result = .success(
                try recovery.read(using: header, jobs: jobs) {
                    plaintext.append(copying: $0)
                } onDamage: {
                    if let range = $0.plaintextRange { lost.append(range) }
                })
        } catch let error as VaultError {
            result = .failure(error)
        }
        self.plaintext = plaintext
        self.lost = lost
    }

    package init(
        _ container: [UInt8], keys: any KeyProvider = KeySet(keys: [testKey(1)]), context: Context = .none,
        limits: OpenLimits = .standard, options: RecoveryOptions = RecoveryOptions(),
        using header: RecoveryHeader? = nil
    ) throws {
        try self.init(
            MemorySource(container), keys: keys, context: context, limits: limits, options: options, using: header)
    }
}
