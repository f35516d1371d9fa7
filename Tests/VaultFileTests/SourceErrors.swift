import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Faults of a source after a container was opened: a shorter file is reported as such, and errors that are not about
/// bytes are passed on.
@Suite struct SourceErrors {
    private static let text = randomBytes(6 * 4096, seed: 480)

    private static func container(_ compression: Compression) throws -> [UInt8] {
        try sealed(text, options: SealOptions(chunk: .minimum, capacity: .least, compression: compression))
    }

    /// A reader of a container that from now on has only this many bytes.
    private static func cut(_ bytes: [UInt8], to count: Int) throws -> SeekableVaultReader {
        let isCut = Mutex(false)
        let cut = Array(bytes.prefix(count))
        let source = ScriptedSource(size: { UInt64(bytes.count) }) { offset, wanted in
            let there = isCut.withLock { $0 } ? cut : bytes
            let part = there.dropFirst(Int(offset)).prefix(wanted)
            return (Array(part), part.count)
        }
        let reader = try SeekableVaultReader(source, with: .key(testKey(1)))
        isCut.withLock { $0 = true }
        return reader
    }

    @Test(arguments: [Compression.none, .deflate]) func cutMeanwhile(_ compression: Compression) throws {
        let bytes = try Self.container(compression)
        for count in [0, 600, 4700, 9000] {
            let reader = try Self.cut(bytes, to: count)
            let error = #expect(throws: VaultError.self) { try reader.bytes(0..<reader.length) }
            #expect(error?.code == .truncated, "\(count)")
        }
    }

    /// A failing medium is not a forgery, also when threads read.
    @Test(arguments: [Compression.none, .deflate]) func failsMeanwhile(_ compression: Compression) throws {
        let bytes = try Self.container(compression)
        let fails = Mutex(false)
        let source = ScriptedSource(size: { UInt64(bytes.count) }) { offset, wanted in
            if fails.withLock({ $0 }) { throw VaultError.inputFailed("bad sector", systemError: .ioError) }
            let part = bytes.dropFirst(Int(offset)).prefix(wanted)
            return (Array(part), part.count)
        }
        let reader = try SeekableVaultReader(source, with: .key(testKey(1)))
        fails.withLock { $0 = true }
        for jobs in [1, 2] {
            let (result, written) = try collecting { try reader.decrypt(to: $0, jobs: jobs) }
            let error = #expect(throws: VaultError.self) { try result.get() }
            #expect(error?.code == .inputFailed && written.isEmpty, "\(jobs): \(String(describing: error))")
        }
    }

    /// Errors that are neither about bytes nor about the medium are not damage, whatever handles damage.
    @Test(arguments: [Compression.none, .deflate]) func otherErrors(_ compression: Compression) throws {
        let bytes = try Self.container(compression)
        let fails = Mutex(false)
        let source = ScriptedSource(size: { UInt64(bytes.count) }) { offset, wanted in
            if fails.withLock({ $0 }) { throw VaultError(.inUse, "somebody else has it") }
            let part = bytes.dropFirst(Int(offset)).prefix(wanted)
            return (Array(part), part.count)
        }
        let reader = try SeekableVaultReader(source, with: .key(testKey(1)))
        fails.withLock { $0 = true }
        let error = #expect(throws: VaultError.self) { try reader.verify { _ in Issue.record("it is no damage") } }
        #expect(error?.code == .inUse)
    }

    private struct Cancelled: Error {}

    /// A source can throw its own error once, such as a cancellation: no second try hides it.
    @Test(arguments: [Compression.none, .deflate]) func otherErrorsOnce(_ compression: Compression) throws {
        let bytes = try Self.container(compression)
        let fails = Mutex(false)
        let source = ScriptedSource(size: { UInt64(bytes.count) }) { offset, wanted in
            if fails.withLock({ exchange(&$0, with: false) }) { throw Cancelled() }
            let part = bytes.dropFirst(Int(offset)).prefix(wanted)
            return (Array(part), part.count)
        }
        let reader = try SeekableVaultReader(source, with: .key(testKey(1)))
        for use in [
            { _ = try reader.bytes(0..<reader.length) }, { try reader.readAll { _ in } },
            { try reader.verify(jobs: 1) },
            { try reader.verify(jobs: 2) { _ in Issue.record("it is no damage") } },
            { try collecting { try reader.decrypt(to: $0, jobs: 2) }.0.get() },
            { _ = try Recovery(source, with: .key(testKey(1))).read(to: { _ in }, onDamage: { _ in }) },
        ] as [() throws -> Void] {
            fails.withLock { $0 = true }
            #expect(throws: Cancelled.self) { try use() }
        }
    }

    /// An error of the caller's own passes through, even if it looks like damage.
    @Test(arguments: [Compression.none, .deflate]) func errorsOfTheCaller(_ compression: Compression) throws {
        let bytes = try Self.container(compression)
        let reader = try SeekableVaultReader(MemorySource(bytes), with: .key(testKey(1)))
        let own = VaultError(.recordDamaged, "the caller's")
        // Even if it is thrown only once: nothing is read again to find the damage.
        for isOnce in [false, true] {
            var calls = 0
            let error = #expect(throws: VaultError.self) {
                try reader.verify(
                    onProgress: { _ in
                        calls += 1
                        if !isOnce || calls == 1 { throw own }
                    }, onDamage: { _ in Issue.record("it is no damage") })
            }
            #expect(error?.message == own.message)
        }
        let recovery = try Recovery(MemorySource(bytes), with: .key(testKey(1)))
        let refused = #expect(throws: VaultError.self) {
            _ = try recovery.read(to: { _ in throw own }, onDamage: { _ in Issue.record("it is no damage") })
        }
        #expect(refused == own)
    }
}
