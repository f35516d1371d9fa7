import Benchmark
import VaultFile

/// Registers benchmarks that seal and open records in memory, with one thread, for every chunk size.
func registerRecords() {
    for chunk in chunkSizes {
        let size = chunk.size.bytes
        // About 16 MiB of plaintext in one measurement.
        let count = min(256, max(2, (16 << 20) / size))

        Benchmark(named("seal \(count) records of \(chunk.name)"), configuration: .perChunk) { benchmark in
            var options = SealOptions()
            options.chunkSize = chunk.size
            let piece = plaintext(size)
            var writer = try VaultWriter(for: [.key(key)], options: options)
            // The header comes out with the first 64 KiB. It does not count.
            for _ in 0..<max(2, (64 << 10) / size + 1) { try writer.write(piece.span) { blackHole($0.count) } }
            try benchmark.measure(units: count) {
                for _ in 0..<count { try writer.write(piece.span) { blackHole($0.count) } }
            }
        }

        let inputs = Prepared { () throws -> (beginning: [UInt8], rest: [UInt8]) in
            var options = SealOptions()
            options.chunkSize = chunk.size
            let whole = try container(of: plaintext(size * (count + 4)), options: options)
            // The container without its header, its first two and its last records, the manifest and the end.
            let start = 4096 + 2 * (size + 20)
            return (Array(whole[..<start]), Array(whole[start..<start + count * (size + 20)]))
        }
        Benchmark(named("open \(count) records of \(chunk.name)"), configuration: .perChunk) { benchmark in
            let input = try inputs.value()
            var reader = VaultReader(with: .key(key))
            try reader.push(input.beginning.span) { blackHole($0.count) }
            let piece = size + 20
            try benchmark.measure(units: count) {
                for index in 0..<count {
                    try reader.push(input.rest.span.extracting(index * piece..<(index + 1) * piece)) {
                        blackHole($0.count)
                    }
                }
            }
        }
    }
}
