import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultSystem
import VaultTestSupport

/// Zeros as holes in outputs, and holes of inputs that are not read.
@Suite(.bothEngines) struct SparseTests {
    private let key = testKey(1)
    private static let block = 4096

    /// Data, zeros in whole and in broken blocks, and zeros at the end.
    private static func text(endingIn zeros: Int) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: 100 * block)
        let data = randomBytes(3 * block, seed: 3)
        for start in [0, 10 * block, 40 * block + 100, 90 * block - 1] {
            text.replaceSubrange(start..<start + data.count, with: data)
        }
        return text + [7] + [UInt8](repeating: 0, count: zeros)
    }

    private func open(_ path: FilePath, _ mode: FileDescriptor.AccessMode = .readOnly) throws -> FileDescriptor {
        try FileDescriptor.open(path, mode, options: .create, permissions: .ownerReadWrite)
    }

    private func allocated(_ path: FilePath) throws -> Int64 { try Stat(path).blocksAllocated * 512 }

    @Test(
        "a sparse output has the same bytes and takes less room, whatever writes it", arguments: [1, 3],
        [Compression.none, .deflate])
    func output(_ jobs: Int, _ compression: Compression) throws {
        let folder = try TemporaryFolder()
        for zeros in [0, 1, Self.block - 1, 50 * Self.block, 50 * Self.block + 17] {
            let text = Self.text(endingIn: zeros)
            let options = SealOptions(chunk: .minimum, digest: true, compression: compression)
            let container = try folder.write(sealed(text, options: options), to: "in")
            let input = try open(container)
            defer { try? input.close() }
            // A file with a name, which is written in order.
            let named = try open(folder["named"], .readWrite)
            try Vault.decrypt(from: input, to: named, with: .key(key), jobs: jobs, sparse: true)
            #expect(try named.seek(offset: 0, from: .current) == Int64(text.count), "at its end")
            try named.close()
            // A file without a name, which is written in any order.
            let file = try OutputFile(at: folder["new"])
            try Vault.decrypt(from: input, to: file.descriptor, with: .key(key), jobs: jobs, sparse: true)
            try file.commit()
            // From a pipe.
            let piped = try open(folder["piped"], .readWrite)
            try feeding(sealed(text, options: options)) { source in
                _ = try Vault.decrypt(from: source, to: piped, with: .key(key), jobs: jobs, sparse: true)
            }
            try piped.close()
            for name in ["named", "new", "piped"] {
                #expect(try folder.read(name) == text, "\(name), \(zeros)")
                let room = try allocated(folder[name])
                #expect(room <= 25 * Self.block, "\(name), \(zeros): \(room)")
                try folder.remove(name)
            }
            // Without the option, zeros are written.
            try Vault.decryptFile(at: container, to: folder["full"], with: .key(key))
            #expect(try allocated(folder["full"]) >= Int64(text.count / Self.block * Self.block))
            try folder.remove("full")
        }
    }

    @Test("a range, and an output that has bytes before it") func parts() throws {
        let folder = try TemporaryFolder()
        let text = Self.text(endingIn: 20 * Self.block)
        let container = try folder.write(sealed(text, options: SealOptions(chunk: .minimum)), to: "in")
        let reader = try SeekableVaultReader(FileSource(at: container), with: .key(key))
        let ranges: [Range<UInt64>] = [0..<0, 5..<204_803, 4096..<UInt64(text.count), 204_800..<245_760]
        for range in ranges {
            let output = try open(folder["out"], .readWrite)
            try output.writeFully([1, 2, 3].span)
            try reader.decrypt(range, to: output, jobs: 2, sparse: true)
            try output.close()
            let part = text[Int(range.lowerBound)..<Int(range.upperBound)]
            #expect(try folder.read("out") == [1, 2, 3] + part, "\(range)")
            try folder.remove("out")
        }
        // A pipe gets every byte.
        let (result, bytes) = try collecting { try reader.decrypt(to: $0, jobs: 2, sparse: true) }
        try result.get()
        #expect(bytes == text)
    }

    @Test("zeros are checked before they become a hole") func damage() throws {
        let folder = try TemporaryFolder()
        let text = [UInt8](repeating: 0, count: 64 * Self.block)
        for compression in [Compression.none, .deflate] {
            var container = try sealed(text, options: SealOptions(chunk: .minimum, compression: compression))
            container[container.count / 2] ^= 1
            let input = try open(folder.write(container, to: "in"))
            defer { try? input.close() }
            let file = try OutputFile(at: folder["out"])
            #expect(throws: VaultError.self) {
                try Vault.decrypt(from: input, to: file.descriptor, with: .key(key), jobs: 2, sparse: true)
            }
        }
    }

    // MARK: Inputs

    /// A file of 8 MiB with a little data, that seems to have changed long ago, and how many bytes are read of it.
    private func encrypt(
        _ path: FilePath, to output: FilePath, jobs: Int, options: SealOptions = SealOptions(), age: Int64 = 3600,
        onRead: @escaping @Sendable () -> Void = {}
    ) throws -> Int {
        let count = Atomic(0)
        var calls = SystemCalls.current
        let (readAt, status) = unsafe (calls.readAt, calls.status)
        unsafe calls.readAt = { file, bytes, offset in
            onRead()
            let done = unsafe readAt(file, bytes, offset)
            count.add(max(0, done), ordering: .relaxed)
            return done
        }
        calls.status = { file in
            status(file).map { real in
                FileStatus(
                    kind: real.kind, size: real.size, identity: real.identity, linkCount: real.linkCount,
                    changed: Timestamp(seconds: Timestamp.now.seconds - age), allocated: real.allocated)
            }
        }
        let input = try open(path)
        let file = try open(output, .readWrite)
        defer {
            try? input.close()
            try? file.close()
        }
        try SystemCalls.$current.withValue(calls) {
            _ = try Vault.encrypt(
                from: input, to: file, for: [.key(key)], options: options, jobs: jobs, randomness: .fixed(seed: 5))
        }
        return count.load(ordering: .relaxed)
    }

    /// Makes a sparse file and the same bytes without holes.
    private func prepared(_ folder: TemporaryFolder, length: Int) throws {
        let sparse = try open(folder["sparse"], .readWrite)
        for (place, data) in [(0, 5000), (1 << 20, 1), (3 << 20 + 70_000, 600_000)] where place + data <= length {
            try sparse.writeFully(randomBytes(data, seed: UInt64(place + 1)).span, at: UInt64(place))
        }
        try sparse.resize(to: Int64(length))
        try sparse.close()
        try folder.write(folder.read("sparse"), to: "full")
    }

    @Test("holes are not read, and the container is the same", arguments: [1, 3]) func input(_ jobs: Int) throws {
        let folder = try TemporaryFolder()
        for length in [8 << 20, 8 << 20 + 12_345, 70_000] {
            try prepared(folder, length: length)
            for options in [
                SealOptions(), SealOptions(chunk: .minimum), SealOptions(chunk: .standard, compression: .deflate),
                SealOptions(chunk: .standard, digest: true),
            ] {
                let read = try encrypt(folder["sparse"], to: folder["a"], jobs: jobs, options: options)
                let all = try encrypt(folder["full"], to: folder["b"], jobs: jobs, options: options)
                #expect(try folder.read("a") == folder.read("b"), "\(length)")
                if length > 1 << 20, !options.digest { #expect(read < 4 << 20 && all > 7 << 20, "\(read), \(all)") }
                for name in ["a", "b"] { try folder.remove(name) }
            }
            for name in ["sparse", "full"] { try folder.remove(name) }
        }
    }

    @Test("a file that has just changed is read as a whole") func fresh() throws {
        let folder = try TemporaryFolder()
        try prepared(folder, length: 8 << 20)
        #expect(try encrypt(folder["sparse"], to: folder["a"], jobs: 1, age: 30) > 7 << 20)
    }

    @Test("a file that becomes shorter where it has a hole is noticed") func shorter() throws {
        let folder = try TemporaryFolder()
        try prepared(folder, length: 8 << 20)
        let path = folder["sparse"]
        let error = #expect(throws: VaultError.self) {
            _ = try encrypt(path, to: folder["a"], jobs: 1) {
                // Only holes follow what is left.
                let file = try? FileDescriptor.open(path, .readWrite)
                try? file?.resize(to: 6 << 20)
                try? file?.close()
            }
        }
        #expect(error?.code == .inputFailed)
    }
}
