import Benchmark
import CAllocations
import Foundation

extension BenchmarkMetric {
    /// Calls of malloc and its kin while the work was measured.
    static let allocations = BenchmarkMetric.custom("allocations", polarity: .prefersSmaller, useScalingFactor: false)

    /// Processor time that the work has taken. Unlike the time on the wall it does not depend on what else is running.
    static let processorTime = BenchmarkMetric.custom(
        "processorNanoseconds", polarity: .prefersSmaller, useScalingFactor: false)
}

/// What work has cost so far, of the calling thread or of all threads.
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
    /// Measures `body`, and nothing that prepares it.
    ///
    /// - Parameter units: how many chunks or calls it does. Allocations are reported for one of them, times for all.
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
