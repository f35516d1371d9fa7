import VaultFile

/// The SHA-256 of bytes, as the writer puts it into a manifest on request.
package func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var options = SealOptions()
    options.digest = true
    do {
        var writer = try VaultWriter(for: [.key(SymmetricKey.generate())], options: options)
        try writer.write(bytes.span) { _ in }
        return try writer.finish { _ in }.digest ?? []
    } catch {
        fatalError("\(error)")
    }
}
