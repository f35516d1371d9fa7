import Testing
import VaultCrypto
import VaultFormat
import VaultStream
import VaultTestSupport

/// Which library enciphers what, where no test chooses.
@Suite struct LibraryTests {
    @Test(arguments: [false, true]) func aSmallContainerDoesNotWaitForLibcrypto(_ digest: Bool) throws {
        for (count, library) in [(0, .libsodium), (65_535, .libsodium), (65_536, CipherEngine.available.last)] {
            let container = try sealed(
                randomBytes(count, seed: 620), options: SealOptions(chunk: .standard, digest: digest))
            var reader = VaultReader(keys: KeySet(keys: [testKey(1)]))
            try reader.push(container.span.extracting(..<min(4096, container.count))) { _ in }
            #expect(reader.records?.cipher.library == library)
        }
    }

    /// A stranger can put any amount of plaintext behind a header of the least capacity.
    @Test func whatIsPackedMayBeLarge() throws {
        let container = try sealed([1, 2, 3], options: SealOptions(chunk: .standard, compression: .deflate))
        var reader = VaultReader(keys: KeySet(keys: [testKey(1)]))
        try reader.push(container.span.extracting(..<512)) { _ in }
        #expect(reader.records?.cipher.library == CipherEngine.available.last)
    }
}
