import Benchmark
import SystemPackage
import VaultFile

/// Whole files through the threads, and rotation, in a folder in memory.
func registerFiles() {
    let scratch = Prepared { try ScratchFolder() }
    let size = 64 << 20
    let chunks = size / ChunkSize.standard.bytes
    let plain = Prepared { try scratch.value().write(plaintext(size), to: "plain") }
    let made = Prepared { () throws -> FilePath in
        let path = try scratch.value().path.appending("plain.vault")
        try Vault.encryptFile(at: plain.value(), to: path, for: [.key(key)])
        return path
    }

    for jobs in [1, 2] {
        let threads = jobs == 1 ? "1 thread" : "\(jobs) threads"
        Benchmark(named("encrypt a file of 64 MiB with \(threads)"), configuration: .perChunk) { benchmark in
            try withFiles(from: plain.value()) { input, output in
                try benchmark.measure(.allThreads, units: chunks) {
                    try Vault.encrypt(from: input, to: output, for: [.key(key)], jobs: jobs)
                }
            }
        } teardown: {
            scratch.discard()
        }
        Benchmark(named("decrypt a file of 64 MiB with \(threads)"), configuration: .perChunk) { benchmark in
            try withFiles(from: made.value()) { input, output in
                try benchmark.measure(.allThreads, units: chunks) {
                    try Vault.decrypt(from: input, to: output, keys: KeySet(keys: [key]), jobs: jobs)
                }
            }
        } teardown: {
            scratch.discard()
        }
    }

    let other = Prepared { try SymmetricKey.generate() }
    Benchmark(named("rotate a file to another key and back"), configuration: .once) { benchmark in
        let path = try made.value()
        let (here, there) = (key, try other.value())
        try benchmark.measure(units: 2) {
            for (old, new) in [(here, there), (there, here)] {
                let change = KeyChange(adding: [.key(new)], removing: SlotSelection(ids: [old.id]))
                try Vault.rotate(at: path, change, keys: KeySet(keys: [old]))
            }
        }
    } teardown: {
        scratch.discard()
    }
}

/// Lends a file to read and one to write, a fresh one beside it.
private func withFiles(
    from input: FilePath, _ body: (FileDescriptor, FileDescriptor) throws -> Void
) throws {
    let source = try FileDescriptor.open(input, .readOnly)
    try source.closeAfter {
        let output = try FileDescriptor.open(
            input.removingLastComponent().appending("output"), .readWrite, options: [.create, .truncate],
            permissions: .ownerReadWrite)
        try output.closeAfter { try body(source, output) }
    }
}
