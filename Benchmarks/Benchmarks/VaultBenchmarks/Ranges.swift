import Benchmark
import VaultFile

/// Registers benchmarks of ranges from the middle of an open container in memory.
func registerRanges() {
    let size = 64 << 20
    let made = Prepared {
        try SeekableVaultReader(MemorySource(container(of: plaintext(size))), with: .key(key))
    }
    for (name, count) in [("1 byte", 1), ("4 KiB", 4096), ("1 MiB", 1 << 20)] {
        Benchmark(named("read a range of \(name) out of 64 MiB"), configuration: .once) { benchmark in
            let reader = try made.value()
            let start = UInt64(size / 2 + 12_345)
            try benchmark.measure {
                try reader.read(start..<start + UInt64(count)) { blackHole($0.count) }
            }
        }
    }
}
