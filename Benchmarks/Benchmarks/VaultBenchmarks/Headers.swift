import Benchmark
import VaultFile

/// Registers benchmarks of the work that is done once for a container: slots, headers, the manifest.
func registerHeaders() {
    for count in [1, 8] {
        let slots = count == 1 ? "1 slot" : "\(count) slots"
        let keys = Prepared { try (0..<count).map { _ in try SymmetricKey.generate() } }
        Benchmark(named("make an empty container of \(slots)"), configuration: .once) { benchmark in
            let recipients = try keys.value().map { Recipient.key($0) }
            try benchmark.measure {
                let writer = try VaultWriter(for: recipients)
                try writer.finish { blackHole($0.count) }
            }
        }

        let made = Prepared { try container(of: [], for: keys.value().map { Recipient.key($0) }) }
        Benchmark(named("open a container by the last of \(slots)"), configuration: .once) { benchmark in
            let source = MemorySource(try made.value())
            let last = KeySet(keys: try keys.value().suffix(1))
            try benchmark.measure {
                blackHole(try SeekableVaultReader(source, with: Credentials(last)).length)
            }
        }
    }

    let headers = Prepared { try container(of: []) }
    Benchmark(named("inspect both headers without a key"), configuration: .once) { benchmark in
        let source = MemorySource(try headers.value())
        try benchmark.measure {
            blackHole(try Inspection(source).containerLength)
        }
    }

    let described = SealOptions.describing
    Benchmark(named("make an empty container with a full manifest"), configuration: .once) { benchmark in
        try benchmark.measure {
            let writer = try VaultWriter(for: [.key(key)], options: described)
            try writer.finish { blackHole($0.count) }
        }
    }
    let full = Prepared { try container(of: [], options: described) }
    Benchmark(named("open a container with a full manifest"), configuration: .once) { benchmark in
        let source = MemorySource(try full.value())
        let keys = KeySet(keys: [key])
        try benchmark.measure {
            blackHole(try SeekableVaultReader(source, with: Credentials(keys)).opened.manifest.plaintextLength)
        }
    }
}

extension SealOptions {
    /// Options for a manifest with every member that a file can have.
    static var describing: SealOptions {
        var options = SealOptions()
        options.digest = true
        options.metadata.contentType = "application/octet-stream"
        options.metadata.name = "a-name-of-an-ordinary-length.tar"
        options.metadata.modified = Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_789)
        options.metadata.permissions = 0o640
        return options
    }
}
