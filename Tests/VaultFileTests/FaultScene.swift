import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// One operation of the library on files of its own, and what must hold afterwards, whatever the system did.
struct FaultScene: Sendable, CustomTestStringConvertible {
    let name: String
    /// The contents of the input, `in` in the folder.
    let input: [UInt8]
    /// The contents of the output; for an operation in place, the contents of the container.
    let plaintext: [UInt8]
    /// Another input of the same kind with other contents, `other` in the folder, which replaces the first one.
    let other: [UInt8]
    let otherPlaintext: [UInt8]
    let kind: Kind
    let body: @Sendable (TemporaryFolder) throws -> Void

    enum Kind: Sendable {
        /// Makes the file `out`, completely or not at all: plaintext, or a container of it.
        case plaintext, container
        /// Only reads.
        case reading
        /// Makes the file `out`, with zeros in place of lost bytes.
        case recovery
        /// Changes the container.
        case inPlace
    }

    var testDescription: String { name }

    static let keys = KeySet(keys: [testKey(1)])

    /// The released bytes are of neither file, or of both.
    struct Mixed: Error {}

    static let all: [FaultScene] = {
        do {
            return try encrypting() + decrypting() + changing()
        } catch {
            fatalError("\(error)")
        }
    }()

    private init(
        _ name: String, _ kind: Kind, _ texts: [[UInt8]], sealing: ([UInt8]) throws -> [UInt8],
        _ body: @escaping @Sendable (TemporaryFolder) throws -> Void
    ) throws {
        self.name = name
        self.kind = kind
        (plaintext, otherPlaintext) = (texts[0], texts[1])
        (input, other) = (try sealing(plaintext), try sealing(otherPlaintext))
        self.body = body
    }

    private static let texts = [randomBytes(5 * 4096 + 100, seed: 60), randomBytes(5 * 4096 + 100, seed: 61)]
    private static let mixedTexts = [mixedBytes(5 * 4096 + 100, seed: 62), mixedBytes(5 * 4096 + 100, seed: 63)]
    private static let shortTexts = texts.map { [UInt8]($0.prefix(100)) }

    private static func options(_ compression: Compression, _ capacity: HeaderCapacity = .capacity(4096)) -> SealOptions
    {
        SealOptions(chunk: .minimum, capacity: capacity, digest: true, compression: compression)
    }

    private static func encrypting() throws -> [FaultScene] {
        try [(Compression.none, "encrypt"), (.deflate, "encrypt, packed")].map { compression, name in
            try FaultScene(name, .container, texts, sealing: { $0 }) { folder in
                try Vault.encryptFile(
                    at: folder["in"], to: folder["out"], for: [.key(testKey(1))], options: options(compression))
            }
        }
    }

    private static func decrypting() throws -> [FaultScene] {
        var scenes: [FaultScene] = []
        for (compression, texts, suffix) in [(Compression.none, texts, ""), (.deflate, mixedTexts, ", packed")] {
            let sealing = { (text: [UInt8]) in try sealed(text, options: options(compression)) }
            scenes += [
                try FaultScene("decrypt" + suffix, .plaintext, texts, sealing: sealing) { folder in
                    try Vault.decryptFile(at: folder["in"], to: folder["out"], with: Credentials(keys))
                },
                try FaultScene("verify" + suffix, .reading, texts, sealing: sealing) { folder in
                    let reader = try SeekableVaultReader(FileSource(at: folder["in"]), with: Credentials(keys))
                    try reader.verify(jobs: 1) { throw $0.error }
                },
                try FaultScene("ranges" + suffix, .reading, texts, sealing: sealing) { folder in
                    let reader = try SeekableVaultReader(FileSource(at: folder["in"]), with: Credentials(keys))
                    var (start, candidates) = (0, texts)
                    try readRanges(reader) { part in
                        let end = start + part.count
                        candidates = candidates.filter { [UInt8](copying: part)[...] == $0[start..<end] }
                        guard !candidates.isEmpty else { throw Mixed() }
                        start = end
                    }
                },
                try FaultScene("recover" + suffix, .recovery, texts, sealing: sealing) { folder in
                    let recovery = try Recovery(FileSource(at: folder["in"]), with: Credentials(keys))
                    let output = try OutputFile(at: folder["out"])
                    _ = try recovery.read(jobs: 1) { try output.write($0) }
                    try output.commit()
                },
            ]
        }
        scenes.append(
            try FaultScene("inspect", .reading, texts, sealing: { try sealed($0, options: options(.none)) }) { folder in
                if let problem = try Inspection(FileSource(at: folder["in"])).problem { throw problem }
            })
        return scenes
    }

