import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Compares this implementation with the reference, in both directions, with random parameters.
@Suite struct ReferenceTests {
    private static let rounds = 150
    private static let readers = ["stream", "seek", "whole"]

    /// The random parameters of one container.
    private struct Draw {
        let number: Int
        let seed: UInt64
        let plaintext: [UInt8]
        let chunk: ChunkSize
        let capacity: HeaderCapacity?
        let keys: [[UInt8]]
        let passphrases: [[UInt8]]
        let context: [UInt8]
        let digest: Bool
        let compression: Compression
        var metadata = Metadata()

        init(number: Int, seed: UInt64, random: inout SeededRandom) throws {
            self.number = number
            self.seed = seed
            chunk = try #require(
                ChunkSize(bytes: 1 << (12 + (random.below(8) == 0 ? random.below(12) : random.below(4)))))
            let border = random.below(4) * min(chunk.bytes, 1 << 16)
            let sizes = [border, border + 1, max(0, border - 1), random.below(100), random.below(100_000)]
            compression = random.below(2) == 0 ? .deflate : .none
            let count = random.pick(sizes)
            plaintext =
                compression == .none ? randomBytes(count, seed: random.next()) : mixedBytes(count, seed: random.next())
            capacity = random.below(3) == 0 ? .capacity(1 << (12 + random.below(6))) : nil
            let isByPassphrase = random.below(4) == 0
            keys = (0..<(isByPassphrase ? 0 : 1) + random.below(4)).map { _ in randomBytes(32, seed: random.next()) }
            passphrases = (0..<(isByPassphrase ? 1 : 0) + random.below(10) / 9).map { _ in
                randomBytes(1 + random.below(40), seed: random.next())
            }
            context = random.below(2) == 0 ? [] : randomBytes(random.below(300), seed: random.next())
            digest = random.below(2) == 0
            if random.below(2) == 0 { metadata.name = random.pick(["a", "Grüße.txt", "日本", "x y"]) }
            if random.below(3) == 0 { metadata.contentType = random.pick(["text/plain", "~", " "]) }
            if random.below(2) == 0 {
                metadata.modified = Timestamp(
                    seconds: Int64(bitPattern: random.next()), nanoseconds: UInt32(random.below(1_000_000_000)))
            }
            if random.below(2) == 0 { metadata.permissions = UInt16(random.below(0o1000)) }
        }

        var about: Comment { "round \(number) of seed \(seed)" }

        func options() throws -> SealOptions {
            var options = SealOptions(
                chunk: chunk, capacity: capacity, digest: digest, context: try Context(context),
                compression: compression)
            options.metadata = metadata
            return options
        }

        /// One of the secrets.
        func request(secret: Int) -> Reference.Request {
            var request = Reference.Request()
            if secret < keys.count {
                request.keys = [keys[secret].hexDigits]
            } else {
                request.passphrases = [passphrases[secret - keys.count].hexDigits]
            }
            if !context.isEmpty { request.context = context.hexDigits }
            return request
        }

        func provider(secret: Int) throws -> KeySet {
            if secret < keys.count { return KeySet(keys: [testKey(keys[secret])]) }
            let passphrase = passphrases[secret - keys.count]
            return KeySet(passphrases: [try Passphrase(bytes: passphrase.span)])
        }

