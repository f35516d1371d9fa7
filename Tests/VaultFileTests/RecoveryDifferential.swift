import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Compares recovery with the reference's, on containers changed in every way that a disk or an attacker could change
/// them.
@Suite struct RecoveryDifferential {
    private static let rounds = 400

    /// A valid container, and what opens it.
    private struct Origin {
        let container: [UInt8]
        let key: [UInt8]
        let passphrase: String?
        let context: [UInt8]
        /// Intact header copies that lead elsewhere or nowhere.
        let decoys: [[UInt8]]
        let capacity: Int

        func provider() throws -> KeySet {
            KeySet(keys: [testKey(key)], passphrases: passphrase.map { [testPassphrase($0)] } ?? [])
        }
    }

    private static func origin(_ random: inout SeededRandom) throws -> Origin {
        let capacity = random.pick([512, 512, 1024, 4096, 8192])
        let key = [UInt8](repeating: 7, count: 32)
        let context = random.below(4) == 0 ? [UInt8]("somewhere".utf8) : []
        func forge() throws -> Forge {
            try Forge(
                seed: random.next(), capacity: .capacity(capacity), context: try Context(context))
        }
        let forge1 = try forge()
        let size = random.pick([0, 1, 100, 4096, 4097, 3 * 4096, 5 * 4096 + 77, 9 * 4096 - 1])
        let byPassphrase = random.below(5) == 0
        let passphrase = byPassphrase ? "open sesame" : nil
        let slot = try byPassphrase ? forge1.slot(testPassphrase("open sesame")) : forge1.slot(testKey(key))
        let other = try forge1.slot(testKey(9))
        let front = forge1.header([other, slot], generation: 3)
        let tail = random.below(3) == 0 ? forge1.header([slot], generation: 4) : front
        var metadata = Metadata()
        if random.below(2) == 0 { metadata.name = "a name" }
        let container = try forge1.container(
            randomBytes(size, seed: random.next()), front: front, tail: tail, metadata: metadata)
        let forge2 = try forge()
        let decoys = try [
            // From another container under the same key, from one under a foreign key, and of an older state.
            forge2.header([forge2.slot(testKey(key))]), forge2.header([forge2.slot(testKey(9))]),
            forge1.header([other], generation: 9), forge1.header([slot], generation: 1),
            // A slot that opens, in a copy that no holder of the key made.
            withChecksum(Self.changed(front, at: 71)), withChecksum(Self.changed(front, at: 9)),
            withChecksum(Self.changed(front, at: 67 - 3)),
        ]
        return Origin(
            container: container, key: key, passphrase: passphrase, context: context, decoys: decoys,
            capacity: capacity)
    }

    private static func changed(_ bytes: [UInt8], at place: Int) -> [UInt8] {
        var bytes = bytes
        bytes[place] ^= 1
        return bytes
    }

