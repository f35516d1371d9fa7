import Synchronization
import Testing
import VaultFile
import VaultTestSupport

private struct Stop: Error {}

/// What recovery extracts from a container, and what it reports.
@Suite(.bothEngines) struct RecoveryTests {
    private static let count = 7
    private static let stride = 4096 + 20
    private static let plaintext = randomBytes(6 * 4096 + 50, seed: 30)
    private static let keys = KeySet(keys: [testKey(1)])

    /// - Parameter capacity: 4096 is that of most containers; with 512, header copies may be at more offsets.
    private static func container(_ plaintext: [UInt8] = plaintext, capacity: Int = 512) throws -> [UInt8] {
        var options = SealOptions(chunk: .minimum, capacity: .capacity(capacity), digest: true)
        options.metadata.name = "name"
        return try sealed(plaintext, options: options)
    }

    private static func zeroed(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
        var bytes = bytes
        for index in range { bytes[index] = 0 }
        return bytes
    }

    private static func range(_ record: Int) -> Range<UInt64> {
        UInt64(record * 4096)..<UInt64(min(plaintext.count, (record + 1) * 4096))
    }

    /// The plaintext with zeros in place of these records.
    private static func plaintext(without records: Set<Int>) -> [UInt8] {
        records.reduce(plaintext) { text, record in
            zeroed(text, Int(range(record).lowerBound)..<Int(range(record).upperBound))
        }
    }

    @Test(arguments: [512, 4096]) func nothingDamaged(_ capacity: Int) throws {
        for plaintext in [Self.plaintext, [], [1], randomBytes(4096, seed: 1)] as [[UInt8]] {
            let found = try Recovering(Self.container(plaintext, capacity: capacity))
            let recovered = try #require(found.recovered)
            #expect(found.plaintext == plaintext && found.lost == [] && recovered.isComplete)
            #expect(recovered.header.offset == 0 && recovered.length == UInt64(plaintext.count))
            #expect(recovered.manifest?.metadata.name == "name")
        }
    }

    /// One header copy is enough, and the footer is not needed; front and footer may both be gone.
    @Test(arguments: [512, 4096]) func frontAndFooterDamaged(_ capacity: Int) throws {
        for plaintext in [Self.plaintext, [], randomBytes(8192, seed: 1)] as [[UInt8]] {
            let right = try Self.container(plaintext, capacity: capacity)
            let (front, footer) = (0..<capacity, right.count - 32..<right.count)
            let tail = right.count - 32 - capacity..<right.count - 32
            let cases: [([Range<Int>], Int)] = [
                ([front], tail.lowerBound), ([footer], 0), ([front, footer], tail.lowerBound), ([tail, footer], 0),
                ([tail], 0),
            ]
            for (damaged, offset) in cases {
                let found = try Recovering(damaged.reduce(right, Self.zeroed))
                #expect(found.plaintext == plaintext && found.recovered?.isComplete == true)
                #expect(found.recovered?.header.offset == UInt64(offset))
            }
            let none = try Recovering([front, tail].reduce(right, Self.zeroed))
            #expect(none.code == .headerDamaged && none.plaintext == [])
        }
    }

    /// Every subset of the records, with the manifest and without.
    @Test func damagedRecords() throws {
        let right = try Self.container()
        let manifest = right.count - 32 - 512 - 512..<right.count - 32 - 512 - 480
        var random = SeededRandom(seed: 5)
        for subset in 0..<1 << Self.count {
            let damaged = Set((0..<Self.count).filter { subset >> $0 & 1 == 1 })
            var container = right
            for record in damaged { container[512 + record * Self.stride + random.below(70)] ^= 1 << random.below(8) }
            // The head of a record does not matter if another place determines it.
            let byHead = damaged.filter {
                let head = 512 + $0 * Self.stride..<516 + $0 * Self.stride
                return container[head] != right[head]
            }
            let lost = damaged.subtracting(byHead)
            let found = try Recovering(container)
            #expect(found.plaintext == Self.plaintext(without: lost))
            #expect(found.recovered?.manifest != nil && found.recovered?.isComplete == lost.isEmpty)
            #expect(found.lost.reduce(0) { $0 + $1.count } == lost.reduce(0) { $0 + Self.range($1).count })
            #expect(found.recovered?.lostLength == UInt64(found.lost.reduce(0) { $0 + $1.count }))
            // Neighbouring ranges are one range.
            #expect(zip(found.lost, found.lost.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })

            // Without footer and manifest, losses at the end are not part of the output; the short last record is found
            // by its own head alone.
            let cut = [UInt8](Self.zeroed(container, manifest).dropLast(32))
            let lostByWalk = byHead.contains(Self.count - 1) ? lost.union([Self.count - 1]) : lost
            let walked = try Recovering(cut)
            let last = (0..<Self.count).last { !lostByWalk.contains($0) }
            let length = last.map { Int(Self.range($0).upperBound) } ?? 0
            #expect(walked.recovered?.manifest == nil && walked.recovered?.isComplete == false)
            #expect(walked.plaintext == [UInt8](Self.plaintext(without: lost).prefix(length)))
            #expect(walked.recovered?.length == UInt64(length))
        }
    }

