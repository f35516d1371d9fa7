import FoundationEssentials
import Testing
import VaultCrypto
import VaultTestSupport
import VaultXWing

private func unhex(_ hexadecimal: String) -> [UInt8] {
    guard let bytes = [UInt8](hexDigits: hexadecimal) else { fatalError("\(hexadecimal) is not hexadecimal") }
    return bytes
}

private func hexDigits(_ secret: SecretBytes?) -> String? {
    secret?.withBytes { [UInt8](copying: $0).hexDigits }
}

@Suite struct X25519Tests {
    /// RFC 7748, 5.2.
    @Test func publishedVector() throws {
        let scalar = secret(unhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"))
        let point = unhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
        #expect(
            try hexDigits(X25519.shared(scalar, with: point))
                == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
        #expect(!X25519.givesZeros(point))
    }

    /// Every encoding of a point of low order: 0, 1, the two of order 8, p − 1, p, p + 1; with and without the top bit.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]) func lowOrder(_ hexadecimal: String) throws {
        var point = unhex(hexadecimal)
        for top in [UInt8(0), 0x80] {
            point[31] = point[31] & 0x7F | top
            #expect(X25519.givesZeros(point))
            for fill in [UInt8(1), 0x42, 0xFF] {
                #expect(try X25519.shared(secret([UInt8](repeating: fill, count: 32)), with: point) == nil)
            }
        }
    }
}

@Suite struct Ed25519Tests {
    /// The values of libsodium through PyNaCl: the seed is 0, 1, 2 … 31.
    @Test func conversions() throws {
        let seed = secret(Array(0..<32))
        let publicKey = try Ed25519.publicKey(of: seed)
        #expect(publicKey.hexDigits == "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
        let scalar = try Ed25519.scalar(of: seed)
        #expect(hexDigits(scalar) == "3d94eea49c580aef816935762be049559d6d1440dede12e6a125f1841fff8e6f")
        let point = try #require(Ed25519.x25519(of: publicKey))
        #expect(point.hexDigits == "4701d08488451f545a409fb58ae3e58581ca40ac3f7f114698cd71deac73ca01")
        #expect(X25519.publicKey(of: scalar) == point)
    }

    /// The neutral point, a point of order 2, and a point that is not on the curve.
    @Test(arguments: [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0200000000000000000000000000000000000000000000000000000000000000",
    ]) func notOfPrimeOrder(_ point: String) {
        #expect(Ed25519.x25519(of: unhex(point)) == nil)
    }
}

@Suite struct HPKETests {
    /// The published vector of RFC 9180 for DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, export-only, mode base.
    @Test func publishedVector() throws {
        let scalar = secret(unhex("33d196c830a12f9ac65d6e565a590d80f04ee9b19c83c87f2c170d972a812848"))
        let ephemeral = secret(unhex("095182b502f1f91f63ba584c7c3ec473d617b8b4c2cec3fad5af7fa6748165ed"))
        let publicKey = unhex("194141ca6c3c3beb4792cd97ba0ea1faff09d98435012345766ee33aae2d7664")
        #expect(X25519.publicKey(of: scalar) == publicKey)
        let (encapsulation, shared) = try #require(try HPKE.encapsulate(to: publicKey, ephemeral: ephemeral))
        #expect(
            encapsulation.hexDigits == "e5e8f9bfff6c2f29791fc351d2c25ce1299aa5eaca78a757c0b4fb4bcd830918")
        #expect(hexDigits(shared) == "e81716ce8f73141d4f25ee9098efc968c91e5b8ce52ffff59d64039e82918b66")
        let opened = try HPKE.decapsulate(encapsulation, scalar: scalar, publicKey: publicKey)
        #expect(hexDigits(opened) == hexDigits(shared))
        let info = unhex("4f6465206f6e2061204772656369616e2055726e")
        for (context, exported) in [
            ("", "7a36221bd56d50fb51ee65edfd98d06a23c4dc87085aa5866cb7087244bd2a36"),
            ("00", "d5535b87099c6c3ce80dc112a2671c6ec8e811a2f284f948cec6dd1708ee33f0"),
            ("54657374436f6e74657874", "ffaabc85a776136ca0c378e5d084c9140ab552b78f039d2e8775f26efff4c70e"),
        ] {
            #expect(try hexDigits(HPKE.x25519.export(shared, info: info, context: unhex(context))) == exported)
        }
    }

    @Test func zerosAreNoResult() throws {
        let scalar = secret([UInt8](repeating: 7, count: 32))
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(try HPKE.encapsulate(to: zero, ephemeral: scalar) == nil)
        #expect(try HPKE.decapsulate(zero, scalar: scalar, publicKey: X25519.publicKey(of: scalar)) == nil)
    }
}

#if PublicKeys
@Suite struct XWingTests {
    @Test(arguments: XWingVector.all.indices) func publishedVectors(_ index: Int) throws {
        let vector = XWingVector.all[index]
        let library = try #require(XWing.available)
        let seed = secret(unhex(vector.seed))
        let publicKey = try #require(library.publicKey(seed))
        #expect(publicKey.count == XWing.publicKeyCount)
        #expect(sha256(publicKey).hexDigits == vector.publicKeySHA256)
        let encapsulation = [UInt8](try #require(Data(base64Encoded: vector.encapsulation)))
        #expect(try hexDigits(library.decapsulate(encapsulation, seed)) == vector.secret)
    }

    @Test func bothSidesShareOneSecret() throws {
        let library = try #require(XWing.available)
        let seed = secret([UInt8](repeating: 9, count: 32))
        let publicKey = try #require(library.publicKey(seed))
        let made = try #require(try library.encapsulate(publicKey))
        #expect(made.encapsulation.count == XWing.encapsulationCount)
        #expect(try hexDigits(library.decapsulate(made.encapsulation, seed)) == hexDigits(made.secret))
        let again = try #require(try library.encapsulate(publicKey))
        #expect(again.encapsulation != made.encapsulation)
    }

    /// Other counts, and an X25519 half that gives zeros, are no key and no encapsulation.
    @Test func refusals() throws {
        let library = try #require(XWing.available)
        let seed = secret([UInt8](repeating: 9, count: 32))
        #expect(library.publicKey(secret([1, 2, 3])) == nil)
        let publicKey = try #require(library.publicKey(seed))
        #expect(try library.encapsulate([UInt8](publicKey.dropLast())) == nil)
        #expect(try library.encapsulate(publicKey.dropLast(32) + [UInt8](repeating: 0, count: 32)) == nil)
        let made = try #require(try library.encapsulate(publicKey))
        #expect(try library.decapsulate([UInt8](made.encapsulation.dropLast()), seed) == nil)
    }
}
#endif
