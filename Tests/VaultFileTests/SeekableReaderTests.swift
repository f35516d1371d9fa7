import Synchronization
import Testing
import VaultFile
import VaultTestSupport

private struct SourceFailure: Error {}
private struct SinkFailure: Error {}

@Suite(.bothEngines) struct SeekableReaderTests {
    private static let plaintext = randomBytes(10 * 4096 + 100, seed: 21)

    private static func container(digest: Bool = false) throws -> [UInt8] {
        try sealed(plaintext, options: SealOptions(chunk: .minimum, capacity: .least, digest: digest))
    }

    private static func reader(_ source: any ByteSource) throws -> SeekableVaultReader {
        try SeekableVaultReader(source, with: .key(testKey(1)))
    }

    @Test func ranges() throws {
        let reader = try Self.reader(MemorySource(Self.container()))
        #expect(reader.length == UInt64(Self.plaintext.count))
        var random = SeededRandom(seed: 1)
        let count = Self.plaintext.count
        var borders = [0, 1, count - 1, count]
        for record in 1...10 { borders += [record * 4096 - 1, record * 4096, record * 4096 + 1] }
        for round in 0..<1500 {
            let (a, b) =
                round.isMultiple(of: 2)
                ? (random.pick(borders), random.pick(borders)) : (random.below(count + 1), random.below(count + 1))
            let range = min(a, b)..<max(a, b)
            let bytes = try reader.bytes(UInt64(range.lowerBound)..<UInt64(range.upperBound))
            #expect(bytes[...] == Self.plaintext[range], "\(range)")
        }
    }

    @Test func rangesOutside() throws {
        for plaintext in [Self.plaintext, []] {
            let container = try sealed(plaintext, options: SealOptions(chunk: .minimum))
            let reader = try Self.reader(MemorySource(container))
            let end = reader.length
            #expect(try reader.bytes(end..<end).isEmpty)
            for range in [
                end..<end + 1, 0..<end + 1, end + 1..<end + 1, end + 5..<end + 9, 0..<UInt64.max, .max..<UInt64.max,
            ] {
                let error = #expect(throws: VaultError.self) { try reader.bytes(range) }
                #expect(error?.code == .rangeInvalid, "\(range)")
            }
        }
    }

    /// A range costs one read of the records that it touches, and nothing else.
    @Test func costOfARange() throws {
        let container = try Self.container()
        let reads = Mutex<[Range<UInt64>]>([])
        let source = ScriptedSource(
            size: { UInt64(container.count) },
            read: { offset, count in
                reads.withLock { $0.append(offset..<offset + UInt64(count)) }
                let bytes = [UInt8](container.dropFirst(Int(offset)).prefix(count))
                return (bytes, bytes.count)
            })
        let reader = try Self.reader(source)
        // Copies (each first its beginning, then as a whole), footer, manifest.
        #expect(reads.withLock { $0.count } == 6)
        for (range, records): (Range<UInt64>, Range<UInt64>) in [
            (0..<0, 0..<0), (0..<1, 0..<1), (4095..<4097, 0..<2), (4096..<8192, 1..<2), (8191..<12289, 1..<4),
        ] {
            reads.withLock { $0 = [] }
            _ = try reader.bytes(range)
            let place = 512 + records.lowerBound * 4116..<512 + records.upperBound * 4116
            #expect(reads.withLock { $0 } == (records.isEmpty ? [] : [place]))
        }
    }

    /// The next range of a packed container usually begins in the record where the last one ended. That record is not
    /// read again, unless it failed.
    @Test func costOfPackedRanges() throws {
        let text = [UInt8](repeating: 7, count: 16 * 4096)
        let container = try sealed(text, options: SealOptions(chunk: .minimum, compression: .deflate))
        let state = Mutex((reads: 0, fails: false))
        let source = ScriptedSource(
            size: { UInt64(container.count) },
            read: { offset, count in
                let fails = state.withLock { state in
                    state.reads += 1
                    return state.fails
                }
                if fails { throw VaultError.inputFailed("the medium has gone away") }
                let bytes = [UInt8](container.dropFirst(Int(offset)).prefix(count))
                return (bytes, bytes.count)
            })
        let reader = try Self.reader(source)
        state.withLock { $0 = (0, true) }
        let error = #expect(throws: VaultError.self) { try reader.bytes(0..<4096) }
        #expect(error?.code == .inputFailed)
        state.withLock { $0.fails = false }
        for block in UInt64(0)..<16 {
            #expect(try reader.bytes(block * 4096..<(block + 1) * 4096) == [UInt8](repeating: 7, count: 4096))
        }
        // Sixteen small items and their index fit in one record.
        #expect(state.withLock { $0.reads } == 2)
    }

