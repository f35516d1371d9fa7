import Benchmark
import VaultFile

/// A benchmark's name with the library that enciphers: libcrypto, or libsodium in a build without the trait. It has no
/// spaces: the harness writes thresholds under a name without them, and looks for the name as it is.
func named(_ work: String) -> String {
    let engine = Vault.engine.prefix { $0 != " " }
    return String("\(work) by \(engine)".map { $0 == " " ? "-" : $0 })
}

let benchmarks: @Sendable () -> Void = {
    registerRecords()
    registerHeaders()
    registerRanges()
    registerFiles()
}

extension Benchmark.Configuration {
    /// For what is done chunk after chunk: the allocations of one are held exactly.
    static var perChunk: Benchmark.Configuration {
        configuration(lasting: .seconds(2), allocations: BenchmarkThresholds(absolute: [.p90: 0]))
    }

    /// For what is done once.
    static var once: Benchmark.Configuration {
        configuration(lasting: .seconds(1), allocations: BenchmarkThresholds(relative: [.p90: 100]))
    }

    /// How far a result may lie from the files in Thresholds is said here. Processors differ, so times have much room.
    /// With 100 per cent and more an improvement is never a deviation.
    private static func configuration(
        lasting duration: Duration, allocations: BenchmarkThresholds
    ) -> Benchmark.Configuration {
        var thresholds: [BenchmarkMetric: BenchmarkThresholds] = [
            .processorTime: BenchmarkThresholds(relative: [.p90: 400])
        ]
        if Cost.countsAllocations { thresholds[.allocations] = allocations }
        return Benchmark.Configuration(
            metrics: Array(thresholds.keys), warmupIterations: 2, maxDuration: duration, maxIterations: 10_000,
            thresholds: thresholds)
    }
}
