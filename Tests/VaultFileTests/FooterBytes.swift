import Testing
import VaultFile
import VaultTestSupport

/// Every value of every byte of the footer. It is a hint, and no other hint may lead anywhere.
@Suite struct FooterBytes {
    @Test(arguments: Sample.all.filter { ["symmetric", "4096"].contains($0.name) })
    func everyValue(_ sample: Sample) throws {
        var changed = sample.container
        var complaints: [String] = []
        for place in changed.count - 32..<changed.count {
            let right = changed[place]
            for value in UInt8.min...UInt8.max where value != right {
                changed[place] = value
                if let text = try sample.complaint(about: changed, allowed: .errors) {
                    complaints.append("byte \(place) as \(value): \(text)")
                }
            }
            changed[place] = right
        }
        #expect(complaints.isEmpty, "\(complaints.count), like \(complaints.prefix(3))")
    }

    /// A damaged footer has a name of its own, in front of an end that is right and behind a beginning that is.
    @Test func name() throws {
        var changed = try Sample.symmetric().container
        changed[changed.count - 1] ^= 1
        for kind in ReaderKind.allCases { #expect(try read(changed, by: kind).code == .footerDamaged) }
        changed[0] ^= 1
        for kind in ReaderKind.allCases { #expect(try read(changed, by: kind).code == .notVaultfile) }
    }
}
