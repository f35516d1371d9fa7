import VaultFile

extension Sample {
    /// One small container of each kind: first those with one record of 100 bytes and a header of 512, then larger
    /// ones. Passphrases have as little stretching as readers allow.
    package static let all = small + large

    package static let small: [Sample] = {
        do {
            return try [
                symmetric(), passphrase(), context(), digest(), metadata(), twoSlots(),
            ]
        } catch {
            fatalError("\(error)")
        }
    }()

    package static let large: [Sample] = {
        do {
            return try [largeHeader(), threeRecords(), empty(), packed(), packedEmpty()]
        } catch {
            fatalError("\(error)")
        }
    }()

    private static let text = randomBytes(100, seed: 7)

    /// The container that most tests change: a header of 512 bytes, one key, a text of 100 bytes.
    package static func symmetric() throws -> Sample {
        try Sample(
            "symmetric", sealed(text, options: SealOptions(chunk: .minimum)), plaintext: text,
            keys: KeySet(keys: [testKey(1)]))
    }

    package static func passphrase() throws -> Sample {
        let passphrase = testPassphrase("correct horse")
        let forge = try Forge(seed: 20)
        let header = forge.header([try forge.slot(passphrase)])
        return try Sample(
            "passphrase", forge.container(text, front: header), plaintext: text,
            keys: KeySet(passphrases: [passphrase]))
    }

    private static func context() throws -> Sample {
        let context = testContext("a purpose")
        let options = SealOptions(chunk: .minimum, context: context)
        return try Sample(
            "context", sealed(text, options: options), plaintext: text, keys: KeySet(keys: [testKey(1)]),
            context: context)
    }

    private static func digest() throws -> Sample {
        try Sample(
            "digest", sealed(text, options: SealOptions(chunk: .minimum, digest: true)), plaintext: text,
            keys: KeySet(keys: [testKey(1)]))
    }

    private static func metadata() throws -> Sample {
        var options = SealOptions(chunk: .minimum)
        options.metadata.name = "a name"
        options.metadata.contentType = "text/plain"
        options.metadata.modified = Timestamp(seconds: -1, nanoseconds: 999_999_999)
        options.metadata.permissions = 0o640
        return try Sample(
            "metadata", sealed(text, options: options), plaintext: text, keys: KeySet(keys: [testKey(1)]))
    }

    private static func twoSlots() throws -> Sample {
        let forge = try Forge(seed: 30)
        let slots = [try forge.slot(testKey(2)), try forge.slot(testPassphrase("p"))]
        return try Sample(
            "two slots", forge.container(text, front: forge.header(slots)), plaintext: text,
            keys: KeySet(keys: [testKey(2)], passphrases: [testPassphrase("p")]))
    }

    private static func largeHeader() throws -> Sample {
        let options = SealOptions(chunk: .minimum, capacity: .capacity(4096))
        return try Sample(
            "4096", sealed(text, options: options), plaintext: text, keys: KeySet(keys: [testKey(1)]))
    }

    private static func threeRecords() throws -> Sample {
        let text = randomBytes(2 * 4096 + 5, seed: 8)
        return try Sample(
            "three records", sealed(text, options: SealOptions(chunk: .minimum)), plaintext: text,
            keys: KeySet(keys: [testKey(1)]))
    }

    private static func packed() throws -> Sample {
        let text = [UInt8](repeating: 65, count: 4096) + randomBytes(4096, seed: 9) + [UInt8](repeating: 66, count: 5)
        let options = SealOptions(chunk: .minimum, digest: true, compression: .deflate)
        return try Sample(
            "packed", sealed(text, options: options), plaintext: text, keys: KeySet(keys: [testKey(1)]))
    }

    private static func packedEmpty() throws -> Sample {
        let options = SealOptions(chunk: .minimum, compression: .deflate)
        return try Sample(
            "packed empty", sealed([], options: options), plaintext: [], keys: KeySet(keys: [testKey(1)]))
    }

    private static func empty() throws -> Sample {
        try Sample(
            "empty", sealed([], options: SealOptions(chunk: .minimum)), plaintext: [],
            keys: KeySet(keys: [testKey(1)]))
    }
}
