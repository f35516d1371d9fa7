import Testing
import VaultCrypto
import VaultFormat
import VaultStream
import VaultTestSupport

/// What the rules ask for and refuse, without a cipher, a reader or a container: they are given heads, lengths and
/// verdicts.
@Suite struct StreamRulesTests {
    private let forge: Forge
    private let front: HeaderCopy
    private static let chunk = 4096

    init() throws {
        forge = try Forge(seed: 17)
        front = try HeaderCopy(parsing: forge.header([try forge.slot(testKey(1))]))
    }

    // MARK: Steps

    private func atRecords(_ front: HeaderCopy? = nil) throws -> StreamRules {
        let front = front ?? self.front
        var rules = StreamRules()
        try rules.take(prefix: front.bytes.prefix(HeaderCopy.prefixCount))
        rules.open(try rules.parse(header: front.bytes, isIntact: true))
        return rules
    }

    private func head(_ kind: RecordHead.Kind, _ length: Int) -> [UInt8] {
        let head = RecordHead(kind: kind, length: length).bytes
        return [head.0, head.1, head.2, head.3]
    }

    private func atManifest(behind lengths: [Int]) throws -> StreamRules {
        var rules = try atRecords()
        for length in lengths {
            try rules.take(recordHead: head(.data, length)[...])
            _ = rules.takeDataRecord()
        }
        try rules.take(recordHead: head(.manifest, 512)[...])
        return rules
    }

    private func manifest(_ length: Int, digest: [UInt8]? = nil) -> Manifest {
        Manifest(plaintextLength: UInt64(length), digest: digest, metadata: Metadata())
    }

    private func atEnd(behind lengths: [Int]) throws -> StreamRules {
        var rules = try atManifest(behind: lengths)
        try rules.take(manifest: manifest(lengths.reduce(0, +)), unpacked: nil, digest: nil)
        return rules
    }

    private func atTail() throws -> StreamRules {
        var rules = try atEnd(behind: [])
        try rules.take(zeros: [UInt8](repeating: 0, count: rules.count)[...])
        return rules
    }

    private func code(_ body: () throws(VaultError) -> Void) -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: Sequences that are legal

    /// A row of a table: the lengths of the data records, and how many zeros follow the manifest.
    private static let legal: [(lengths: [Int], zeros: Int)] = [
        ([], 492), ([1], 471), ([100], 372), ([472], 0), ([473], 511), ([4095], 473), ([4096], 472), ([4096, 1], 451),
        ([4096, 4096], 452), ([4096, 4096, 452], 492),
    ]

    @Test(arguments: legal.indices) func legalSequence(_ row: Int) throws {
        let (lengths, zeros) = Self.legal[row]
        var rules = StreamRules()
        var offset: UInt64 = 0
        func expect(_ structure: StreamRules.Structure, _ count: Int, _ place: UInt64) {
            #expect(rules.expected == structure && rules.count == count && rules.offset == place)
        }
        expect(.prefix, 68, 0)
        try rules.take(prefix: front.bytes.prefix(68))
        expect(.header, 512, 0)
        rules.open(try rules.parse(header: front.bytes, isIntact: true))
        offset = 512
        var streamLength: UInt64 = 0
        for (index, length) in lengths.enumerated() {
            expect(.recordHead, 4, offset)
            #expect(rules.recordIndex == UInt64(index))
            try rules.take(recordHead: head(.data, length)[...])
            expect(.dataRecord, length + 20, offset)
            let text = streamLength..<streamLength + UInt64(length)
            #expect(rules.takeDataRecord() == RecordPlace(index: UInt64(index), offset: offset, text: text))
            (streamLength, offset) = (text.upperBound, offset + UInt64(length + 20))
        }
        expect(.recordHead, 4, offset)
        try rules.take(recordHead: head(.manifest, 512)[...])
        expect(.manifestRecord, 532, offset)
        #expect(rules.recordIndex == UInt64(lengths.count) && rules.geometry == nil)
        try rules.take(manifest: manifest(Int(streamLength)), unpacked: nil, digest: nil)
        offset += 532
        #expect(rules.geometry?.layout.streamLength == streamLength && rules.geometry?.manifestLength == 512)
        if zeros > 0 {
            expect(.zeros, zeros, offset)
            try rules.take(zeros: [UInt8](repeating: 0, count: zeros)[...])
        }
        offset += UInt64(zeros)
        expect(.tail, 512, offset)
        try rules.take(tail: front.bytes, isIntact: { _ in false }, isValid: { _ in false })
        expect(.footer, 32, offset + 512)
        let layout = try ContainerLayout(capacity: .least, chunkSize: .minimum, streamLength: streamLength)
        try rules.take(footer: layout.footer(manifestLength: 512).bytes)
        expect(.end, 1, layout.containerLength(manifestLength: 512))
        let opened = try rules.finish(held: [])
        #expect(opened.health == .intact && opened.header == HeaderSummary(front))
        #expect(opened.manifest.plaintextLength == streamLength)
        #expect(rules.trailingData.code == .trailingData && rules.trailingData.offset == rules.offset)
    }

