import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

private struct Stop: Error {}

/// Recovery from a medium that no longer gives all its bytes.
@Suite(.bothEngines) struct RecoveryMediumTests {
    private static let plaintext = randomBytes(20 * 4096 + 700, seed: 33)

    private static func container() throws -> [UInt8] {
        try sealed(plaintext, options: SealOptions(chunk: .minimum, capacity: .capacity(4096)))
    }

    /// Memory with unreadable sectors of 512 bytes. As in files, a read that begins in one fails, and a read that
    /// reaches one ends before it.
    private static func source(
        _ bytes: [UInt8], bad: @escaping @Sendable (_ sector: Int) -> Bool,
        error: any Error & Sendable = VaultError.inputFailed("bad sector", systemError: .ioError)
    ) -> ScriptedSource {
        ScriptedSource(
            size: { UInt64(bytes.count) },
            read: { offset, count in
                let start = Int(offset)
                guard start < bytes.count else { return ([], 0) }
                guard !bad(start / 512) else { throw error }
                var end = min(start + count, bytes.count)
                if let sector = (start / 512..<(end + 511) / 512).first(where: bad) { end = min(end, sector * 512) }
                return ([UInt8](bytes[start..<end]), end - start)
            })
    }

    /// Each sector alone: the loss is the one or two records that it touches, and nothing else.
    @Test func oneSector() throws {
        let right = try Self.container()
        for sector in 0..<(right.count + 511) / 512 {
            let found = try Recovering(Self.source(right, bad: { $0 == sector }))
            let (start, end) = (sector * 512, min(right.count, sector * 512 + 512))
            // The footer's sector is needed for the length only if the walk does not find the manifest.
            let manifestEnd = 4096 + 20 * 4116 + 720 + 532
            let touched = (0...20).filter { record in
                let place = 4096 + record * 4116
                return place < end && start < place + (record == 20 ? 720 : 4116)
            }
            let recovered = try #require(found.recovered, "\(sector): \(found.result)")
            let losesEnd = start < manifestEnd && end > manifestEnd - 532
            #expect((recovered.manifest == nil) == losesEnd, "\(sector)")
            var expected = Self.plaintext
            for record in touched {
                for index in record * 4096..<min(expected.count, record * 4096 + 4096) { expected[index] = 0 }
            }
            if losesEnd, touched.contains(20) { expected.removeLast(700) }
            if losesEnd, touched.contains(19) { expected.removeLast(4096) }
            #expect(found.plaintext == expected, "\(sector)")
            #expect(recovered.header.offset == (sector < 8 ? UInt64(right.count - 32 - 4096) : 0))
            let error = losesEnd || touched.isEmpty ? nil : VaultError.Code.inputFailed
            var damage: [Damage] = []
            let recovery = try Recovery(Self.source(right, bad: { $0 == sector }), with: .key(testKey(1)))
            _ = try recovery.read(to: { _ in }, onDamage: { damage.append($0) })
            if let error { #expect(damage.map(\.error.code) == [error], "\(sector)") }
        }
    }

    /// Any set of sectors.
    @Test func manySectors() throws {
        let right = try Self.container()
        var random = SeededRandom(seed: 12)
        for _ in 0..<100 {
            let bad = Set((0..<random.below(30)).map { _ in random.below(right.count / 512 + 1) })
            let found = try Recovering(Self.source(right, bad: { bad.contains($0) }))
            guard found.recovered != nil else {
                #expect(found.code == .headerDamaged)
                #expect(bad.contains { $0 < 8 } && bad.contains { $0 * 512 + 512 > right.count - 32 - 4096 })
                continue
            }
            // Every byte is right, or a zero in a listed range.
            var expected = [UInt8](Self.plaintext.prefix(found.plaintext.count))
            for range in found.lost { for index in range { expected[Int(index)] = 0 } }
            #expect(found.plaintext == expected)
        }
    }

    /// Neither end can be read, nor the beginning of a part that the search reads at once. The search still finds the
    /// copy in that part.
    @Test func searchAroundASector() throws {
        let right = try Self.container()
        let last = (right.count - 1) / 512
        let found = try Recovering(Self.source(right, bad: { $0 == 0 || $0 == last }))
        #expect(found.recovered?.header.offset == UInt64(right.count - 32 - 4096), "\(found.result)")
        #expect(found.plaintext == Self.plaintext)
        // A small copy directly after the bad sector.
        let small = try sealed([1, 2, 3], options: SealOptions(chunk: .minimum, capacity: .least))
        let shifted = [UInt8](repeating: 0, count: 512) + small.prefix(512) + [UInt8](repeating: 0, count: 9000)
        let behind = try Recovering(Self.source(shifted, bad: { $0 == 0 }))
        #expect(behind.recovered?.header.offset == 512, "\(behind.result)")
    }

    /// A medium that gives nothing for a read that meets a bad sector: then the short record before it is read alone.
    @Test func allOrNothing() throws {
        let right = try Self.container()
        let manifest = 4096 + 20 * 4116 + 720
        let bad = manifest + 400..<manifest + 532
        let source = ScriptedSource(
            size: { UInt64(right.count) },
            read: { offset, count in
                let place = Int(offset)..<min(Int(offset) + count, right.count)
                guard !place.overlaps(bad) else { throw VaultError.inputFailed("bad sector", systemError: .ioError) }
                return ([UInt8](right[place]), place.count)
            })
        let found = try Recovering(source)
        #expect(found.plaintext == Self.plaintext)
        #expect(try #require(found.recovered).manifest == nil)
    }

    @Test func nothingCanBeRead() throws {
        #expect(try Recovering(Self.source(Self.container(), bad: { _ in true })).code == .headerDamaged)
        // Only errors that say that the medium failed count as damage.
        #expect(throws: Stop.self) {
            try Recovering(Self.source(Self.container(), bad: { $0 == 30 }, error: Stop()))
        }
        // A source that has become shorter, or states a false size.
        let right = try Self.container()
        let shrunk = ScriptedSource(
            size: { UInt64.max },
            read: { offset, count in
                let part = [UInt8](right.dropFirst(Int(clamping: offset)).prefix(count))
                return (part, part.count)
            })
        var options = RecoveryOptions()
        options.headerOffset = 0
        let recovery = try Recovery(shrunk, with: .key(testKey(1)), options: options)
        let result = try recovery.read { _ in }
        #expect(result.manifest?.plaintextLength == UInt64(Self.plaintext.count))
    }

