import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

extension AsyncTests {
    /// Asynchronous calls that read a container: their results and their cancellation.
    @Suite struct Reading {
        private static let text = mixedBytes(4 << 20, seed: 43)
        private static let key = Credentials.key(testKey(1))

        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        private static func reader(_ compression: Compression = .none) async throws -> SeekableVaultReader {
            let options = SealOptions(chunk: .minimum, digest: true, compression: compression)
            let container = try sealed(text, options: options)
            return try await SeekableVaultReader(MemorySource(container), with: key)
        }

        @Test("the whole plaintext, or a range of it, is lent in order", arguments: [Compression.none, .deflate])
        func lending(_ compression: Compression) async throws {
            let reader = try await Self.reader(compression)
            let found = Mutex<[UInt8]>([])
            try await reader.readAll { bytes in found.withLock { $0.append(copying: bytes) } }
            #expect(found.withLock { $0 } == Self.text)
            found.withLock { $0 = [] }
            try await reader.read(70_000..<1_000_001) { bytes in found.withLock { $0.append(copying: bytes) } }
            #expect(found.withLock { $0[...] } == Self.text[70_000..<1_000_001])
        }

        @Test("a task that is cancelled while it reads gets no more bytes", arguments: [false, true])
        func cancelledReading(whole: Bool) async throws {
            let reader = try await Self.reader()
            let count = Mutex(0)
            let task = Task {
                let sink: @Sendable (Span<UInt8>) -> Void = { bytes in
                    count.withLock { $0 += bytes.count }
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                }
                try await whole ? reader.readAll(to: sink) : reader.read(0..<reader.length, to: sink)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect((1..<Self.text.count).contains(count.withLock { $0 }))
        }

        @Test("a container from a pipe is opened, and then decrypted") func piped() async throws {
            let container = try sealed(Self.text)
            let input = try FileDescriptor.open(folder.write(container, to: "vault"), .readOnly)
            defer { try? input.close() }
            let output = try FileDescriptor.open(
                folder["plain"], .writeOnly, options: .create, permissions: .ownerReadWrite)
            defer { try? output.close() }
            let beginning = Mutex<[UInt8]>([])
            let opened = try await PipedContainer(from: input, with: Self.key) { bytes in
                beginning.withLock { $0 = bytes }
            }
            let progress = Mutex<UInt64>(0)
            let result = try await opened.decrypt(to: output) { done in progress.withLock { $0 = done } }
            #expect(result.manifest.plaintextLength == UInt64(Self.text.count))
            #expect(progress.withLock { $0 } == UInt64(Self.text.count))
            #expect(beginning.withLock { container.starts(with: $0) && !$0.isEmpty })
            #expect(try folder.read("plain") == Self.text)
        }

        /// How many bytes of a container a pipe has when the call waits for more.
        @Test("a cancelled task ends its wait for a container in a pipe", arguments: [0, 100, 8192])
        func cancelledPipe(_ count: Int) async throws {
            precondition(ignoresBrokenPipes)
            let pipe = try FileDescriptor.pipe()
            defer {
                try? pipe.readEnd.close()
                try? pipe.writeEnd.close()
            }
            let container = try sealed([UInt8](Self.text.prefix(20_000)), options: SealOptions(chunk: .minimum))
            try pipe.writeEnd.writeFully(container.span.extracting(0..<count))
            let isOpen = Mutex(false)
            let task = Task {
                let opened = try await PipedContainer(from: pipe.readEnd, with: Self.key)
                isOpen.withLock { $0 = true }
                _ = try await opened.decrypt(to: nil)
            }
            // The container opens if its whole header is in the pipe.
            let clock = ContinuousClock()
            let start = clock.now
            while count == 8192, !isOpen.withLock({ $0 }), clock.now - start < .seconds(60) {
                try await Task.sleep(for: .milliseconds(5))
            }
            try await Task.sleep(for: .milliseconds(150))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(isOpen.withLock { $0 } == (count == 8192))
        }

        @Test("a container is inspected, then damaged, then recovered into a file") func recovery() async throws {
            var container = try sealed(Self.text)
            let inspection = try await Inspection(MemorySource(container))
            #expect(inspection.problem == nil && inspection.streamLength == UInt64(Self.text.count))
            container[0..<4096] = [UInt8](repeating: 0, count: 4096)[...]
            container[container.count / 2] ^= 1
            let output = try FileDescriptor.open(
                folder["plain"], .writeOnly, options: .create, permissions: .ownerReadWrite)
            defer { try? output.close() }
            let damage = Mutex<[Damage]>([])
            let recovered = try await Recovery(MemorySource(container), with: Self.key).decrypt(
                to: output, onDamage: { lost in damage.withLock { $0.append(lost) } })
            let lost = try #require(damage.withLock { $0.first?.plaintextRange })
            #expect(!recovered.isComplete && recovered.lostLength == UInt64(lost.count))
            var expected = Self.text
            for index in lost { expected[Int(index)] = 0 }
            #expect(try folder.read("plain") == expected)
        }
    }
}
