public import VaultFormat

/// The header file of a detached container: one header copy, which has the slots that its body does not have (Spec,
/// chapter 23).
///
/// It is a value of a few KiB. A change of its slots needs no file and no body: it takes bytes and gives bytes, which
/// then replace the old ones as a whole, by a rename or by a conditional write to an object store (DET-10).
public struct HeaderFile: Hashable, Sendable {
    /// The greatest length of a header file in bytes.
    public static let maximumLength = 1 << 20

    package let copy: HeaderCopy

    /// Its bytes, as a file or an object holds them.
    public var bytes: [UInt8] { copy.bytes }

    /// What it shows to everybody. Only that of an opened container is authenticated.
    public var summary: HeaderSummary { HeaderSummary(copy) }

    /// Checks everything that needs no key (DET-2).
    ///
    /// - Parameter bytes: all bytes of the header file.
    /// - Throws: `VaultError` with `notVaultfile`, `truncated`, `trailingData` if more follows, `headerDamaged`,
    ///   `headerMalformed`, and the codes for what this version does not support.
    public init(_ bytes: [UInt8]) throws(VaultError) {
        do throws(VaultError) {
            copy = try Self.parse(bytes)
        } catch {
            throw error.ofHeaderFile
        }
    }

    package init(_ copy: HeaderCopy) {
        self.copy = copy
    }

    private static func parse(_ bytes: [UInt8]) throws(VaultError) -> HeaderCopy {
        guard Preamble.magic.starts(with: bytes.prefix(Preamble.magic.count)) else {
            throw VaultError(.notVaultfile, "it does not begin like a vaultfile", offset: 0)
        }
        guard bytes.count >= HeaderCopy.prefixCount else {
            throw VaultError(.truncated, "it has \(bytes.count) bytes, fewer than any header", offset: 0)
        }
        guard let capacity = HeaderCopy.claimedCapacity(bytes[...]) else {
            throw VaultError(.headerDamaged, "its capacity is not a power of two from 2^9 to 2^20", offset: 0)
        }
        guard bytes.count >= capacity.bytes else {
            throw VaultError(.truncated, "it has fewer than its \(capacity.bytes) bytes", offset: 0)
        }
        // A container begins with a header copy too, and is longer than that.
        guard bytes.count == capacity.bytes else {
            throw VaultError(
                .trailingData, "something follows its \(capacity.bytes) bytes", offset: UInt64(capacity.bytes))
        }
        guard KeySchedule.isIntact(bytes) else { throw VaultError(.headerDamaged, "it is damaged", offset: 0) }
        return try HeaderCopy(parsing: bytes)
    }

    /// The file name that a program looks for beside a body: the body's name, the beginning of the commitment, and
    /// `.hdr` (DET-4).
    ///
    /// - Parameters:
    ///   - body: the name of the body, the last component of its path, after links are resolved.
    ///   - commitment: that of the body.
    public static func name(forBody body: String, commitment: [UInt8]) -> String {
        body + nameEnding(commitment)
    }

    /// What the name of a header file has behind that of its body.
    package static func nameEnding(_ commitment: [UInt8]) -> String {
        ".\([UInt8](commitment.prefix(8)).hexadecimal).hdr"
    }
}

extension HeaderFile {
    /// Opens it by itself, without its body, and checks its MAC and its state.
    ///
    /// - Parameter credentials: as for ``rotated(_:with:mayLoseAccess:mayMixRecipients:)``.
    /// - Returns: the same as ``summary``, which is authenticated then.
    /// - Throws: `VaultError` with `wrongKey`, `limitExceeded`, `pluginFailed`, `headerForged`, `unexpectedState`,
    ///   `memoryUnavailable`; and what the key provider throws.
    public func opened(with credentials: Credentials) throws -> HeaderSummary {
        var trials = SlotTrials(credentials)
        try open(&trials)
        return summary
    }

    /// The same with trials whose results are used again.
    package func open(_ trials: inout SlotTrials) throws {
        _ = try trials.open(self)
    }
}
