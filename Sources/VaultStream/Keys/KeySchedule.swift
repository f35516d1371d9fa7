package import VaultCrypto
package import VaultFormat

/// What a file key and a context make of a container (Spec, Key schedule).
package struct KeySchedule: Sendable {
    package let fileKey: FileKey
    package let commitment: [UInt8]
    private let headerMACKey: SecretBytes
    package let streamKey: SecretBytes

    /// - Parameter parameters: the preamble's first 32 bytes.
    package init(fileKey: FileKey, parameters: [UInt8], context: Context) throws(VaultError) {
        let input = Self.input(parameters: parameters, context: context)
        self.fileKey = fileKey
        commitment = Self.commitment(fileKey: fileKey.secret, input: input)
        headerMACKey = try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1hdrkey", key: fileKey.secret, message: input.span)
        }
        streamKey = try guarded { () throws(MemoryUnavailable) in
            try BLAKE2b.derive(label: "vaultfile1stream", key: fileKey.secret, message: input.span)
        }
    }

    /// Whether a key, wherever it comes from, is the one that the preamble commits to. In constant time: how much of a
    /// commitment fits is nobody's business.
    static func fits(_ fileKey: SecretBytes, preamble: Preamble, context: Context) -> Bool {
        let input = input(parameters: preamble.parameters, context: context)
        return constantTimeEqual(commitment(fileKey: fileKey, input: input).span, preamble.commitment.span)
    }

    private static func input(parameters: [UInt8], context: Context) -> [UInt8] {
        precondition(parameters.count == 32)
        var input = parameters
        input.append(bigEndian: UInt32(context.bytes.count))
        return input + context.bytes
    }

    private static func commitment(fileKey: SecretBytes, input: [UInt8]) -> [UInt8] {
        BLAKE2b.digest(count: 32, label: "vaultfile1commit", key: fileKey, message: input.span)
    }

    /// The ID of a symmetric key.
    static func id(of key: SecretBytes) -> KeyID {
        let magic = Preamble.magic
        let digest = BLAKE2b.digest(count: 16, label: "vaultfile key ID", key: key, message: magic.span)
        return KeyID(unchecked: digest[...])
    }

    // MARK: Header copies

    /// A whole header copy: what stands before the MAC, the MAC, the checksum.
    package func seal(headerBody body: [UInt8]) -> [UInt8] {
        var bytes = body
        bytes += mac(of: body)
        bytes += Self.checksum(of: bytes)
        return bytes
    }

    /// Whether a holder of the file key made this copy.
    package func isValid(_ copy: HeaderCopy) -> Bool {
        constantTimeEqual(mac(of: [UInt8](copy.authenticated)).span, [UInt8](copy.mac).span)
    }

    private func mac(of body: [UInt8]) -> [UInt8] {
        BLAKE2b.digest(count: 32, label: "vaultfile1hdrmac", key: headerMACKey, message: body.span)
    }

    private static func checksum(of bytes: [UInt8]) -> [UInt8] {
        BLAKE2b.digest(count: 32, label: "vaultfile1chksum", message: bytes.span)
    }

    /// Whether bytes are an intact header copy: magic, their own capacity and the unkeyed checksum are right.
    ///
    /// The checksum keeps nobody out. It makes "damaged" a property of the bytes, the same for every reader whatever
    /// key he holds; else two readers with different keys could be led to different copies.
    package static func isIntact(_ copy: [UInt8]) -> Bool {
        guard HeaderCopy.claimedCapacity(copy[...])?.bytes == copy.count else { return false }
        let body = [UInt8](copy.dropLast(HeaderCopy.checksumCount))
        return checksum(of: body)[...] == copy.suffix(HeaderCopy.checksumCount)
    }
}
