import Benchmark
import CAllocations

extension BenchmarkMetric {
    /// Calls of malloc and its kin while the work was measured.
    static let allocations = BenchmarkMetric.custom("allocations", polarity: .prefersSmaller, useScalingFactor: false)
}

/// Whose allocations are counted.
enum AllocationCount {
    case thisThread
    case allThreads

    static let isAvailable = allocations_are_counted()

    var current: UInt64 {
        switch self {
        case .thisThread: allocations_of_this_thread()
        case .allThreads: allocations_of_all_threads()
        }
    }
}

extension Benchmark {
    /// Measures `body`, the time and the allocations of it and of nothing else.
    ///
    /// - Parameter units: how many chunks, ranges or calls it does. What is reported is for one of them.
    func measure(
        counting count: AllocationCount = .thisThread, units: Int = 1, _ body: () throws -> Void
    ) rethrows {
        startMeasurement()
        let before = count.current
        try body()
        let after = count.current
        stopMeasurement()
        if AllocationCount.isAvailable { measurement(.allocations, Int(after - before) / units) }
    }
}
