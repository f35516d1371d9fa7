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
}
