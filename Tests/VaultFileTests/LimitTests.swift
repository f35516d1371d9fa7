import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// The longest plaintext that a caller accepts (ARG-5), in every way of reading: nothing beyond it is released.
@Suite struct LimitTests {
    private static let text = mixedBytes(5 * 4096 + 9, seed: 490)
    private static let keys = KeySet(keys: [testKey(1)])

    private static func container(_ compression: Compression) throws -> [UInt8] {
        try sealed(text, options: SealOptions(chunk: .minimum, capacity: .least, compression: compression))
    }

    private static func limits(_ length: Int) -> OpenLimits {
        var limits = OpenLimits.standard
        limits.maximumPlaintextLength = UInt64(length)
        return limits
    }

    @Test(arguments: [Compression.none, .deflate]) func piped(_ compression: Compression) throws {
        let container = try Self.container(compression)
        for (length, code) in [
            (Self.text.count, nil), (Self.text.count - 1, VaultError.Code.limitExceeded), (0, .limitExceeded),
        ] {
            let folder = try TemporaryFolder()
            let output = try FileDescriptor.open(
                folder["out"], .writeOnly, options: [.create], permissions: [.ownerReadWrite])
            defer { try? output.close() }
            let found = try StoredContainer.code {
                try feeding(container) {
                    _ = try Vault.decrypt(
                        from: $0, to: output, with: Credentials(Self.keys, limits: Self.limits(length)), jobs: 2)
                }
            }
            #expect(found == code, "\(length)")
            let given = try folder.read("out")
            #expect(given.count <= length && Self.text.starts(with: given))
        }
    }

    /// Chunks that are larger than the caller accepts, in every way of reading.
    @Test(arguments: [Compression.none, .deflate]) func chunkSize(_ compression: Compression) throws {
        let container = try sealed(Self.text, options: SealOptions(chunk: .standard, compression: compression))
        for (size, code) in [(ChunkSize.standard, nil), (.minimum, VaultError.Code.limitExceeded)] {
            var limits = OpenLimits.standard
            #expect(limits.maximumChunkSize == .maximum)
            limits.maximumChunkSize = size
            for kind in ReaderKind.allCases {
                let reading = try read(container, by: kind, limits: limits)
                #expect(reading.code == code && reading.plaintext == (code == nil ? Self.text : []), "\(kind)")
            }
            let credentials = Credentials(Self.keys, limits: limits)
            #expect(
                try StoredContainer.code {
                    try feeding(container) { _ = try PipedContainer(from: $0, with: credentials) }
                } == code)
            let recovery = try Recovery(MemorySource([UInt8](container.dropLast())), with: credentials)
            #expect(try StoredContainer.code { _ = try recovery.read { _ in } } == code)
        }
    }

    @Test(arguments: [Compression.none, .deflate]) func recovering(_ compression: Compression) throws {
        let container = try Self.container(compression)
        // With the footer, without it, and without a manifest.
        for cut in [0, 32, 1600] {
            for (length, code) in [
                (Self.text.count, nil), (Self.text.count - 1, VaultError.Code.limitExceeded), (0, .limitExceeded),
            ] {
                let recovery = try Recovery(
                    MemorySource([UInt8](container.dropLast(cut))),
                    with: Credentials(Self.keys, limits: Self.limits(length)))
                var given: [UInt8] = []
                let found = try StoredContainer.code { _ = try recovery.read { given.append(copying: $0) } }
                if cut < 1600 { #expect(found == code, "\(length)") }
                #expect(given.count <= length && Self.text.starts(with: given))
                // A manifest that states too much is refused before anything is released.
                if cut < 1600, code != nil, cut == 0 || compression == .deflate { #expect(given.isEmpty) }
            }
        }
    }
}
