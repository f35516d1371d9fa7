import Testing
import VaultFile
import VaultTestSupport

/// Missing bytes, and bytes too many.
@Suite struct CutsAndAdditions {
    /// Every offset in a small container; in a larger one every 13th, and all around the borders of its parts.
    private static func places(_ sample: Sample) -> [Int] {
        let count = sample.container.count
        guard count > 2600 else { return Array(0..<count) }
        let borders = [0, sample.capacity.bytes, count - 32 - sample.capacity.bytes, count - 32, count]
        return (0..<count).filter { place in
            place.isMultiple(of: 13) || borders.contains { abs($0 - place) < 6 }
        }
    }

    private static func check(_ sample: Sample, _ change: (Int) -> [UInt8]) throws {
        var complaints: [String] = []
        for place in places(sample) {
            if let text = try sample.complaint(about: change(place), allowed: .errors) {
                complaints.append("at \(place): \(text)")
            }
        }
        #expect(complaints.isEmpty, "\(complaints.count), like \(complaints.prefix(3))")
    }

    @Test(arguments: Sample.all) func endCutOff(_ sample: Sample) throws {
        try Self.check(sample) { [UInt8](sample.container.prefix($0)) }
    }

    @Test(arguments: Sample.all) func beginningCutOff(_ sample: Sample) throws {
        try Self.check(sample) { [UInt8](sample.container.dropFirst($0 + 1)) }
    }

    @Test(arguments: Sample.all) func byteTakenOut(_ sample: Sample) throws {
        try Self.check(sample) { place in
            var changed = sample.container
            changed.remove(at: place)
            return changed
        }
    }

    @Test(arguments: Sample.all) func byteDoubled(_ sample: Sample) throws {
        try Self.check(sample) { place in
            var changed = sample.container
            changed.insert(changed[place], at: place)
            return changed
        }
    }

    @Test(arguments: Sample.all) func somethingAppended(_ sample: Sample) throws {
        let whole = sample.container
        let endings: [[UInt8]] = [
            [0], [0xFF], [0x0A], [UInt8](repeating: 0, count: 512), [UInt8](repeating: 0, count: 4096),
            [UInt8](whole.suffix(32)), [UInt8](whole.suffix(32 + sample.capacity.bytes)), whole,
        ]
        for ending in endings {
            #expect(try sample.complaint(about: whole + ending, allowed: .errors) == nil)
            let read = try read(whole + ending, by: .stream, keys: sample.keys, context: sample.context)
            #expect(read.code == .trailingData)
        }
    }

    /// The names of the errors at both ends of a stream (Spec, STR-2).
    @Test func namesOfCuts() throws {
        let container = try Sample.symmetric().container
        for count in 0..<container.count {
            let stream = try read([UInt8](container.prefix(count)), by: .stream)
            #expect(stream.code == .truncated, "\(count)")
            if count < 2080 {
                #expect(try read([UInt8](container.prefix(count)), by: .whole).code == .truncated, "\(count)")
            }
        }
        for strange in [[0x88], [0x89, 0x57], [UInt8](repeating: 0, count: 100), [UInt8](repeating: 7, count: 5000)] {
            for kind in ReaderKind.allCases { #expect(try read(strange, by: kind).code == .notVaultfile) }
        }
    }
}
