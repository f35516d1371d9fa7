import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// Records and manifests that break the rules, made with the key or without it.
@Suite(.bothEngines) struct RecordRules {
    private let forge: Forge
    private let front: [UInt8]
    private let text = randomBytes(3 * 4096, seed: 40)

    init() throws {
        forge = try Forge(seed: 95)
        front = forge.header([try forge.slot(testKey(1))])
    }

    private func manifest(_ length: Int, index: UInt64) -> [UInt8] {
        let manifest = Manifest(plaintextLength: UInt64(length), digest: nil, metadata: Metadata())
        return forge.record(manifest.encoded(commitment: forge.preamble.commitment), kind: .manifest, index: index)
    }

    private func data(_ count: Int, index: UInt64, from start: Int = 0) -> [UInt8] {
        forge.record([UInt8](text[start..<start + count]), kind: .data, index: index)
    }

    /// - Returns: The error code of each reader.
    private func codes(_ records: [UInt8], _ end: [UInt8]) throws -> [VaultError.Code?] {
        let container = forge.assemble(records, end, front: front)
        return try ReaderKind.allCases.map { kind in
            let reading = try read(container, by: kind)
            #expect(text.starts(with: reading.plaintext))
            return reading.code
        }
    }

    @Test func asTheyShouldBe() throws {
        #expect(try codes(data(50, index: 0), manifest(50, index: 1)) == [nil, nil, nil])
        #expect(try codes([], manifest(0, index: 0)) == [nil, nil, nil])
        let two = data(4096, index: 0) + data(1, index: 1, from: 4096)
        #expect(try codes(two, manifest(4097, index: 2)) == [nil, nil, nil])
    }

    /// A short record in the middle, and one too many.
    @Test func shortRecords() throws {
        let short = data(50, index: 0) + data(4096, index: 1, from: 50)
        #expect(try codes(short, manifest(4146, index: 2)).allSatisfy { $0 == .recordDamaged })
        let many = data(50, index: 0) + data(50, index: 1, from: 50)
        #expect(try codes(many, manifest(100, index: 2)).first == .recordDamaged)
        #expect(try codes(many, manifest(100, index: 2)).allSatisfy { $0 != nil })
    }

    @Test func lengthsOutOfRange() throws {
        for count in [0, 4097, 8192] {
            let records = data(count, index: 0)
            let codes = try codes(records, manifest(count, index: 1))
            #expect(codes.first == .recordDamaged && codes.allSatisfy { $0 != nil }, "\(count)")
        }
        for count in [0, 1, 511, 513, 1 << 20 + 512] {
            let end = forge.record([UInt8](repeating: 0, count: count), kind: .manifest, index: 0)
            let seeking: VaultError.Code = count < 500 ? .truncated : .footerDamaged
            #expect(try codes([], end) == [.recordDamaged, seeking, seeking], "\(count)")
        }
    }

    @Test func typesAndIndexes() throws {
        for type: UInt8 in [0, 2, 3, 0x80, 0xFF] {
            var record = data(50, index: 0)
            record[0] = type
            #expect(try codes(record, manifest(50, index: 1)).allSatisfy { $0 == .recordDamaged }, "\(type)")
        }
        #expect(try codes(data(50, index: 1), manifest(50, index: 1)).allSatisfy { $0 == .recordDamaged })
        #expect(try codes(data(50, index: 0), manifest(50, index: 0)).allSatisfy { $0 == .recordDamaged })
        #expect(try codes(data(50, index: 0), manifest(50, index: 2)).allSatisfy { $0 == .recordDamaged })
        // A manifest in place of data, and data in place of the manifest.
        let end = manifest(0, index: 0)
        #expect(try codes(end, manifest(512, index: 1)).allSatisfy { $0 != nil })
        #expect(try codes([], data(512, index: 0)).allSatisfy { $0 != nil })
    }

    @Test func lengthInTheManifest() throws {
        for length in [0, 49, 51, 4096, .max] {
            let codes = try codes(data(50, index: 0), manifest(length, index: 1))
            #expect(codes.allSatisfy { $0 == .manifestMismatch }, "\(length)")
        }
    }

    /// Without a key an attacker can cut bytes off the last record and move everything after it: the manifest still
    /// opens at its index. A seeking reader notices this when it opens.
    @Test func cutByAnOutsider() throws {
        let records = data(4096, index: 0) + data(100, index: 1, from: 4096)
        for count in [1, 50, 99, 120, 200] {
            var cut = records
            cut.removeLast(count)
            let container = forge.assemble(cut, manifest(4196, index: 2), front: front)
            #expect(try read(container, by: .stream).error != nil)
            #expect(throws: VaultError.self) {
                try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
            }
        }
    }

    /// The manifest of another header copy.
    @Test func otherCommitment() throws {
        let manifest = Manifest(plaintextLength: 50, digest: nil, metadata: Metadata())
        let text = manifest.encoded(commitment: [UInt8](repeating: 0, count: 32))
        let end = forge.record(text, kind: .manifest, index: 1)
        #expect(try codes(data(50, index: 0), end).allSatisfy { $0 == .manifestMalformed })
    }

    /// Whatever else a holder of the key puts into a container, the other readers accept what a stream accepts.
    @Test func randomParts() throws {
        var random = SeededRandom(seed: 11)
        var opened = 0
        for _ in 0..<600 {
            var (records, total) = ([UInt8](), 0)
            let count = random.below(3)
            for index in 0..<count {
                let length = random.pick([4096, 4096, 4096, 1, 100, 4095])
                records += data(length, index: UInt64(index), from: min(total, 4096))
                total += length
            }
            if random.below(4) == 0, !records.isEmpty { records.removeLast(1 + random.below(20)) }
            let end = manifest(max(0, total - random.below(8) / 7), index: UInt64(count + random.below(10) / 9))
            let container = forge.assemble(records, end, front: front)
            let stream = try read(container, by: .stream)
            for kind in [ReaderKind.ranges, .whole] {
                let reading = try read(container, by: kind)
                #expect(reading.agrees(withStream: stream))
                #expect(stream.opened != nil || reading.opened == nil)
            }
            if stream.opened != nil { opened += 1 }
        }
        #expect(opened > 50)
    }
}
