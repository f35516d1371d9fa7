import Benchmark
import CAllocations
import Foundation

extension BenchmarkMetric {
    /// The number of calls of malloc and similar functions during the work.
    static let allocations = BenchmarkMetric.custom("allocations", polarity: .prefersSmaller, useScalingFactor: false)

    /// The processor time of the work. Unlike elapsed time, it does not depend on other processes.
    static let processorTime = BenchmarkMetric.custom(
        "processorNanoseconds", polarity: .prefersSmaller, useScalingFactor: false)
}

/// The cost of work so far, in the calling thread or in all threads.
enum Cost {
    case thisThread
    case allThreads

    static let countsAllocations = allocations_are_counted()

    var allocations: UInt64 {
        switch self {
        case .thisThread: allocations_of_this_thread()
        case .allThreads: allocations_of_all_threads()
        }
    }

    /// In nanoseconds.
    var processorTime: Int {
        var time = timespec()
        clock_gettime(self == .thisThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

extension Benchmark {
    /// Measures only `body`, not its preparation.
    ///
    /// - Parameter units: The number of chunks or calls in `body`. Allocations are reported for one, times for all.
    func measure(_ cost: Cost = .thisThread, units: Int = 1, _ body: () throws -> Void) rethrows {
        startMeasurement()
        let (allocations, time) = (cost.allocations, cost.processorTime)
        try body()
        let (allocationsAfter, timeAfter) = (cost.allocations, cost.processorTime)
        stopMeasurement()
        measurement(.processorTime, timeAfter - time)
        if Cost.countsAllocations { measurement(.allocations, Int(allocationsAfter - allocations) / units) }
    }
}
