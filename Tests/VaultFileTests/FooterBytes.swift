import Testing
import VaultFile
import VaultTestSupport

/// Every value of every byte of the footer. It is a hint, and a false hint must lead nowhere.
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

    /// A footer that agrees with the file's length and with itself, but not with the header's capacity.
    @Test func otherCapacity() throws {
        let forge = try Forge(seed: 97)
        let front = forge.header([try forge.slot(testKey(1))])
        let text = randomBytes(2000, seed: 1)
        let manifest = Manifest(plaintextLength: 2000, digest: nil, metadata: Metadata())
        let end = forge.record(manifest.encoded(commitment: forge.preamble.commitment), kind: .manifest, index: 1)
        var container = front + forge.records(text) + end
        let wide = HeaderCapacity.capacity(1024)
        container.pad(to: Int(wide.aligned(UInt64(container.count))))
        container += front
        container.pad(to: container.count + 512)
        let length = UInt64(container.count + 32)
        container.append(bigEndian: UInt64(512 + 2020))
        container.append(bigEndian: length)
        container.append(bigEndian: UInt32(1024))
        container.append(bigEndian: UInt32(512))
        container += Preamble.magic.reversed()
        #expect(try read(container, by: .stream).error != nil)
        #expect(try read(container, by: .whole).code == .footerDamaged)
        #expect(try Inspection(MemorySource(container)).problem?.code == .footerDamaged)
    }

    /// A damaged footer has an error of its own, which comes before a right end and after a right beginning.
    @Test func name() throws {
        var changed = try Sample.symmetric().container
        changed[changed.count - 1] ^= 1
        for kind in ReaderKind.allCases { #expect(try read(changed, by: kind).code == .footerDamaged) }
        changed[0] ^= 1
        for kind in ReaderKind.allCases { #expect(try read(changed, by: kind).code == .notVaultfile) }
    }
}
