import Testing
import VaultFile
import VaultTestSupport

/// Tests the fuzzer's own tools: a mutator whose results fail at the first tag finds nothing behind it.
@Suite struct MutationTests {
    private static let fileKey = randomBytes(32, seed: 41)

    /// A container that the mutator can seal again, also with a passphrase.
    private static func input(_ text: [UInt8], compression: Compression = .none) throws -> [UInt8] {
        let forge = try Forge(
            fileKey: fileKey, fileID: randomBytes(16, seed: 40), chunkSize: .minimum, compression: compression)
        let front = forge.header([try forge.slot(testKey(1)), try forge.slot(testPassphrase("p"))])
        let container: [UInt8]
        if compression == .deflate {
            let packed = try PackedItems(text, chunk: 4096)
            container = forge.container(
                packed: packed.bytes, plaintextLength: UInt64(text.count), indexOffsets: packed.indexOffsets,
                front: front)
        } else {
            container = try forge.container(text, front: front)
        }
        let head = """
            key: \([UInt8](repeating: 1, count: 32).hexDigits)
            passphrase: \([UInt8]("p".utf8).hexDigits)
            file-key: \(fileKey.hexDigits)


            """
        return [UInt8](head.utf8) + container
    }

    @Test(arguments: [Compression.none, .deflate]) func whatIsTakenApartGoesTogetherAgain(
        _ compression: Compression
    ) throws {
        let text = mixedBytes(9000, seed: 3)
        let input = try #require(FuzzInput(try Self.input(text, compression: compression)))
        let parts = try #require(
            UnsealedContainer(input.container, fileKey: Self.fileKey, secrets: input.secrets))
        #expect(parts.records.allSatisfy { $0.tag == nil })
        #expect(try parts.sealed(.all) == input.container)
        #expect(try parts.sealed([]) == input.container)
    }

    /// Another text, sealed again, is what the readers give.
    @Test func whatIsChangedBehindTheTagsComesOut() throws {
        let input = try #require(FuzzInput(try Self.input(randomBytes(100, seed: 5))))
        var parts = try #require(
            UnsealedContainer(input.container, fileKey: Self.fileKey, secrets: input.secrets))
        parts.records[0].text = randomBytes(77, seed: 6)
        parts.front.put(randomBytes(16, seed: 7), at: 16)
        let changed = try #require(FuzzInput(input.head + (try parts.sealed(.all))))
        let reading = try changed.streamed(piece: 100)
        #expect(reading.health == .intact)
        #expect(reading.plaintext == randomBytes(77, seed: 6))
    }

    /// An inserted private slot opens with the keys of the targets.
    @Test func aPrivateSlotIsSealedToo() throws {
        let input = try #require(FuzzInput(try Self.input(randomBytes(100, seed: 12))))
        var parts = try #require(
            UnsealedContainer(input.container, fileKey: Self.fileKey, secrets: input.secrets))
        let slot = FuzzKeys.privateHead(randomBytes(8, seed: 13)) + randomBytes(72, seed: 14)
        (parts.front.slots, parts.tail.slots) = ([slot], [slot])
        for (repairs, code) in [(Repairs.all, nil), (Repairs.all.subtracting(.slots), VaultError.Code.wrongKey)] {
            let changed = try #require(FuzzInput(input.head + (try parts.sealed(repairs))))
            #expect(try changed.streamed(piece: 100).code == code)
        }
    }

    /// An inserted slot of a recipient opens with their identity, also in a container with another ID.
    @Test(arguments: [3, 4, 5] as [UInt16], [true, false]) func aSlotOfARecipientIsSealedToo(
        _ type: UInt16, isHidden: Bool
    ) throws {
        let plain = try #require(FuzzInput(try Self.input(randomBytes(100, seed: 15))))
        var random = SeededRandom(seed: 16)
        var head = plain.head(with: [], inPlaceOf: ["key", "passphrase"])
        for _ in 0..<40 {
            let grown = try #require(FuzzInput(head: head, plain.container))
            head = RecipientSlots.withIdentity(grown, &random)
        }
        let input = try #require(FuzzInput(head: head, plain.container))
        var parts = try #require(
            UnsealedContainer(input.container, fileKey: Self.fileKey, secrets: input.secrets))
        var slot: [UInt8] = []
        repeat {
            slot = parts.recipientSlots.made(&random)
        } while slot[1] != type || type == 5 && RecipientSlots.stanzas(slot) == nil
        let kind = SlotDescription.Kind(type: type)
        let recipient =
            input.secrets.identities.first { $0.publicKey.kind == kind }?.publicKey.fingerprint
            ?? input.secrets.plugins.first?.knownRecipients.first?.fingerprint
        let id = Forge.slotID(of: try #require(recipient), preamble: [UInt8](input.container.prefix(64)))
        slot.replaceSubrange(4..<20, with: isHidden ? [UInt8](repeating: 0, count: 16) : id)
        (parts.front.slots, parts.tail.slots) = ([slot], [slot])
        parts.front.put(randomBytes(16, seed: 17), at: 16)
        parts.front.makeRoom()
        parts.tail.makeRoom()
        if let answered = RecipientSlots.withAnswers(input, parts, &random) {
            head = answered
            parts.secrets = try #require(FuzzInput.Secrets.of(head))
        }
        for (repairs, code) in [(Repairs.all, nil), (Repairs.all.subtracting(.slots), VaultError.Code.wrongKey)] {
            let changed = try #require(FuzzInput(head + (try parts.sealed(repairs))))
            #expect(try changed.streamed(piece: 100).code == code)
        }
    }

    /// Every health soon occurs, and every error of a reader except those for a caller's arguments: in a stream, or in
    /// a reader of files, which alone can open a container without a front.
    @Test func mutationsReachEveryCheck() throws {
        var missing: Set<String> = [
            "notVaultfile", "unsupportedVersion", "unsupportedSuite", "unsupportedCompression", "unsupportedFlags",
            "headerDamaged", "headerMalformed", "copiesDisagree", "wrongKey", "headerForged", "recordDamaged",
            "manifestMalformed", "unsupportedMember", "manifestMismatch", "contentMismatch", "packingMalformed",
            "paddingNotZero", "footerDamaged", "truncated", "trailingData", "intact", "rotationUnfinished",
            "copiesConflict", "tailDamaged", "frontDamaged", "limitExceeded",
        ]
        var random = SeededRandom(seed: 11)
        var first = [
            try Self.input(mixedBytes(5000, seed: 8)), try Self.input(mixedBytes(9000, seed: 9), compression: .deflate),
        ]
        // For a caller who has only the passphrase, and opens nothing if its slot costs too much.
        let whole = try #require(FuzzInput(first[0]))
        first.append(whole.head(with: [], inPlaceOf: ["key"]) + whole.container)
        for round in 0..<20_000 where !missing.isEmpty {
            var bytes = first[round % first.count]
            for _ in 0...random.below(3) {
                bytes = ContainerMutation.mutate(
                    bytes, &random, change: Self.change(seed: random.next()), limit: 20_000)
            }
            let input = try #require(FuzzInput(bytes))
            let whole = try read(
                input.container, by: .whole, keys: input.secrets.keys, context: input.secrets.context,
                limits: FuzzInput.limits)
            for reading in [try input.streamed(piece: 4096), whole] {
                missing.remove(reading.health?.rawValue ?? reading.code?.name ?? "")
            }
        }
        #expect(missing.isEmpty)
    }

    /// Changes a few bytes, and sometimes the length.
    private static func change(seed: UInt64) -> ByteChange {
        { bytes, limit in
            var random = SeededRandom(seed: seed)
            var bytes = bytes
            for _ in 0...random.below(3) where !bytes.isEmpty {
                bytes[random.below(bytes.count)] = UInt8(random.below(256))
            }
            if random.below(4) == 0 { bytes += random.bytes(random.below(20)) }
            if random.below(4) == 0 { bytes.removeLast(random.below(bytes.count + 1)) }
            return [UInt8](bytes.prefix(limit))
        }
    }
}