    @Test func digestIsCheckedByReadingAll() throws {
        let forge = try Forge(seed: 70)
        let header = forge.header([try forge.slot(testKey(1))])
        let wrong = try forge.container(
            Self.plaintext, front: header, digest: [UInt8](repeating: 1, count: 32))
        let reader = try Self.reader(MemorySource(wrong))
        #expect(try reader.bytes(0..<reader.length) == Self.plaintext)
        var count = 0
        let error = #expect(throws: VaultError.self) { try reader.readAll { count += $0.count } }
        #expect(error?.code == .contentMismatch && count == Self.plaintext.count)
        var damage: [Damage] = []
        try reader.verify { damage.append($0) }
        #expect(damage.map(\.error.code) == [.contentMismatch] && damage[0].plaintextRange == nil)
        #expect(try read(wrong, by: .stream).code == .contentMismatch)
        #expect(try read(Self.container(digest: true), by: .whole).plaintext == Self.plaintext)
    }

    // MARK: Sources that fail

    @Test func errorsOfTheSourceComeThrough() throws {
        let container = try Self.container()
        let calls = Mutex((made: 0, failing: 0))
        let source = ScriptedSource(
            size: { UInt64(container.count) },
            read: { offset, count in
                let fails = calls.withLock { calls in
                    calls.made += 1
                    return calls.made > calls.failing
                }
                if fails { throw SourceFailure() }
                let bytes = [UInt8](container.dropFirst(Int(offset)).prefix(count))
                return (bytes, bytes.count)
            })
        for failing in 0..<7 {
            calls.withLock { $0 = (0, failing) }
            #expect(throws: SourceFailure.self, "\(failing)") { try Self.reader(source).readAll { _ in } }
        }
        calls.withLock { $0 = (0, 7) }
        try Self.reader(source).readAll { _ in }
        let sizeless = ScriptedSource(size: { throw SourceFailure() }, read: { _, _ in ([], 0) })
        #expect(throws: SourceFailure.self) { try Self.reader(sizeless) }
    }

    /// A file that becomes shorter after it was opened, by any number of bytes.
    @Test func shrinking() throws {
        let container = try Self.container()
        for length in stride(from: 0, to: container.count, by: 997) {
            let now = Mutex(container.count)
            let source = ScriptedSource(
                size: { UInt64(now.withLock { $0 }) },
                read: { offset, count in
                    let end = now.withLock { $0 }
                    guard offset < UInt64(end) else { return ([], 0) }
                    let bytes = [UInt8](container[Int(offset)..<min(end, Int(offset) + count)])
                    return (bytes, bytes.count)
                })
            let reader = try Self.reader(source)
            now.withLock { $0 = length }
            var plaintext: [UInt8] = []
            do {
                try reader.readAll { plaintext.append(copying: $0) }
                #expect(length >= 512 + 10 * 4116 + 120)
            } catch let error as VaultError {
                #expect(error.code == .truncated && error.record != nil)
            }
            #expect(Self.plaintext.starts(with: plaintext))
        }
    }

    /// A source that claims any size and any number of bytes read: an error, and nothing worse.
    @Test func lying() throws {
        let container = try Self.container()
        let sizes: [UInt64] = [0, 1, 67, 2079, 2080, UInt64(container.count) - 1, 1 << 40, 1 << 63 - 1, 1 << 63, .max]
        let claims: [@Sendable (Int) -> Int] = [
            { _ in .max }, { $0 + 1 }, { _ in -1 }, { _ in .min }, { $0 }, { _ in 0 },
        ]
        for size in sizes {
            for claim in claims.indices {
                let source = ScriptedSource(
                    size: { size },
                    read: { offset, count in
                        // At any offset it returns the beginning or the end of a container.
                        let part = count == 32 ? container.suffix(32) : container.prefix(count)
                        return ([UInt8](part), claims[claim](part.count))
                    })
                let error = #expect(throws: VaultError.self) { try Self.reader(source) }
                #expect(error != nil)
            }
        }
    }

