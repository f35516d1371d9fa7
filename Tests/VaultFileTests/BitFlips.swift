import Testing
import VaultFile
import VaultTestSupport

/// Flips bits of one container of each kind.
@Suite struct BitFlips {
    @Test(arguments: Sample.small) func everyBit(_ sample: Sample) throws {
        try flip(sample) { _ in 0..<8 }
    }

    /// In the larger ones, every bit of the header, which makes them differ; otherwise one bit of each byte.
    @Test(arguments: Sample.large) func largerOnes(_ sample: Sample) throws {
        try flip(sample) {
            $0 > sample.capacity.bytes || Self.isInRow($0, of: sample) ? $0 % 8..<$0 % 8 + 1 : 0..<8
        }
    }

    private static func isInRow(_ place: Int, of sample: Sample) -> Bool {
        sample.container[max(0, place - 8)..<min(place + 8, sample.container.count)].allSatisfy { $0 == 0 }
    }

    private func flip(_ sample: Sample, bits: (Int) -> Range<Int>) throws {
        var changed = sample.container
        var complaints: [String] = []
        for place in changed.indices {
            for bit in bits(place) {
                changed[place] ^= 1 << bit
                if let text = try sample.complaint(about: changed, allowed: .errorsAndDamage) {
                    complaints.append("byte \(place), bit \(bit): \(text)")
                }
                changed[place] ^= 1 << bit
            }
        }
        #expect(complaints.isEmpty, "\(complaints.count), like \(complaints.prefix(3))")
        #expect(changed == sample.container)
    }

    /// Tests the check itself: it accepts the unchanged container and says so.
    @Test(arguments: Sample.all) func unchanged(_ sample: Sample) throws {
        #expect(try sample.complaint(about: sample.container, allowed: .anything) == nil)
        #expect(try sample.complaint(about: sample.container, allowed: .errorsAndDamage) == "stream: opened as intact")
        #expect(try sample.complaint(about: sample.container, allowed: .errors) == "stream: opened as intact")
    }
}