        var secretCount: Int { keys.count + passphrases.count }
    }

    private static func draws(seed: UInt64) throws -> [Draw] {
        var random = SeededRandom(seed: seed)
        return try (0..<rounds).map { try Draw(number: $0, seed: seed, random: &random) }
    }

    @Test func writtenHere() throws {
        let folder = try TemporaryFolder()
        let draws = try Self.draws(seed: 2026)
        let cost = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        var random = SeededRandom(seed: 1)
        var requests: [Reference.Request] = []
        for draw in draws {
            var recipients = draw.keys.map { Recipient.key(testKey($0)) }
            for passphrase in draw.passphrases {
                recipients.append(.passphrase(try Passphrase(bytes: passphrase.span), cost))
            }
            let container = try sealed(
                draw.plaintext, for: recipients, options: draw.options(), piece: 1 + random.below(1 << 17))
            try folder.write(container, to: "\(draw.number)")
            for reader in Self.readers {
                var request = draw.request(secret: random.below(draw.secretCount))
                request.input = folder["\(draw.number)"].string
                request.reader = reader
                requests.append(request)
            }
        }
        let answers = try Reference.answers(to: requests)
        for (index, answer) in answers.enumerated() {
            let draw = draws[index / Self.readers.count]
            let digest = sha256(draw.plaintext).hexDigits
            #expect(answer.result == "intact", "\(draw.about): \(answer)")
            #expect(answer.plaintextSHA256 == digest && answer.plaintextLength == draw.plaintext.count, draw.about)
            #expect(answer.digest == (draw.digest ? digest : nil), draw.about)
            let metadata = draw.metadata
            #expect(answer.name == metadata.name.map { [UInt8]($0.utf8).hexDigits }, draw.about)
            #expect(answer.contentType == metadata.contentType.map { [UInt8]($0.utf8).hexDigits }, draw.about)
            #expect(answer.modified == metadata.modified.map { [$0.seconds, Int64($0.nanoseconds)] }, draw.about)
            #expect(answer.mode == metadata.permissions.map { String($0, radix: 8) }, draw.about)
        }
    }

    @Test func writtenThere() throws {
        let folder = try TemporaryFolder()
        let draws = try Self.draws(seed: 2027)
        var random = SeededRandom(seed: 2)
        var requests: [Reference.Request] = []
        for draw in draws {
            try folder.write(draw.plaintext, to: "\(draw.number).plain")
            var request = draw.request(secret: 0)
            request.operation = "encrypt"
            request.input = folder["\(draw.number).plain"].string
            request.output = folder["\(draw.number)"].string
            request.keys = draw.keys.map(\.hexDigits)
            request.passphrases = draw.passphrases.map(\.hexDigits)
            (request.passes, request.memoryKiB) = (1 + random.below(2), 8 + random.below(64))
            request.log2Chunk = Int(draw.chunk.log2)
            request.compression = Int(draw.compression.rawValue)
            request.capacity = draw.capacity?.bytes
            request.generation = UInt32(1 + random.below(5))
            request.digest = draw.digest
            request.name = draw.metadata.name.map { [UInt8]($0.utf8).hexDigits }
            request.contentType = draw.metadata.contentType.map { [UInt8]($0.utf8).hexDigits }
            request.modified = draw.metadata.modified.map { [$0.seconds, Int64($0.nanoseconds)] }
            request.mode = draw.metadata.permissions.map { String($0, radix: 8) }
            request.otherSlots = (0..<random.below(3)).map { _ in
                .init(
                    type: 3 + random.below(0xFFFC), id: random.bytes(16).hexDigits,
                    body: random.bytes(random.below(60)).hexDigits)
            }
            requests.append(request)
        }
        for (draw, answer) in zip(draws, try Reference.answers(to: requests)) {
            #expect(answer.result == "written", "\(draw.about): \(answer)")
            let container = try folder.read("\(draw.number)")
            for kind in ReaderKind.allCases {
                let secret = random.below(draw.secretCount)
                let reading = try read(
                    container, by: kind, keys: draw.provider(secret: secret), context: Context(draw.context),
                    piece: 1 + random.below(1 << 17))
                #expect(reading.health == .intact, "\(draw.about): \(reading.result)")
                #expect(reading.plaintext == draw.plaintext, draw.about)
                let manifest = reading.opened?.manifest
                #expect(manifest?.metadata == draw.metadata, draw.about)
                #expect(reading.opened?.header.compression == draw.compression, draw.about)
                #expect(manifest?.digest == (draw.digest ? sha256(draw.plaintext) : nil), draw.about)
                #expect(reading.opened?.header.slots.count ?? 0 >= draw.secretCount, draw.about)
            }
        }
    }

    // MARK: Its own checks

    @Test(arguments: [
        ("Spec/reference/known_answers.py", [], "failed"), ("Spec/reference/check_vectors.py", [], "failed"),
        ("Spec/vectors/generate.py", ["--check"], "vectors"),
    ]) func ownChecks(_ script: String, _ arguments: [String], _ expected: String) throws {
        // A failed check is an error, which is thrown here.
        let said = String(decoding: try Reference.run(script, arguments), as: UTF8.self)
        #expect(said.contains(expected), "\(said)")
        if expected == "failed" { #expect(said.contains("passed, 0 failed"), "\(said)") }
    }
}
