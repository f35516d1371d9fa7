import Testing
import VaultFile
import VaultTestSupport

@Suite struct InspectionTests {
    @Test func whole() throws {
        let sample = try Sample.symmetric()
        let inspection = try Inspection(MemorySource(sample.container))
        #expect(inspection.front == inspection.tail && inspection.copiesAreIdentical && inspection.problem == nil)
        #expect(inspection.streamLength == 100 && inspection.manifestLength == 512)
        #expect(inspection.containerLength == UInt64(sample.container.count))
        #expect(inspection.front.summary?.slots.map(\.keyID) == [testKey(1).id])
        #expect(inspection.front.summary?.chunkSize == .minimum)
    }

    /// One damaged copy is no problem, two are. Inspection names the error that opening would give.
    @Test func damaged() throws {
        let container = try Sample.symmetric().container
        var front = container
        front[100] ^= 1
        var both = front
        both[both.count - 100] ^= 1
        var footer = container
        footer[footer.count - 9] ^= 1
        let first = try Inspection(MemorySource(front))
        #expect(first.front == .damaged && first.tail.summary != nil && first.problem == nil)
        #expect(!first.copiesAreIdentical && first.streamLength == 100)
        let second = try Inspection(MemorySource(both))
        #expect(second.problem?.code == .headerDamaged && !second.copiesAreIdentical && second.streamLength == nil)
        let third = try Inspection(MemorySource(footer))
        #expect(third.problem?.code == .footerDamaged && third.front.summary != nil && third.manifestLength == nil)
        let cut = try Inspection(MemorySource([UInt8](container.prefix(1000))))
        #expect(cut.problem?.code == .truncated && cut.front.summary != nil)
    }

    @Test func malformed() throws {
        var container = try Sample.symmetric().container
        var copy = [UInt8](container.prefix(512))
        copy[74] = 1
        container.replaceSubrange(0..<512, with: withChecksum(copy))
        let inspection = try Inspection(MemorySource(container))
        guard case .malformed(let error) = inspection.front else {
            Issue.record("the front is \(inspection.front)")
            return
        }
        #expect(error.code == .headerMalformed && inspection.problem?.code == .headerMalformed)
        #expect(inspection.tail.summary != nil)
    }

    @Test func nothingToShow() throws {
        for bytes in [[UInt8](repeating: 0, count: 100), [UInt8](repeating: 0, count: 5000), [0x88]] {
            let error = #expect(throws: VaultError.self) { try Inspection(MemorySource(bytes)) }
            #expect(error?.code == .notVaultfile)
        }
        var container = try Sample.symmetric().container
        var copy = [UInt8](container.prefix(512))
        copy[9] = 2
        container.replaceSubrange(0..<512, with: withChecksum(copy))
        let error = #expect(throws: VaultError.self) { try Inspection(MemorySource(container)) }
        #expect(error?.code == .unsupportedVersion)
    }

    /// Every byte changed, and every cut: inspection shows something or throws, and does not trap.
    @Test func changed() throws {
        let container = try Sample.symmetric().container
        var changed = container
        for place in container.indices {
            changed[place] ^= 0x55
            let inspection = try? Inspection(MemorySource(changed))
            if place >= 512, place < container.count - 544 { #expect(inspection?.problem == nil) }
            changed[place] = container[place]
            let cut = try? Inspection(MemorySource([UInt8](container.prefix(place))))
            #expect(cut == nil || cut?.problem != nil)
        }
    }
}
