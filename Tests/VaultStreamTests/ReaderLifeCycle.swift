import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

private struct SinkFailure: Error, Equatable {}

@Suite(.bothEngines) struct ReaderLifeCycle {
    private static let plaintext = randomBytes(10_000, seed: 12)

    private static func container() throws -> [UInt8] {
        try sealed(plaintext, options: SealOptions(chunk: .minimum))
    }

    /// After an error, the reader throws the same error again, whatever is pushed.
    @Test func errorsStay() throws {
        var container = try Self.container()
        container[512 + 4116 + 50] ^= 1
        var reader = VaultReader(with: .key(testKey(1)))
        var released: [UInt8] = []
        let first = #expect(throws: VaultError.self) {
            try reader.push(container.span) { released.append(copying: $0) }
        }
        #expect(first?.code == .recordDamaged && first?.record == 1 && first?.offset == 512 + 4116)
        #expect(released[...] == Self.plaintext.prefix(4096))
        let right = try Self.container()
        for bytes in [right, [], [0]] {
            let again = #expect(throws: VaultError.self) {
                try reader.push(bytes.span) { released.append(copying: $0) }
            }
            #expect(again?.description == first?.description)
        }
        #expect(released.count == 4096)
        let last = Self.failure(of: reader)
        #expect((last as? VaultError)?.description == first?.description)
    }

    private static func failure(of reader: consuming VaultReader) -> (any Error)? {
        do {
            _ = try reader.finish()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: 0..<3) func sinkErrors(_ failing: Int) throws {
        let container = try Self.container()
        var reader = VaultReader(with: .key(testKey(1)))
        var calls = 0
        #expect(throws: SinkFailure.self) {
            try reader.push(container.span) { _ in
                calls += 1
                if calls == failing + 1 { throw SinkFailure() }
            }
        }
        #expect(calls == failing + 1)
        let none: [UInt8] = []
        #expect(throws: SinkFailure.self) { try reader.push(none.span) { _ in } }
        let last = Self.failure(of: reader)
        #expect(last is SinkFailure)
        let seekable = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
        calls = 0
        #expect(throws: SinkFailure.self) {
            try seekable.readAll { _ in
                calls += 1
                if calls == failing + 1 { throw SinkFailure() }
            }
        }
        // A seekable reader can still read everything.
        #expect(try seekable.bytes(0..<seekable.length) == Self.plaintext)
    }

    @Test func headerIsThereOnceItIsOpened() throws {
        let container = try Self.container()
        var reader = VaultReader(with: .key(testKey(1)))
        #expect(reader.header == nil)
        try reader.push(container.span.extracting(0..<511)) { _ in }
        #expect(reader.header == nil)
        try reader.push(container.span.extracting(511..<512)) { _ in }
        #expect(reader.header?.capacity == .least && reader.header?.generation == 1)
        #expect(reader.header?.slots.map(\.keyID) == [testKey(1).id])
    }

    /// No byte of a record comes out before the record is complete. Then all of it comes out.
    @Test func releasedAsEarlyAsMayBe() throws {
        let container = try Self.container()
        var reader = VaultReader(with: .key(testKey(1)))
        var released: [UInt8] = []
        for place in container.indices {
            try reader.push(container.span.extracting(place..<place + 1)) { released.append(copying: $0) }
            let count = place + 1 - 512
            let whole = max(0, count) / 4116 * 4096
            #expect(released.count == (count >= 2 * 4116 + 1828 ? 10_000 : whole))
        }
        #expect(released == Self.plaintext)
        #expect(try reader.finish().health == .intact)
    }

    @Test func piecesMakeNoDifference() throws {
        var damaged = try Self.container()
        damaged[512 + 2 * 4116] ^= 0x40
        for container in [try Self.container(), damaged, try Self.container() + [0]] {
            let whole = try read(container, by: .stream, piece: .max)
            for piece in [1, 2, 3, 67, 68, 69, 511, 513, 4115, 4116, 4117, 9999] {
                let reading = try read(container, by: .stream, piece: piece)
                #expect(reading.result.matches(whole.result) && reading.plaintext == whole.plaintext)
            }
        }
    }

    @Test func noInputAndNoKeys() throws {
        #expect(try read([], by: .stream).code == .truncated)
        for kind in ReaderKind.allCases {
            #expect(try read(Self.container(), by: kind, keys: KeySet()).code == .wrongKey)
            #expect(try read(Self.container(), by: kind, keys: KeySet(keys: [testKey(2)])).code == .wrongKey)
            #expect(try read(Self.container(), by: kind, context: testContext("x")).code == .wrongKey)
        }
    }

    /// The plaintext that is released never exceeds the caller's limit.
    @Test func longestPlaintext() throws {
        let container = try Self.container()
        var limits = OpenLimits()
        for kind in ReaderKind.allCases {
            for allowed: UInt64 in [10_000, 10_001, .max] {
                limits.maximumPlaintextLength = allowed
                #expect(try read(container, by: kind, limits: limits).plaintext == Self.plaintext)
            }
            for allowed: UInt64 in [0, 1, 4095, 4096, 8192, 9_999] {
                limits.maximumPlaintextLength = allowed
                let reading = try read(container, by: kind, limits: limits)
                #expect(reading.code == .limitExceeded)
                #expect(reading.plaintext.count <= allowed && Self.plaintext.starts(with: reading.plaintext))
            }
            limits.maximumPlaintextLength = 0
            #expect(try read(sealed([]), by: kind, limits: limits).health == .intact)
        }
    }
}