    private static func changing() throws -> [FaultScene] {
        let sealing = { (text: [UInt8]) in try sealed(text, options: options(.none)) }
        let forge = try Forge(seed: 62, capacity: .capacity(4096))
        let headers = try [UInt32(1), 2].map { forge.header([try forge.slot(testKey(1))], generation: $0) }
        return [
            try FaultScene("rotate", .inPlace, texts, sealing: sealing) { folder in
                try Vault.rotate(at: folder["in"], KeyChange(adding: [.key(testKey(2))]), with: Credentials(keys))
            },
            try FaultScene(
                "rotate into a new file", .inPlace, shortTexts,
                sealing: { try sealed($0, options: options(.none, .least)) }
            ) { folder in
                let added = (2...6).map { Recipient.key(testKey($0)) }
                try Vault.rotate(at: folder["in"], KeyChange(adding: added), with: Credentials(keys))
            },
            try FaultScene(
                "repair", .inPlace, shortTexts,
                sealing: { try forge.container($0, front: headers[0], tail: headers[1]) }
            ) { folder in
                try Vault.repair(at: folder["in"], with: Credentials(keys))
            },
            try FaultScene("reencrypt", .inPlace, texts, sealing: sealing) { folder in
                try Vault.reencrypt(
                    at: folder["in"], for: [.key(testKey(1)), .key(testKey(2))], with: Credentials(keys))
            },
        ]
    }
}

extension FaultScene {
    func prepare() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(input, to: "in")
        return folder
    }

    /// The error of the operation in a folder, under these faults; nil if it succeeds. Syncs do not wait for the disk.
    ///
    /// - Throws: Errors that are not the library's.
    func run(in folder: TemporaryFolder, under faults: Faults, calls: SystemCalls = .withoutWaiting) throws
        -> VaultError?
    {
        do {
            try SystemCalls.$current.withValue(calls) {
                try faults.during { try body(folder) }
            }
            return nil
        } catch let error as VaultError {
            return error
        }
    }

    /// Checks the folder after the operation has ended.
    ///
    /// - Parameters:
    ///   - texts: The complete outputs that are allowed.
    ///   - mayLeave: Whether a temporary file may remain, because its removal failed.
    func check(
        _ folder: TemporaryFolder, succeeded: Bool, texts: [[UInt8]], mayLeave: Bool = false, _ where: String
    ) throws {
        let names = try folder.names.filter { !(mayLeave && $0.hasPrefix(".vaultfile-")) }
        let made = kind == .reading || kind == .inPlace ? [] : ["out"]
        #expect(Set(names).subtracting(made + ["in", "other"]).isEmpty, "\(`where`)")
        if succeeded { #expect(Set(names).isSuperset(of: made), "\(`where`)") }
        guard names.contains("out") else { return }
        let out = try folder.read("out")
        switch kind {
        case .plaintext:
            #expect(texts.contains(out), "\(`where`)")
        case .container:
            let reading = try VaultTestSupport.read(out, by: .whole)
            #expect(reading.opened != nil && texts.contains(reading.plaintext), "\(`where`)")
        case .recovery:
            #expect(
                texts.contains { text in
                    out.count <= text.count && zip(out, text).allSatisfy { $0 == 0 || $0 == $1 }
                }, "\(`where`)")
        case .reading, .inPlace:
            Issue.record("\(`where`): something was made")
        }
    }

    /// The contents that a key opens in the container that was changed in place.
    func opened(_ folder: TemporaryFolder) throws -> Reading {
        try VaultTestSupport.read(folder.read("in"), by: .whole)
    }
}
