import Testing
import VaultFile
import VaultTestSupport

/// Containers joined from parts of others that the same key opens.
@Suite struct Splices {
    private struct Part {
        let container: [UInt8]
        let plaintext: [UInt8]
    }

    /// Of equal geometry: two from one writer, two of other generations of the second, one under another context.
    private static func pool() throws -> [Part] {
        let texts = (0..<3).map { randomBytes(2 * 4096 + 30, seed: 100 + $0) }
        let options = SealOptions(chunk: .minimum, capacity: .least)
        let bound = SealOptions(chunk: .minimum, capacity: .least, context: testContext("other"))
        let forge = try Forge(seed: 40)
        let slots = [try forge.slot(testKey(1))]
        let headers = (1...3).map { forge.header(slots, generation: $0) }
        var parts = [
            Part(container: try sealed(texts[0], options: options), plaintext: texts[0]),
            Part(container: try sealed(texts[2], options: bound), plaintext: texts[2]),
        ]
        for header in headers {
            parts.append(Part(container: try forge.container(texts[1], front: header), plaintext: texts[1]))
        }
        return parts
    }

    @Test(arguments: 0..<4) func random(_ seed: UInt64) throws {
        let pool = try Self.pool()
        let count = pool[0].container.count
        for part in pool { #expect(part.container.count == count) }
        // The offsets where the parts of all of them begin.
        let borders = [0, 76, 448, 512, 516, 4628, 8744, 8794, 9326, 9728, count - 32]
        var random = SeededRandom(seed: seed)
        var opened = 0
        for round in 0..<400 {
            let cuts = (0..<1 + random.below(3)).map { _ in
                random.below(4) == 0 ? random.below(count) : random.pick(borders)
            }
            var spliced: [UInt8] = []
            for cut in cuts.sorted() + [count] {
                spliced += random.pick(pool).container[spliced.count..<cut]
            }
            if try Self.judge(spliced, pool, round) { opened += 1 }
        }
        // Some of them open: parts of one container, and header copies of several generations.
        #expect(opened > 0)
    }

    private static func judge(_ spliced: [UInt8], _ pool: [Part], _ round: Int) throws -> Bool {
        let stream = try read(spliced, by: .stream)
        let whole = try read(spliced, by: .whole)
        for reading in [stream, whole] {
            if let opened = reading.opened {
                #expect(pool.contains { $0.plaintext == reading.plaintext }, "round \(round)")
                #expect(opened.health != .intact || pool.contains { $0.container == spliced }, "round \(round)")
            } else {
                #expect(pool.contains { $0.plaintext.starts(with: reading.plaintext) }, "round \(round)")
            }
        }
        #expect(whole.agrees(withStream: stream), "round \(round)")
        return whole.opened != nil
    }

    /// Records of one container in other places, or in place of one another.
    @Test func recordsMoved() throws {
        let text = randomBytes(3 * 4096, seed: 9)
        let sample = try Sample(
            "moved", sealed(text, options: SealOptions(chunk: .minimum)), plaintext: text,
            keys: KeySet(keys: [testKey(1)]))
        let places = (0..<3).map { sample.capacity.bytes + $0 * 4116..<sample.capacity.bytes + ($0 + 1) * 4116 }
        for from in 0..<3 {
            for to in 0..<3 where to != from {
                var changed = sample.container
                changed.replaceSubrange(places[to], with: sample.container[places[from]])
                #expect(try sample.complaint(about: changed, allowed: .errors) == nil)
                changed.replaceSubrange(places[from], with: sample.container[places[to]])
                #expect(try sample.complaint(about: changed, allowed: .errors) == nil)
            }
            var missing = sample.container
            missing.removeSubrange(places[from])
            #expect(try sample.complaint(about: missing, allowed: .errors) == nil)
            var doubled = sample.container
            doubled.insert(contentsOf: sample.container[places[from]], at: places[from].lowerBound)
            #expect(try sample.complaint(about: doubled, allowed: .errors) == nil)
        }
    }
}
