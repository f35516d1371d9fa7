import Testing
import VaultCrypto
import VaultFormat
import VaultStream
import VaultTestSupport

/// Which library encrypts which container, if no test chooses one.
@Suite struct LibraryTests {
    @Test(arguments: [false, true]) func aSmallContainerDoesNotWaitForLibcrypto(_ digest: Bool) throws {
        for (count, library) in [(0, .libsodium), (65_535, .libsodium), (65_536, CipherEngine.available.last)] {
            let container = try sealed(
                randomBytes(count, seed: 620), options: SealOptions(chunk: .standard, digest: digest))
            #expect(try Self.library(of: container) == library)
        }
    }

    /// A compressed container with the smallest header can hold any amount of plaintext.
    @Test func whatIsPackedMayBeLarge() throws {
        let container = try sealed([1, 2, 3], options: SealOptions(chunk: .standard, compression: .deflate))
        #expect(try Self.library(of: container) == CipherEngine.available.last)
    }

    private static func library(of container: [UInt8]) throws -> CipherEngine? {
        var opening = StreamOpening(
            trials: SlotTrials(.key(testKey(1))))
        while opening.header == nil { try opening.take([UInt8](container.prefix(opening.count))) }
        return opening.header?.opener.library
    }
}