    // MARK: Header

    @Test func prefixes() throws {
        for bytes in [512, 1024, 4096, 1 << 20] {
            var prefix = [UInt8](front.bytes.prefix(64))
            prefix.append(bigEndian: UInt32(bytes))
            var rules = StreamRules()
            try rules.take(prefix: prefix[...])
            #expect(rules.expected == .header && rules.count == bytes)
        }
        for bytes: UInt32 in [0, 256, 511, 513, 768, 1 << 21, .max] {
            var prefix = [UInt8](front.bytes.prefix(64))
            prefix.append(bigEndian: bytes)
            var rules = StreamRules()
            #expect(code { () throws(VaultError) in try rules.take(prefix: prefix[...]) } == .headerDamaged)
            #expect(rules.count == 68, "nothing of \(bytes) bytes is asked for")
        }
        var other = [UInt8](front.bytes.prefix(68))
        other[7] ^= 1
        var rules = StreamRules()
        #expect(code { () throws(VaultError) in try rules.take(prefix: other[...]) } == .notVaultfile)
    }

    @Test func headers() throws {
        var rules = StreamRules()
        try rules.take(prefix: front.bytes.prefix(68))
        #expect(
            code { () throws(VaultError) in _ = try rules.parse(header: front.bytes, isIntact: false) }
                == .headerDamaged)
        var malformed = front.bytes
        malformed[71] = 0
        #expect(
            code { () throws(VaultError) in _ = try rules.parse(header: malformed, isIntact: true) }
                == .headerMalformed)
    }

    // MARK: Records

    private static let illegalHeads: [(behind: [Int], head: [UInt8])] = [
        ([], [0, 0, 0, 1]), ([], [3, 0, 2, 0]), ([], [0x81, 0, 0, 1]), ([], [0xFF, 0, 2, 0]),
        ([], [1, 0, 0, 0]), ([], [1, 0, 0x10, 1]), ([], [1, 0xFF, 0xFF, 0xFF]), ([4096], [1, 0, 0, 0]),
        ([], [2, 0, 0, 0]), ([], [2, 0, 0, 1]), ([], [2, 0, 1, 0xFF]), ([], [2, 0, 2, 1]), ([], [2, 0x10, 2, 0]),
        ([1], [1, 0, 0, 1]), ([1], [1, 0, 0x10, 0]), ([4095], [1, 0, 0, 1]), ([4096, 4095], [1, 0, 0, 1]),
        ([1], [2, 0, 0, 0]),
    ]

    @Test(arguments: illegalHeads.indices) func illegalHead(_ row: Int) throws {
        let (lengths, head) = Self.illegalHeads[row]
        var rules = try atRecords()
        for length in lengths {
            try rules.take(recordHead: self.head(.data, length)[...])
            _ = rules.takeDataRecord()
        }
        let offset = rules.offset
        do {
            try rules.take(recordHead: head[...])
            Issue.record("it was taken")
        } catch {
            #expect(error.code == .recordDamaged && error.offset == offset && error.record == UInt64(lengths.count))
        }
        #expect(rules.expected == .recordHead && rules.count == 4, "nothing of its length is asked for")
    }

    @Test func longestRecords() throws {
        var rules = try atRecords()
        try rules.take(recordHead: [2, 0x10, 0, 0])
        #expect(rules.expected == .manifestRecord && rules.count == 1 << 20 + 20)
    }

    // MARK: Manifest

    @Test func manifests() throws {
        let digest = [UInt8](repeating: 7, count: 32)
        let table: [(said: Int, digest: [UInt8]?, computed: [UInt8]?, code: VaultError.Code?)] = [
            (5000, nil, nil, nil), (5000, nil, digest, nil), (5000, digest, digest, nil),
            (4999, nil, nil, .manifestMismatch), (5001, nil, nil, .manifestMismatch),
            (4999, digest, digest, .manifestMismatch), (5000, digest, nil, .contentMismatch),
            (5000, digest, [UInt8](repeating: 7, count: 31) + [8], .contentMismatch),
        ]
        for (said, digest, computed, expected) in table {
            var rules = try atManifest(behind: [4096, 904])
            let offset = rules.offset
            do {
                try rules.take(manifest: manifest(said, digest: digest), unpacked: nil, digest: computed)
                #expect(expected == nil)
            } catch {
                #expect(error.code == expected && error.offset == offset)
                #expect(rules.expected == .manifestRecord && rules.geometry == nil)
            }
        }
    }

    /// A packed stream is compared by its items, blocks and index.
    @Test func packedManifests() throws {
        let forge = try Forge(seed: 18, compression: .deflate)
        let front = try HeaderCopy(parsing: forge.header([try forge.slot(testKey(1))]))
        let stream = try #require(PackedStream(front))
        var unpacked = UnpackedStream(stream)
        unpacked.walk.endBlock(ItemHead(.stored, bodyCount: 10))
        unpacked.blocks.append(10)
        try unpacked.walk.endIndex(ItemHead(.index, bodyCount: 3), [0, 0, 10])
        let table: [(plaintext: UInt64, stream: UInt64, index: [UInt64], code: VaultError.Code?)] = [
            (10, 21, [14], nil), (11, 21, [14], .manifestMismatch), (10, 20, [14], .manifestMismatch),
            (10, 21, [13], .packingMalformed), (10, 21, [], .packingMalformed),
        ]
        for (plaintext, length, index, expected) in table {
            var rules = try atRecords(front)
            try rules.take(recordHead: head(.data, 21)[...])
            _ = rules.takeDataRecord()
            try rules.take(recordHead: head(.manifest, 512)[...])
            let manifest = Manifest(
                plaintextLength: plaintext, digest: nil, metadata: Metadata(),
                packed: Manifest.Packed(streamLength: length, indexOffsets: index))
            let found = code { () throws(VaultError) in
                try rules.take(manifest: manifest, unpacked: unpacked, digest: nil)
            }
            #expect(found == expected)
        }
    }

    // MARK: End

    @Test func zeros() throws {
        let rules = try atEnd(behind: [])
        for place in [0, 1, rules.count - 1] {
            var (zeros, rules) = ([UInt8](repeating: 0, count: rules.count), rules)
            zeros[place] = 1
            #expect(code { () throws(VaultError) in try rules.take(zeros: zeros[...]) } == .paddingNotZero)
        }
    }

    /// STR-21 to STR-27: each row gives what the checksum and the MAC say of a tail.
    @Test func tails() throws {
        let slot = try forge.slot(testKey(1))
        func tail(_ generation: UInt32) -> [UInt8] { forge.header([slot], generation: generation) }
        var otherFile = tail(1)
        otherFile[20] ^= 1
        var malformed = tail(2)
        malformed[74] = 1
        var longer = tail(2)
        longer[66] = 4
        let table: [(tail: [UInt8], isIntact: Bool, isValid: Bool, health: Health?, code: VaultError.Code?)] = [
            (tail(1), false, false, .intact, nil), (tail(2), false, true, .tailDamaged, nil),
            (otherFile, false, true, .tailDamaged, nil), (otherFile, true, true, nil, .copiesDisagree),
            (otherFile, true, false, nil, .copiesDisagree), (malformed, false, true, .tailDamaged, nil),
            (malformed, true, false, nil, .headerMalformed), (tail(2), true, false, .tailDamaged, nil),
            (tail(2), true, true, .rotationUnfinished, nil), (tail(3), true, true, .copiesConflict, nil),
        ]
        for (tail, isIntact, isValid, health, expected) in table {
            var rules = try atTail()
            let offset = rules.offset
            do {
                try rules.take(tail: tail, isIntact: { _ in isIntact }, isValid: { _ in isValid })
                let footer = try #require(rules.geometry).layout.footer(manifestLength: 512)
                try rules.take(footer: footer.bytes)
                #expect(try rules.finish(held: []).health == health)
            } catch let error as VaultError {
                #expect(error.code == expected && error.offset == offset)
            }
        }
        // One that states more than its place has is judged by what is in its place.
        var rules = try atTail()
        var judged = 0
        try rules.take(
            tail: longer,
            isIntact: {
                judged = $0.count
                return KeySchedule.isIntact($0)
            }, isValid: { _ in true })
        #expect(judged == 512)
        #expect(rules.expected == .footer)
    }

    @Test func footers() throws {
        var rules = try atTail()
        try rules.take(tail: front.bytes, isIntact: { _ in true }, isValid: { _ in true })
        let layout = try #require(rules.geometry).layout
        let right = layout.footer(manifestLength: 512).bytes
        for place in right.indices {
            var (wrong, rules) = (right, rules)
            wrong[place] ^= 1
            #expect(code { () throws(VaultError) in try rules.take(footer: wrong) } == .footerDamaged)
        }
        #expect(
            code { () throws(VaultError) in
                try rules.take(footer: layout.footer(manifestLength: 1024).bytes)
            } == .footerDamaged)
    }

    /// Input that ends before the expected structure is whole.
    @Test func endsOfInput() throws {
        func error(_ rules: StreamRules, _ held: [UInt8]) -> VaultError? {
            do {
                _ = try rules.finish(held: held[...])
                return nil
            } catch {
                return error
            }
        }
        let magic = Preamble.magic
        #expect(error(StreamRules(), [])?.code == .truncated)
        #expect(error(StreamRules(), [UInt8](magic.prefix(3)))?.code == .truncated)
        #expect(error(StreamRules(), [UInt8](front.bytes.prefix(67)))?.code == .truncated)
        #expect(error(StreamRules(), magic.prefix(3) + [0])?.code == .notVaultfile)
        #expect(error(StreamRules(), [0])?.code == .notVaultfile)
        var header = StreamRules()
        try header.take(prefix: front.bytes.prefix(68))
        var record = try atRecords()
        try record.take(recordHead: head(.data, 100)[...])
        var footer = try atTail()
        try footer.take(tail: front.bytes, isIntact: { _ in true }, isValid: { _ in true })
        for rules in [
            header, try atRecords(), record, try atManifest(behind: [1]), try atEnd(behind: []), try atTail(), footer,
        ] {
            for count in [0, 1, rules.count - 1] {
                let found = error(rules, [UInt8](repeating: 0, count: count))
                #expect(found?.code == .truncated && found?.offset == rules.offset)
            }
        }
    }

    #if os(Linux) || os(macOS)
    /// A reader that hands over another structure than the expected one is stopped: it would skip checks.
    @Test func structuresOutOfOrder() async {
        await #expect(processExitsWith: .failure) {
            var rules = StreamRules()
            _ = rules.takeDataRecord()
        }
        await #expect(processExitsWith: .failure) {
            var rules = StreamRules()
            try rules.take(footer: [UInt8](repeating: 0, count: Footer.count))
        }
    }
    #endif
}
