import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

private struct SinkFailure: Error, Equatable {
    let number: Int
}

/// A writer that does not finish, for whatever reason, leaves nothing that opens.
@Suite(.bothEngines) struct WriterLifeCycle {
    private static let sizes = [0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 70_000, 3 * 65_536]

    /// The output of a writer that was dropped after each write.
    @Test(arguments: sizes) func dropped(_ size: Int) throws {
        let plaintext = randomBytes(size, seed: UInt64(size))
        for piece in [4096, 30_000, 65_536, 100_000] {
            var container: [UInt8] = []
            do {
                var writer = try VaultWriter(for: [.key(testKey(1))], options: SealOptions(chunk: .minimum))
                var start = 0
                while start < size {
                    let end = min(start + piece, size)
                    try writer.write(plaintext.span.extracting(start..<end)) { container.append(copying: $0) }
                    start = end
                    let isRare = start == size || start.isMultiple(of: 5 * piece)
                    if isRare { try Self.checkIncomplete(container, plaintext) }
                }
            }
            try Self.checkIncomplete(container, plaintext)
        }
    }

    private static func checkIncomplete(_ container: [UInt8], _ plaintext: [UInt8]) throws {
        for kind in ReaderKind.allCases {
            let reading = try read(container, by: kind)
            #expect(reading.code == .truncated || reading.code == .footerDamaged)
            #expect(plaintext.starts(with: reading.plaintext))
        }
    }

    /// The sink fails at its first, second, … call: its own error comes out, then and ever after.
    @Test func sinkFailures() throws {
        let plaintext = randomBytes(80_000, seed: 5)
        var failing = 0
        while true {
            var (calls, container, thrown) = (0, [UInt8](), nil as (any Error)?)
            func sink(_ bytes: Span<UInt8>) throws {
                defer { calls += 1 }
                if calls == failing { throw SinkFailure(number: failing) }
                container.append(copying: bytes)
            }
            var writer = try VaultWriter(for: [.key(testKey(1))], options: SealOptions(chunk: .minimum))
            do {
                try writer.write(plaintext.span.extracting(0..<10_000), to: sink)
                try writer.write(plaintext.span.extracting(10_000..<80_000), to: sink)
            } catch {
                thrown = error
                let more: [UInt8] = [1]
                let failed = #expect(throws: SinkFailure.self) { try writer.write(more.span, to: sink) }
                #expect(failed == SinkFailure(number: failing))
                let unfinished = Self.failure(of: writer, to: sink)
                #expect(unfinished as? SinkFailure == SinkFailure(number: failing))
                #expect(calls == failing + 1)
                #expect(thrown as? SinkFailure == SinkFailure(number: failing))
                try Self.checkIncomplete(container, plaintext)
                failing += 1
                continue
            }
            do {
                try writer.finish(to: sink)
            } catch {
                #expect(error as? SinkFailure == SinkFailure(number: failing))
                try Self.checkIncomplete(container, plaintext)
                failing += 1
                continue
            }
            #expect(try read(container, by: .whole).plaintext == plaintext)
            break
        }
        // Header, 20 records, the end.
        #expect(failing == 22)
    }

    private static func failure(
        of writer: consuming VaultWriter, to sink: (Span<UInt8>) throws -> Void
    ) -> (any Error)? {
        do {
            try writer.finish(to: sink)
            return nil
        } catch {
            return error
        }
    }

    /// The header comes out before the size of the input is known, and never twice.
    @Test func failureAtTheHeader() throws {
        var writer = try VaultWriter(
            for: [.key(testKey(1))], options: SealOptions(chunk: .minimum, capacity: .least))
        var out = 0
        try writer.write(randomBytes(65_535, seed: 1).span) { _ in out += 1 }
        #expect(out == 0)
        let more: [UInt8] = [1]
        let error = #expect(throws: VaultError.self) { try writer.write(more.span) { _ in out += 1 } }
        #expect(error?.code == .invalidArgument)
        let again = #expect(throws: VaultError.self) { try writer.write(more.span) { _ in out += 1 } }
        #expect(again == error)
        #expect(out == 0)
    }

    /// However the plaintext is cut into pieces, the container is the same except for its random bytes.
    @Test(arguments: [(ChunkSize.minimum, 20_000), (.minimum, 70_000), (.standard, 70_000), (.standard, 140_000)])
    func piecesMakeNoDifference(_ chunk: ChunkSize, _ size: Int) throws {
        let plaintext = randomBytes(size, seed: 6)
        let options = SealOptions(chunk: chunk, digest: true)
        let whole = try sealed(plaintext, options: options, randomness: .fixed(seed: 1))
        for piece in [7, 4095, 4096, 4097, 65_535, 65_536, 65_537] {
            #expect(try sealed(plaintext, options: options, piece: piece, randomness: .fixed(seed: 1)) == whole)
        }
        #expect(try sealed(plaintext, options: options, randomness: .fixed(seed: 2)) != whole)
    }

    /// Two containers of one plaintext share no random bytes.
    @Test func nothingIsRepeated() throws {
        let plaintext = randomBytes(100, seed: 1)
        let (first, second) = (try sealed(plaintext), try sealed(plaintext))
        #expect(first[16..<32] != second[16..<32])
        #expect(first[32..<64] != second[32..<64])
        #expect(first[96..<120] != second[96..<120])
        #expect(first[120..<168] != second[120..<168])
        #expect(first[516..<632] != second[516..<632])
    }
}
