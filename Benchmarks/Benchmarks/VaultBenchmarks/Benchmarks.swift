import Benchmark
import VaultFile

/// A benchmark's name with the library that encrypts the records: libcrypto, or libsodium in a build without the trait.
/// It has no spaces, because the harness replaces them when it writes thresholds, but not when it looks for them.
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
    /// For work on many chunks: the allocations for one chunk must equal the threshold.
    static var perChunk: Benchmark.Configuration {
        configuration(lasting: .seconds(2), allocations: BenchmarkThresholds(absolute: [.p90: 0]))
    }

    /// For work that is done once.
    static var once: Benchmark.Configuration {
        configuration(lasting: .seconds(1), allocations: BenchmarkThresholds(relative: [.p90: 100]))
    }

    /// How far a result may differ from the files in Thresholds. Processors differ, so times may differ by much. With
    /// 100 per cent and more, an improvement never counts as a deviation.
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