    private static func change(_ bytes: inout [UInt8], _ origin: Origin, _ random: inout SeededRandom) {
        guard bytes.count > 600 else { return }
        guard random.below(12) > 0 else { return leaveOnlyADecoy(&bytes, origin, &random) }
        let stride = 4096 + 20
        let records = (bytes.count - origin.capacity) / stride
        let place = random.below(bytes.count)
        func overwrite(_ part: [UInt8], at start: Int) {
            for (index, byte) in part.enumerated() where start + index < bytes.count { bytes[start + index] = byte }
        }
        switch random.below(16) {
        case 0: for _ in 0...random.below(20) { bytes[random.below(bytes.count)] ^= 1 << random.below(8) }
        case 1: overwrite([UInt8](repeating: 0, count: 512), at: place / 512 * 512)
        case 2: overwrite(random.bytes(min(bytes.count, 1 + random.below(3 * stride))), at: place)
        case 3: overwrite([UInt8](repeating: 0, count: origin.capacity), at: 0)
        case 4: overwrite([UInt8](repeating: 0, count: 32), at: bytes.count - 32)
        case 5: bytes.removeLast(random.below(min(bytes.count, 2 * origin.capacity + 2000)))
        case 6: bytes.removeLast(random.below(bytes.count))
        case 7: bytes += random.bytes(random.below(5000))
        case 8: overwrite(random.pick(origin.decoys), at: place / 512 * 512)
        case 9: overwrite(random.pick(origin.decoys), at: random.below(2) == 0 ? 0 : place)
        case 10:
            bytes.pad(to: (bytes.count + 4095) / 4096 * 4096)
            bytes += random.pick(origin.decoys)
        case 11 where records > 0:
            // The head of a record states another length or another type.
            let record = origin.capacity + random.below(records + 1) * stride
            overwrite(
                random.pick([[1, 0, 0, 5], [2, 0, 2, 0], [2, 0, 16, 0], [1, 0, 16, 0], [0, 0, 0, 0]]), at: record)
        case 12 where records > 1:
            let (one, two) = (random.below(records), random.below(records))
            let start = origin.capacity + one * stride
            let part = [UInt8](bytes[start..<start + stride])
            overwrite(part, at: origin.capacity + two * stride)
        case 13: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.below(2 * stride)))
        case 14: bytes.insert(contentsOf: random.bytes(random.pick([1, 20, 512, stride])), at: place)
        default: bytes = bytes + origin.container
        }
    }

    /// Only a header copy is left that leads elsewhere or nowhere.
    private static func leaveOnlyADecoy(_ bytes: inout [UInt8], _ origin: Origin, _ random: inout SeededRandom) {
        let decoy = random.pick(origin.decoys)
        let end = max(origin.capacity, bytes.count - origin.capacity - 32)
        for index in 0..<min(origin.capacity, bytes.count) { bytes[index] = 0 }
        if end < bytes.count { bytes.removeSubrange(end...) }
        bytes.replaceSubrange(0..<min(decoy.count, bytes.count), with: decoy)
    }

    @Test(arguments: [2028, 2029] as [UInt64]) func asTheReference(_ seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var random = SeededRandom(seed: seed)
        var requests: [Reference.Request] = []
        var cases: [(origin: Origin, container: [UInt8], named: UInt64?)] = []
        for number in 0..<Self.rounds {
            let origin = try Self.origin(&random)
            var container = origin.container
            for _ in 0..<random.pick([1, 1, 2, 3, 5]) { Self.change(&container, origin, &random) }
            let named = random.below(6) == 0 ? UInt64(random.below(max(1, container.count)) / 512 * 512) : nil
            try folder.write(container, to: "\(number)")
            var request = Reference.Request()
            request.input = folder["\(number)"].string
            request.reader = "recover"
            request.keys = [origin.key.hexDigits]
            if let passphrase = origin.passphrase { request.passphrases = [[UInt8](passphrase.utf8).hexDigits] }
            if !origin.context.isEmpty { request.context = origin.context.hexDigits }
            request.headerOffset = named
            request.maxMemoryKiB = Sample.limits.maximumMemoryKiB
            requests.append(request)
            cases.append((origin, container, named))
        }
        var classes: [String: Int] = [:]
        for (number, (one, answer)) in zip(cases, try Reference.answers(to: requests)).enumerated() {
            var options = RecoveryOptions()
            options.headerOffset = one.named
            let here = try Recovering(
                one.container, keys: try one.origin.provider(), context: try Context(one.origin.context),
                limits: Sample.limits, options: options)
            let about: Comment = "round \(number) of seed \(seed): \(here.result), \(answer)"
            #expect(answer.error == here.code?.name, about)
            #expect(answer.plaintextLength == here.plaintext.count, about)
            #expect(answer.plaintextSHA256 == sha256(here.plaintext).hexDigits, about)
            classes[answer.error ?? (answer.complete == true ? "complete" : "incomplete"), default: 0] += 1
            guard let recovered = here.recovered else { continue }
            #expect(answer.complete == (recovered.manifest != nil), about)
            #expect(answer.lost == here.lost.map { [$0.lowerBound, $0.upperBound] }, about)
            #expect(answer.headerOffset == recovered.header.offset, about)
            #expect(answer.manifestLength == recovered.manifest?.plaintextLength, about)
            #expect(answer.name == recovered.manifest?.metadata.name.map { [UInt8]($0.utf8).hexDigits }, about)
            #expect(recovered.length == UInt64(here.plaintext.count), about)
            #expect(recovered.lostLength == here.lost.reduce(0) { $0 + UInt64($1.count) }, about)
        }
        // Changes that all give the same result would be useless.
        for name in ["complete", "incomplete", "headerDamaged", "headerForged", "wrongKey", "copiesDisagree"] {
            #expect(classes[name, default: 0] > 2, "\(classes)")
        }
    }

    /// The vectors are inputs of an attacker; most of them do not open.
    @Test func vectors() throws {
        let folder = try TemporaryFolder()
        // Invalid keys are refused before anything is read.
        let vectors = Vector.all.filter { (try? $0.keys()) != nil && (try? $0.context()) != nil && !$0.hasIdentities }
        var requests: [Reference.Request] = []
        for (number, vector) in vectors.enumerated() {
            try folder.write(vector.container, to: "\(number)")
            var request = Reference.Request()
            request.input = folder["\(number)"].string
            request.reader = "recover"
            request.keys = vector.values("key")
            request.passphrases = vector.values("passphrase")
            request.context = vector.value("context")
            request.maxMemoryKiB = Sample.limits.maximumMemoryKiB
            requests.append(request)
        }
        var recovered = 0
        for (vector, answer) in zip(vectors, try Reference.answers(to: requests)) {
            let here = try Recovering(
                vector.container, keys: try vector.keys(), context: try vector.context(), limits: Sample.limits)
            let about: Comment = "\(vector.name): \(here.result), \(answer)"
            #expect(answer.error == here.code?.name, about)
            #expect(answer.plaintextSHA256 == sha256(here.plaintext).hexDigits, about)
            if here.recovered != nil { recovered += 1 }
            #expect(answer.lost ?? [] == here.lost.map { [$0.lowerBound, $0.upperBound] }, about)
            #expect(answer.headerOffset == here.recovered?.header.offset, about)
            #expect(answer.complete == here.recovered.map { $0.manifest != nil }, about)
        }
        #expect(recovered > 200)
    }
}
