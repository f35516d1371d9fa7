import Testing
import VaultCrypto
import VaultTestSupport

/// Values of the Argon2 authors' implementation, from argon2-cffi 25.1: hash_secret_raw(passphrase, salt, passes, KiB,
/// parallelism 1, 32, Type.ID, version 0x13). The same build computes the vector of RFC 9106, section 5.3. That one has
/// four lanes, a secret and associated data, which this format does not use.
@Suite struct Argon2idTests {
    struct Vector: Sendable {
        let passphrase: [UInt8]
        let salt: [UInt8]
        let passes: UInt32
        let memoryKiB: UInt32
        let key: String
    }

    static let vectors = [
        Vector(
            passphrase: [UInt8]("password".utf8), salt: Array(0..<16), passes: 1, memoryKiB: 8,
            key: "3a008963c65f7ffa7331a90babd1fd17ea9f03bd05356b857ceb43f7b7080adc"),
        Vector(
            passphrase: [UInt8]("password".utf8), salt: Array(0..<16), passes: 2, memoryKiB: 64,
            key: "716882821df77bc6414358b07159fb63ca1c90beaeb9d0ca0e43bd887dcf2ca9"),
        Vector(
            passphrase: [0x78], salt: [UInt8](repeating: 0xFF, count: 16), passes: 3, memoryKiB: 32,
            key: "26bb48ad3e175c8ec7e536ccadc62f45e2c09f07ed9184ffa3d937c7e22529f4"),
        // The longest passphrase: 0 … 255, four times.
        Vector(
            passphrase: (0..<1024).map { UInt8($0 % 256) }, salt: Array(0xB0...0xBF), passes: 1, memoryKiB: 1024,
            key: "faa2eca84cc6bd15a3a15d6a202b86e97fb7be455481f3adeba506fe513370b1"),
        Vector(
            passphrase: [UInt8]("Grüße".utf8), salt: [UInt8]("somesaltsomesalt".utf8), passes: 4, memoryKiB: 256,
            key: "b2c7b2ba9e280e52900d32c311fb9474789d3fd27f8a2b1fc8113ec5538b823d"),
        Vector(
            passphrase: [0], salt: [UInt8](repeating: 0, count: 16), passes: 1, memoryKiB: 19456,
            key: "e611ca14c0abde19d0f2d7fba1e5504297a36ba3f756754f148261b751b35738"),
        Vector(
            passphrase: [0x61, 0, 0x62], salt: [UInt8](repeating: 1, count: 16), passes: 64, memoryKiB: 8,
            key: "8c75255574159d471630684fbfc939309f8dc98f5f4aa9616bebf3f8e743769d"),
    ]

    @Test(arguments: vectors) func value(_ vector: Vector) throws {
        let key = try Argon2id.stretch(
            secret(vector.passphrase), salt: vector.salt, passes: vector.passes, memoryKiB: vector.memoryKiB)
        #expect(key.withBytes { [UInt8](copying: $0) }.hexDigits == vector.key)
    }

    /// More memory than any address space has is an error, not the end of the process.
    @Test func noMemory() {
        #expect(throws: MemoryUnavailable.self) {
            try Argon2id.stretch(
                secret([1]), salt: [UInt8](repeating: 0, count: 16), passes: 1, memoryKiB: .max)
        }
    }
}
