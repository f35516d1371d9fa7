// Streams alone, with one import: no files, no threads.
import VaultStream

struct Unexpected: Error {}

func check(_ isTrue: Bool) throws {
    if !isTrue { throw Unexpected() }
}

extension [UInt8] {
    /// Copies bytes that are lent for the length of a call.
    mutating func take(_ bytes: Span<UInt8>) {
        for index in bytes.indices { append(bytes[index]) }
    }
}

func streams() throws {
    let text = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let key = try SymmetricKey.generate()
    let passphrase = try Passphrase("correct horse")
    let cost = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)

    var options = SealOptions()
    options.context = try Context("outside")
    options.digest = true
    var container: [UInt8] = []
    var writer = try VaultWriter(for: [.key(key), .passphrase(passphrase, cost)], options: options)
    try writer.write(text.span) { container.take($0) }
    let manifest = try writer.finish { container.take($0) }

    for credentials in [
        Credentials.key(key, context: options.context), .passphrase(passphrase, context: options.context),
    ] {
        var plaintext: [UInt8] = []
        var reader = VaultReader(with: credentials)
        try reader.push(container.span) { plaintext.take($0) }
        let opened = try reader.finish()
        try check(plaintext == text && opened.manifest == manifest && opened.health == .intact)
    }

    do {
        var reader = VaultReader(with: .key(try SymmetricKey.generate()))
        try reader.push(container.span) { _ in }
        throw Unexpected()
    } catch let error as VaultError {
        try check(error.code == .wrongKey)
    }
}

try streams()
