import Testing
import VaultFile
import VaultTestSupport

/// What an attacker can do without a key: change a header copy and correct its checksum.
@Suite struct ForgedChecksums {
    enum Place: CaseIterable {
        case front, tail, both
    }

    static let samples = Sample.small.filter { ["symmetric", "two slots"].contains($0.name) }

    @Test(arguments: samples, Place.allCases) func everyBit(_ sample: Sample, _ place: Place) throws {
        let c = sample.capacity.bytes
        let copy = [UInt8](sample.container.prefix(c))
        let (front, tail) = (0..<c, sample.container.count - 32 - c..<sample.container.count - 32)
        #expect(sample.container[tail].elementsEqual(copy))
        #expect(withChecksum(copy) == copy)
        var complaints: [String] = []
        for byte in 0..<c - HeaderCopy.checksumCount {
            // After the slots there are zeros; one bit of each is enough.
            let bits = copy[byte] == 0 && byte > 300 ? byte % 8..<byte % 8 + 1 : 0..<8
            for bit in bits {
                var forged = copy
                forged[byte] ^= 1 << bit
                forged = withChecksum(forged)
                var changed = sample.container
                if place != .tail { changed.replaceSubrange(front, with: forged) }
                if place != .front { changed.replaceSubrange(tail, with: forged) }
                // If both copies are changed, none is left that a holder of the file key made.
                let allowed: Sample.Allowed = place == .both ? .errors : .errorsAndDamage
                if let text = try sample.complaint(about: changed, allowed: allowed) {
                    complaints.append("byte \(byte), bit \(bit): \(text)")
                }
            }
        }
        #expect(complaints.isEmpty, "\(complaints.count), like \(complaints.prefix(3))")
    }

    /// A change of a byte that only the MAC covers gives the error for that.
    @Test func names() throws {
        let sample = try Sample.symmetric()
        let c = sample.capacity.bytes
        func changed(_ byte: Int, _ place: Place) -> [UInt8] {
            var forged = [UInt8](sample.container.prefix(c))
            forged[byte] ^= 0x80
            forged = withChecksum(forged)
            let middle = sample.container[c..<sample.container.count - 32 - c]
            let original = sample.container.prefix(c)
            return (place == .tail ? original : forged[...]) + middle + (place == .front ? original : forged[...])
                + sample.container.suffix(32)
        }
        let (generation, mac) = (68, c - 64)
        for byte in [generation, mac] {
            for kind in ReaderKind.allCases {
                #expect(try read(changed(byte, .both), by: kind).code == .headerForged)
                #expect(try read(changed(byte, .tail), by: kind).health == .tailDamaged)
            }
            #expect(try read(changed(byte, .front), by: .stream).code == .headerForged)
            #expect(try read(changed(byte, .front), by: .whole).health == .frontDamaged)
        }
        let commitment = 32
        for kind in ReaderKind.allCases {
            #expect(try read(changed(commitment, .both), by: kind).code == .wrongKey)
        }
        #expect(try read(changed(commitment, .front), by: .whole).code == .copiesDisagree)
        #expect(try read(changed(commitment, .tail), by: .stream).code == .copiesDisagree)
    }
}