    /// A long read is few requests, if the source wants that, and never takes more memory than one source may have.
    @Test(arguments: [(nil, 8), (1, 1), (1 << 20, 16), (.max, 1024)] as [(Int?, UInt64)])
    func sizeOfRequests(_ readSize: Int?, _ records: UInt64) throws {
        let length = (UInt64(1024) + 40) << 16
        let container = try sealed([UInt8](repeating: 7, count: Int(length)))
        let reads = Mutex<[Range<UInt64>]>([])
        var source = ScriptedSource(
            size: { UInt64(container.count) },
            read: { offset, count in
                reads.withLock { $0.append(offset..<offset + UInt64(count)) }
                let bytes = [UInt8](container[Int(offset)...].prefix(count))
                return (bytes, bytes.count)
            })
        if let readSize { source.readSize = readSize }
        let reader = try Self.reader(source)
        reads.withLock { $0 = [] }
        try reader.read(5..<length - 5) { _ in }
        let sizes = reads.withLock { $0.map(\.count) }
        let whole = Int(records) * ChunkSize.standard.recordBytes
        #expect(sizes.dropLast().allSatisfy { $0 == whole } && sizes.last ?? .max <= whole)
        #expect(sizes.count == Int((1064 + records - 1) / records))
    }

    /// The same for a compressed container, where the index says how far a read goes. A short read takes nothing ahead, and
    /// what cannot be read ahead is no error.
    @Test func sizeOfPackedRequests() throws {
        let text = randomBytes(100 << 16, seed: 22)
        let container = try sealed(text, options: SealOptions(chunk: .standard, compression: .deflate))
        let state = Mutex((counts: [Int](), damaged: 0..<0))
        var source = ScriptedSource(
            size: { UInt64(container.count) },
            read: { offset, count in
                let part = Int(offset)..<min(container.count, Int(offset) + count)
                let isDamaged = state.withLock { state in
                    state.counts.append(part.count)
                    return state.damaged.overlaps(part)
                }
                if isDamaged { throw VaultError.inputFailed("bad sector", systemError: .ioError) }
                return (Array(container[part]), part.count)
            })
        source.readSize = 1 << 20
        let reader = try Self.reader(source)
        func reads(_ range: Range<UInt64>) throws -> [Int] {
            state.withLock { $0.counts = [] }
            #expect(try reader.bytes(range)[...] == text[Int(range.lowerBound)..<Int(range.upperBound)])
            return state.withLock { $0.counts }
        }
        let record = ChunkSize.standard.recordBytes
        // The records of the index, and 101 or so of the items, 16 at once.
        let whole = try reads(0..<reader.length)
        #expect(whole.count <= 10 && whole.max() ?? 0 <= 16 * record, "\(whole)")
        // What was read ahead is not kept: the last record is. A block begins in one record, and ends in the next.
        #expect(try reads(0..<10) == [2 * record])
        #expect(try reads(50 << 16..<50 << 16 + 10).reduce(0, +) <= 2 * record)
        let start = 4096 + 60 * record
        state.withLock { $0.damaged = start..<start + 1 }
        #expect(throws: VaultError.self) { try reader.bytes(0..<reader.length) }
        #expect(try reader.bytes(0..<50 << 16)[...] == text[..<(50 << 16)])
        #expect(try reader.bytes(70 << 16..<80 << 16)[...] == text[70 << 16..<80 << 16])
        state.withLock { $0.damaged = 0..<0 }
        #expect(try reader.bytes(0..<reader.length) == text)
    }

    @Test func oneByteAtATime() throws {
        let container = try Self.container(digest: true)
        let reader = try Self.reader(TrickleSource(container))
        var plaintext: [UInt8] = []
        try reader.readAll { plaintext.append(copying: $0) }
        #expect(plaintext == Self.plaintext && reader.opened.health == .intact)
    }
}
