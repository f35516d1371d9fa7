import Testing
import VaultCrypto
import VaultTestSupport

@Suite struct BLAKE2bTests {
    /// With a personalisation of zeros this is the plain BLAKE2b of the RFC.
    private static let none: StaticString = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

    /// RFC 7693, appendix A.
    @Test func publishedVector() {
        #expect(
            BLAKE2b.digest(count: 64, label: Self.none, message: [UInt8]("abc".utf8).span).hexDigits
                == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
    }

    /// From the authors' keyed vectors (blake2b-kat.txt): the message is 0, 1, 2 … and the key 0 … 63.
    @Test(arguments: [
        (
            0,
            "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
                + "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568"
        ),
        (
            1,
            "961f6dd1e4dd30f63901690c512e78e4b45e4742ed197c3c5e45c549fd25f2e4"
                + "187b0bc9fe30492b16b0d0bc4ef9b0f34c7003fac09a5ef1532e69430234cebd"
        ),
        (
            255,
            "142709d62e28fcccd0af97fad0f8465b971e82201dc51070faa0372aa43e9248"
                + "4be1c1e73ba10906d5d1853db6a4106e0a7bf9800d373d6dee2d46d62ef2a461"
        ),
    ]) func keyedVector(_ count: Int, _ digest: String) {
        let message = (0..<count).map { UInt8($0) }
        let key = secret((0..<64).map { UInt8($0) })
        #expect(BLAKE2b.digest(count: 64, label: Self.none, key: key, message: message.span).hexDigits == digest)
    }

    /// Personalised values, computed with Python's hashlib: blake2b(message, digest_size=, key=, person=).
    @Test func personalisedVectors() throws {
        func message(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0) } }
        let abc = [UInt8]("abc".utf8)
        let key = secret(message(32))
        #expect(
            BLAKE2b.digest(count: 32, label: "vaultfile1chksum", message: [UInt8]().span).hexDigits
                == "52d3e0d5d81ef654c297078544b7ad7f637d927db1c6d359e1ba91333bded3a6")
        #expect(
            BLAKE2b.digest(count: 32, label: "vaultfile1chksum", message: abc.span).hexDigits
                == "74d8afe6f53c769f01cfcb1c4cfa9e9ff4d0fca808b4327b0bf27614d67eb452")
        #expect(
            BLAKE2b.digest(count: 16, label: "vaultfile key ID", key: key, message: abc.span).hexDigits
                == "2b5e36130bae657e04a6c1c8bc055898")
        #expect(BLAKE2b.digest(count: 1, label: "0123456789abcdef", message: abc.span) == [0x42])
        #expect(
            BLAKE2b.digest(count: 32, label: "vaultfile1commit", key: key, message: message(128).span).hexDigits
                == "f493665f3abf9afad9bf7757852eae8466d93b9c38a8debe118ba05fd6752e80")
        #expect(
            BLAKE2b.digest(count: 32, label: "vaultfile1commit", key: key, message: message(129).span).hexDigits
                == "64f58b2351f8ef6895005eb6bf3e406238689f938380f914bed89e479881a9a2")
        let derived = try BLAKE2b.derive(label: "vaultfile1stream", key: key, message: message(200).span)
        #expect(
            derived.withBytes { [UInt8](copying: $0) }.hexDigits
                == "b3b534ce48530ee4b893acbd3991edf2c24404856d96f67b96e66f4863c80af0")
    }
}

@Suite(.bothEngines) struct SHA256Tests {
    private func digest(_ pieces: [[UInt8]]) -> String {
        var state = SHA256()
        for piece in pieces { state.update(piece.span) }
        return state.finish().hexDigits
    }

    /// The examples of FIPS 180-4 and of its validation: nothing, one block, two blocks, a million bytes.
    @Test func publishedVectors() {
        #expect(digest([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(digest([[]]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            digest([[UInt8]("abc".utf8)]) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            digest([[UInt8]("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)])
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        let million = [UInt8](repeating: 0x61, count: 1_000_000)
        #expect(digest([million]) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func piecesMakeNoDifference() {
        let million = [UInt8](repeating: 0x61, count: 1_000_000)
        var random = SeededRandom(seed: 3)
        var pieces: [[UInt8]] = []
        var start = 0
        while start < million.count {
            let end = min(million.count, start + random.below(5000))
            pieces.append([UInt8](million[start..<end]))
            start = end
        }
        #expect(digest(pieces) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }
}
