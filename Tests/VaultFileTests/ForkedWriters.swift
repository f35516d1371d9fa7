#if os(Linux) || os(macOS)
import CPlatform
import Testing
import VaultFile
import VaultFormat
import VaultTestSupport

/// A child that `fork` makes has a copy of every writer of its parent. If both used it, they would encrypt different
/// bytes under the same nonces.
@Suite struct ForkedWriters {
    /// The statuses by which a child reports what a call gave.
    private static let (sealed, forked, other): (Int32, Int32, Int32) = (0, 1, 2)

    private static func report(_ body: () throws -> Void) -> Never {
        do {
            try body()
            _exit(sealed)
        } catch let error as VaultError where error.code == .forked {
            _exit(forked)
        } catch {
            _exit(other)
        }
    }

    private static func status(of child: pid_t) -> Int32 {
        var status: Int32 = 0
        guard unsafe waitpid(child, &status, 0) == child, status & 0x7F == 0 else { return -1 }
        return (status >> 8) & 0xFF
    }

    /// Runs `body` in a child and returns what the child reports.
    private static func inChild(_ body: () throws -> Void) -> Int32 {
        let child = vaultfile_fork()
        guard child == 0 else { return status(of: child) }
        // A child that hangs ends, and fails the test.
        alarm(20)
        report(body)
    }

    /// The child must write nothing: its file is that of the parent.
    private static func isCalled(_: Span<UInt8>) throws { throw CancellationError() }

    @Test("a writer refuses to seal in a child, and goes on in its parent") func writer() async {
        await #expect(processExitsWith: .success) {
            for size in [10, 100_000] {
                let (plaintext, more) = (randomBytes(size, seed: 3), randomBytes(200_000, seed: 4))
                var container: [UInt8] = []
                var writer = try VaultWriter(for: [.key(testKey(1))])
                try writer.write(plaintext.span) { container.append(copying: $0) }
                let first = Self.inChild { try writer.write(more.span, to: Self.isCalled) }
                let second = Self.inChild {
                    let grandchild = Self.inChild { try writer.write(more.span, to: Self.isCalled) }
                    guard grandchild == Self.forked else { throw CancellationError() }
                }
                guard first == Self.forked, second == Self.sealed else { exit(1) }
                try writer.finish { container.append(copying: $0) }
                let whole = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
                guard try whole.bytes(0..<whole.length) == plaintext else { exit(2) }
            }
            exit(0)
        }
    }

    @Test("a writer refuses to seal the manifest in a child") func end() async {
        await #expect(processExitsWith: .success) {
            var writer: VaultWriter? = try VaultWriter(for: [.key(testKey(1))])
            let found = Self.inChild { try writer.take()?.finish(to: Self.isCalled) }
            guard found == Self.forked, try writer.take()?.finish(to: { _ in }) != nil else { exit(1) }
            exit(0)
        }
    }

    @Test("a call that encrypts a file refuses to go on in a child") func file() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let plaintext = randomBytes(3 << 20, seed: 5)
            let input = try FileDescriptor.open(folder.write(plaintext, to: "input"), .readOnly)
            let output = try FileDescriptor.open(
                folder["output"], .writeOnly, options: .create, permissions: .ownerReadWrite)
            var child: pid_t?
            func encrypt() throws {
                try Vault.encrypt(from: input, to: output, for: [.key(testKey(1))], jobs: 1) { _ in
                    if child == nil { child = vaultfile_fork() }
                    if child == 0 { alarm(20) }
                }
            }
            do {
                try encrypt()
            } catch {
                guard child == 0 else { exit(1) }
                Self.report { throw error }
            }
            guard let child else { exit(2) }
            // The child shares the files' offsets, and must not have written.
            guard child != 0 else { _exit(Self.sealed) }
            guard Self.status(of: child) == Self.forked else { exit(3) }
            exit(0)
        }
    }

    @Test("a child makes writers of its own") func ownWriter() async {
        await #expect(processExitsWith: .success) {
            _ = try VaultWriter(for: [.key(testKey(1))])
            let found = Self.inChild {
                var container: [UInt8] = []
                var writer = try VaultWriter(for: [.key(testKey(1))])
                try writer.write([1, 2, 3].span) { container.append(copying: $0) }
                try writer.finish { container.append(copying: $0) }
                let whole = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
                guard try whole.bytes(0..<3) == [1, 2, 3] else { throw CancellationError() }
            }
            exit(found == Self.sealed ? 0 : 1)
        }
    }
}
#endif