    /// The offset belongs to the open file: another process that has it from a parent would read elsewhere.
    @Test("asking for a device's size does not move its offset") func offsetOfABlockDevice() throws {
        let folder = try TemporaryFolder()
        let file = try FileDescriptor.open(folder.write(randomBytes(9000, seed: 4), to: "disk"), .readOnly)
        defer { try? file.close() }
        try file.seek(offset: 77, from: .start)
        let size = try SystemCalls.$current.withValue(Self.callsOfADisk) { try FileSource(file).size() }
        #expect(size == 9000)
        #expect(try file.seek(offset: 0, from: .current) == 77)
    }

    /// System calls for which every file is a block device.
    private static var callsOfADisk: SystemCalls {
        var calls = SystemCalls()
        calls.status = { descriptor in
            SystemCalls().status(descriptor).map {
                FileStatus(kind: .blockDevice, size: 0, identity: $0.identity)
            }
        }
        calls.deviceSize = { descriptor in
            (try? SystemCalls().status(descriptor).get()).map { Int64($0.size) } ?? -1
        }
        return calls
    }

    /// A disk states its length by another call than a file.
    @Test func blockDevice() throws {
        let folder = try TemporaryFolder()
        let right = try Self.container()
        try folder.write([UInt8](right.dropLast(32)) + [UInt8](repeating: 0, count: 9000), to: "disk")
        var calls = Self.callsOfADisk
        let found = try SystemCalls.$current.withValue(calls) {
            try Recovering(FileSource(at: folder["disk"]))
        }
        #expect(found.plaintext == Self.plaintext && found.recovered?.isComplete == true)
        calls.status = { descriptor in
            SystemCalls().status(descriptor).map { FileStatus(kind: .other, size: 0, identity: $0.identity) }
        }
        let source = try FileSource(at: folder["disk"])
        let refused = try SystemCalls.$current.withValue(calls) { try Recovering(source) }
        #expect(refused.code == .inputFailed)
        #expect {
            try SystemCalls.$current.withValue(calls) { _ = try FileSource(at: folder["disk"]) }
        } throws: {
            ($0 as? VaultError)?.code == .inputFailed
        }
    }
}
