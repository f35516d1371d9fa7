package import VaultCrypto
package import VaultFormat

/// The keys and the commitment of a container, derived from a file key and a context (Spec 3.2). The file key itself is
/// not kept.
package struct KeySchedule: Sendable {
    package let commitment: [UInt8]
    private let headerMACKey: SecretBytes
    package let streamKey: SecretBytes

    /// - Parameter parameters: the preamble's first 32 bytes.
    package init(fileKey: FileKey, parameters: [UInt8], context: Context) throws(VaultError) {
        let input = Self.input(parameters: parameters, context: context)
        commitment = Self.commitment(fileKey: fileKey.secret, input: input)
        headerMACKey = try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1hdrkey", key: fileKey.secret, message: input.span)
        }
        streamKey = try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1stream", key: fileKey.secret, message: input.span)
        }
    }

    /// Whether a key is the one that the preamble commits to (KEY-4). Compared in constant time, so that timing does
    /// not show how much of a commitment matches.
    static func fits(_ fileKey: SecretBytes, preamble: Preamble, context: Context) -> Bool {
        let input = input(parameters: preamble.parameters, context: context)
        return constantTimeEqual(commitment(fileKey: fileKey, input: input).span, preamble.commitment.span)
    }

    private static func input(parameters: [UInt8], context: Context) -> [UInt8] {
        precondition(parameters.count == 32)
        // The input I of KEY-3.
        var input = parameters
        input.append(bigEndian: UInt32(context.bytes.count))
        return input + context.bytes
    }

    private static func commitment(fileKey: SecretBytes, input: [UInt8]) -> [UInt8] {
        BLAKE2b.digest(count: 32, label: "vaultfile1commit", key: fileKey, message: input.span)
    }

    /// The ID of a symmetric key (KEY-11).
    static func id(of key: SecretBytes) -> KeyID {
        let magic = Preamble.magic
        let digest = BLAKE2b.digest(count: 16, label: "vaultfile key ID", key: key, message: magic.span)
        return KeyID(unchecked: digest[...])
    }

    // MARK: Header copies

    /// A whole header copy: the body, its MAC, and the checksum.
    package func seal(headerBody body: [UInt8]) -> [UInt8] {
        var bytes = body
        bytes += mac(of: body.span)
        bytes += Self.checksum(of: bytes.span)
        return bytes
    }

    /// Whether a holder of the file key made this copy (HDR-15, HDR-18).
    package func isValid(_ copy: HeaderCopy) -> Bool {
        let end = copy.bytes.count - HeaderCopy.checksumCount
        let start = end - HeaderCopy.macCount
        let expected = mac(of: copy.bytes.span.extracting(0..<start))
        return constantTimeEqual(expected.span, copy.bytes.span.extracting(start..<end))
    }

    private func mac(of body: Span<UInt8>) -> [UInt8] {
        BLAKE2b.digest(count: 32, label: "vaultfile1hdrmac", key: headerMACKey, message: body)
    }

    private static func checksum(of bytes: Span<UInt8>) -> [UInt8] {
        BLAKE2b.digest(count: 32, label: "vaultfile1chksum", message: bytes)
    }

    /// Whether bytes are an intact header copy: magic, their own capacity and the unkeyed checksum are right (HDR-17).
    ///
    /// The checksum is no protection: anyone can compute it. It makes "damaged" a property of the bytes, the same for
    /// every reader, whatever key they hold. Otherwise an attacker could lead two readers with different keys to
    /// different copies.
    package static func isIntact(_ copy: [UInt8]) -> Bool {
        guard HeaderCopy.claimedCapacity(copy[...])?.bytes == copy.count else { return false }
        let end = copy.count - HeaderCopy.checksumCount
        return checksum(of: copy.span.extracting(0..<end))[...] == copy[end...]
    }
}