    @Test func cutAnywhere() throws {
        let right = try Self.container()
        for end in Swift.stride(from: 0, to: right.count, by: 101) {
            let found = try Recovering([UInt8](right.prefix(end)))
            guard end >= 512 else {
                #expect(found.code == .headerDamaged)
                continue
            }
            let whole = min(Self.count, (end - 512) / Self.stride + (end >= right.count - 32 - 512 - 512 ? 1 : 0))
            let length = end >= 512 + 6 * Self.stride + 70 ? Self.plaintext.count : min(whole, 6) * 4096
            #expect(found.plaintext == [UInt8](Self.plaintext.prefix(length)), "\(end)")
            let hasManifest = end >= 512 + 6 * Self.stride + 70 + 532
            #expect((found.recovered?.manifest != nil) == hasManifest, "\(end)")
        }
    }

    /// A manifest that disagrees with the records does not count: otherwise a holder of the key could cause an output
    /// of 2⁶³ zeros.
    @Test(arguments: [0, 1, 4095, 1 << 62] as [UInt64]) func manifestThatLies(_ length: UInt64) throws {
        let forge = try Forge(seed: 40)
        let front = forge.header([try forge.slot(testKey(1))])
        let text = randomBytes(4096, seed: 3)
        let manifest = Manifest(plaintextLength: length, digest: nil, metadata: Metadata())
        let record = forge.record(
            manifest.encoded(commitment: forge.preamble.commitment), kind: .manifest, index: 1)
        let found = try Recovering(forge.assemble(forge.records(text), record, front: front))
        #expect(found.plaintext == text && found.recovered?.manifest == nil)
    }

    @Test func longerThanAllowed() throws {
        var limits = OpenLimits.standard
        limits.maximumPlaintextLength = 4096 * 3
        let right = try Self.container()
        #expect(try Recovering(right, limits: limits).code == .limitExceeded)
        let walked = try Recovering([UInt8](right.dropLast(600)), limits: limits)
        #expect(walked.code == .limitExceeded && walked.plaintext.count == 4096 * 3)
        limits.maximumPlaintextLength = UInt64(Self.plaintext.count)
        #expect(try Recovering(right, limits: limits).recovered?.isComplete == true)
    }

    @Test func callbacks() throws {
        var container = try Self.container()
        container[512 + 2 * Self.stride + 50] ^= 1
        container[512 + 3 * Self.stride + 50] ^= 1
        for bytes in [container, [UInt8](container.dropLast(32))] {
            var searched: [UInt64] = []
            let recovery = try Recovery(MemorySource(bytes), with: Credentials(Self.keys)) { searched.append($0) }
            #expect(searched == [UInt64(bytes.count)] && recovery.fileLength == UInt64(bytes.count))
            var (given, damage, progress) = (UInt64(0), [(Damage, UInt64)](), [UInt64]())
            _ = try recovery.read {
                given += UInt64($0.count)
            } onDamage: {
                damage.append(($0, given))
            } onProgress: {
                progress.append($0)
            }
            // A range is reported before its zeros are released.
            #expect(damage.count == 1 && damage.first?.1 == 8192)
            #expect(damage.first?.0.plaintextRange == 8192..<16384 && damage.first?.0.error.record == 2)
            #expect(damage.first?.0.error.offset == UInt64(512 + 2 * Self.stride))
            #expect(
                progress == progress.sorted() && progress.last == UInt64(512 + Self.plaintext.count + Self.count * 20))
            // Errors that the closures throw come out, and never count as damage.
            let misleading = VaultError.inputFailed("not the source's")
            let thrown = [
                #expect(throws: VaultError.self) { try recovery.read { _ in throw misleading } },
                #expect(throws: VaultError.self) {
                    try recovery.read { _ in
                    } onDamage: { _ in
                        throw misleading
                    }
                },
                #expect(throws: VaultError.self) {
                    try recovery.read { _ in
                    } onProgress: { _ in
                        throw misleading
                    }
                },
            ]
            #expect(thrown == [misleading, misleading, misleading])
            #expect(throws: Stop.self) {
                try Recovery(MemorySource(bytes), with: Credentials(Self.keys)) { _ in throw Stop() }
            }
        }
    }
}
