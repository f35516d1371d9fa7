/// The first 64 bytes of a header copy, fixed for the life of a container (Spec 2.2).
///
///     0   magic (8)
///     8   version u16 = 1
///     10  suite u16 = 1
///     12  log2 of the chunk size u8
///     13  compression u8
///     14  flags u16 = 0
///     16  file ID (16)
///     32  commitment (32)
package struct Preamble: Hashable, Sendable {
    package static let count = 64
    package static let magic: [UInt8] = [0x89, 0x56, 0x4C, 0x54, 0x0D, 0x0A, 0x1A, 0x0A]
    package static let version: UInt16 = 1
    static let suite: UInt16 = 1

    package let chunkSize: ChunkSize
    package let compression: Compression
    package let fileID: [UInt8]
    package let commitment: [UInt8]

    package init(chunkSize: ChunkSize, compression: Compression, fileID: [UInt8], commitment: [UInt8]) {
        precondition(fileID.count == 16 && commitment.count == 32)
        self.chunkSize = chunkSize
        self.compression = compression
        self.fileID = fileID
        self.commitment = commitment
    }

    /// Parses the beginning of an intact copy. The checks are in the order of the bytes.
    init(parsing reader: inout ByteReader) throws(VaultError) {
        // mutant: a copy that is cut is damaged and does not reach this
        guard reader.take(8) != nil, let version: UInt16 = reader.integer(), let suite: UInt16 = reader.integer(),
            let log2: UInt8 = reader.integer(),
            let compression: UInt8 = reader.integer(), let flags: UInt16 = reader.integer(),
            let fileID = reader.take(16), let commitment = reader.take(32)
        else { throw VaultError(.headerMalformed, "the preamble is cut") }
        try Self.check(version: version)
        guard suite == Self.suite else {
            throw VaultError(.unsupportedSuite, "suite \(suite) is unknown to this version of vaultfile")
        }
        guard let chunkSize = ChunkSize(log2: log2) else {
            throw VaultError(.headerMalformed, "the chunk size is 2^\(log2), outside 2^12 to 2^23")
        }
        guard let known = Compression(rawValue: compression) else {
            throw VaultError(
                .unsupportedCompression,
                "compression \(compression) is unknown to this version of vaultfile")
        }
        guard flags == 0 else {
            throw VaultError(
                .unsupportedFlags,
                "the flags 0x\(String(flags, radix: 16)) are unknown to this version of vaultfile")
        }
        self.init(
            chunkSize: chunkSize, compression: known, fileID: [UInt8](fileID), commitment: [UInt8](commitment))
    }

    /// The 32 bytes before the commitment, which the key schedule starts from (KEY-3).
    package var parameters: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: Self.version)
        bytes.append(bigEndian: Self.suite)
        bytes.append(chunkSize.log2)
        bytes.append(compression.rawValue)
        bytes.append(bigEndian: UInt16(0))
        bytes += fileID
        return bytes
    }

    package var bytes: [UInt8] { parameters + commitment }

    /// The file ID as two words. Every record's nonce begins with them (REC-7).
    package var nonceWords: (high: UInt64, low: UInt64) {
        (fileID[..<8].bigEndian(), fileID[8...].bigEndian())
    }

    /// Checks the version of an intact copy (HDR-3). This comes before the rest of its form, because another version
    /// has another form.
    package static func checkVersion(of copy: [UInt8]) throws(VaultError) {
        guard copy.count >= 10 else { return }
        try check(version: copy[8..<10].bigEndian())
    }

    private static func check(version: UInt16) throws(VaultError) {
        guard version == Self.version else {
            throw VaultError(
                .unsupportedVersion, "it has version \(version) of the format; this program knows version 1")
        }
    }
}
