import Benchmark
import Foundation
import SystemPackage
import VaultFile

/// Registers benchmarks of whole files with threads, and of rotation, in a folder in memory.
func registerFiles() {
    let scratch = Prepared { try ScratchFolder() }
    let size = 64 << 20
    let chunks = size / ChunkSize.standard.bytes
    for compression in [Compression.none, .deflate] {
        var options = SealOptions()
        options.compression = compression
        let sealOptions = options
        let packed = compression == .deflate ? ", packed" : ""
        let plain = Prepared {
            // Bytes with only five random bits compress.
            try scratch.value().write(
                compression == .deflate ? plaintext(size).map { $0 & 0x1F } : plaintext(size), to: "plain\(packed)")
        }
        let made = Prepared { () throws -> FilePath in
            let path = try scratch.value().path.appending("plain\(packed).vault")
            try Vault.encryptFile(at: plain.value(), to: path, for: [.key(key)], options: sealOptions)
            return path
        }
        for jobs in [1, 2] {
            let threads = (jobs == 1 ? "1 thread" : "\(jobs) threads") + packed
            Benchmark(named("encrypt a file of 64 MiB with \(threads)"), configuration: .perChunk) { benchmark in
                try withFiles(from: plain.value()) { input, output in
                    try benchmark.measure(.allThreads, units: chunks) {
                        try Vault.encrypt(from: input, to: output, for: [.key(key)], options: sealOptions, jobs: jobs)
                    }
                }
            } teardown: {
                scratch.discard()
            }
            Benchmark(named("decrypt a file of 64 MiB with \(threads)"), configuration: .perChunk) { benchmark in
                try withFiles(from: made.value()) { input, output in
                    try benchmark.measure(.allThreads, units: chunks) {
                        try Vault.decrypt(from: input, to: output, with: .key(key), jobs: jobs)
                    }
                }
            } teardown: {
                scratch.discard()
            }
        }
    }

    let other = Prepared { try SymmetricKey.generate() }
    let made = Prepared {
        let bytes = try container(of: plaintext(size))
        return try scratch.value().write(bytes, to: "rotated.vault")
    }
    Benchmark(named("rotate a file to another key and back"), configuration: .once) { benchmark in
        let path = try made.value()
        let (here, there) = (key, try other.value())
        try benchmark.measure(units: 2) {
            for (old, new) in [(here, there), (there, here)] {
                let change = KeyChange(adding: [.key(new)], removing: SlotSelection(ids: [old.id]))
                try Vault.rotate(at: path, change, with: .key(old))
            }
        }
    } teardown: {
        scratch.discard()
    }
}

/// Opens a file to read and a new file beside it to write, for the time of `body`.
private func withFiles(
    from input: FilePath, _ body: (FileDescriptor, FileDescriptor) throws -> Void
) throws {
    let source = try FileDescriptor.open(input, .readOnly)
    try source.closeAfter {
        let path = input.removingLastComponent().appending("output")
        let output = try FileDescriptor.open(
            path, .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
        // The output has no name, like the command's outputs until they are complete: only then may threads write
        // plaintext at its offset.
        try FileManager.default.removeItem(atPath: path.string)
        try output.closeAfter { try body(source, output) }
    }
}
