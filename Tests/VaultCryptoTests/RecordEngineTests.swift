import Testing
import VaultCrypto
import VaultTestSupport

/// Both engines give the bytes of XChaCha20-Poly1305 under file ID and index, and refuse the same inputs.
@Suite struct RecordEngineTests {
    private struct Case {
        let key: SecretBytes
        let fileID: (high: UInt64, low: UInt64)
        let index: UInt64
        let prefixCount: Int
        let text: [UInt8]

        init(_ random: inout SeededRandom, index: UInt64? = nil) {
            key = secret(randomBytes(32, seed: random.next()))
            fileID = (random.next(), random.next())
            self.index = index ?? random.next() >> UInt64.random(in: 0..<64, using: &random)
            prefixCount = Int.random(in: 0...40, using: &random)
            text = randomBytes(Int.random(in: 0...3000, using: &random), seed: random.next())
        }

        var blank: [UInt8] {
            randomBytes(prefixCount, seed: index) + text + [UInt8](repeating: 0xAA, count: 16)
        }

        func engine(_ engine: CipherEngine) throws -> RecordEngine {
            try RecordEngine(key: key, fileID: fileID, engine: engine)
        }

        func sealed(_ kind: CipherEngine) throws -> [UInt8] {
            var buffer = blank
            var span = buffer.mutableSpan
            try engine(kind).seal(&span, prefixCount: prefixCount, index: index)
            return buffer
        }

        var expected: [UInt8] {
            var buffer = blank
            var span = buffer.mutableSpan
            XChaCha20Poly1305.seal(
                &span, prefixCount: prefixCount, nonce: XChaChaNonce(fileID: fileID, index: index), key: key)
            return buffer
        }
    }

    private func isAccepted(_ buffer: inout [UInt8], _ test: Case, _ engine: RecordEngine, index: UInt64) -> Bool {
        var span = buffer.mutableSpan
        do {
            try engine.open(&span, prefixCount: test.prefixCount, index: index)
            return true
        } catch {
            return false
        }
    }

    @Test("the nonce is four zeros and the index, its most significant byte first") func nonce() {
        let nonce = unsafe withNonce(0x0102_0304_0506_0708) { nonce in
            unsafe [UInt8](UnsafeBufferPointer(start: nonce, count: 12))
        }
        #expect(nonce == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func aSmallContainerDoesNotWaitForLibcrypto() {
        #expect(CipherEngine.preferred(isSmall: true) == .libsodium)
        #expect(CipherEngine.preferred(isSmall: false) == CipherEngine.available.last)
        for engine in CipherEngine.available {
            CipherEngine.$chosen.withValue(engine) {
                #expect(CipherEngine.preferred(isSmall: true) == engine)
                #expect(CipherEngine.preferred(isSmall: false) == engine)
            }
        }
    }

    @Test(arguments: CipherEngine.available) func theSameBytes(_ kind: CipherEngine) throws {
        var random = SeededRandom(seed: 600)
        let indices: [UInt64?] = [0, 1, 255, 256, 1 << 32, .max] + [UInt64?](repeating: nil, count: 300)
        for index in indices {
            let test = Case(&random, index: index)
            let sealed = try test.sealed(kind)
            #expect(sealed == test.expected)
            let engine = try test.engine(kind)
            var opened = sealed
            #expect(isAccepted(&opened, test, engine, index: test.index))
            #expect(opened.dropLast(16) == test.blank.dropLast(16))

            // Changes one bit of prefix, text or tag, then the index. The same engine goes on after a failure.
            var changed = sealed
            let bit = Int.random(in: 0..<sealed.count * 8, using: &random)
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            for (bytes, index) in [(changed, test.index), (sealed, test.index ^ 1)] {
                var bytes = bytes
                #expect(!isAccepted(&bytes, test, engine, index: index))
                #expect(bytes[test.prefixCount..<bytes.count - 16].allSatisfy { $0 == 0 })
            }
            opened = sealed
            #expect(isAccepted(&opened, test, engine, index: test.index))
        }
    }

    @Test("one engine on many threads at once", arguments: CipherEngine.available)
    func threads(_ kind: CipherEngine) async throws {
        var random = SeededRandom(seed: 601)
        let test = Case(&random)
        let engine = try test.engine(kind)
        let expected = try (0..<64).map { index in
            var buffer = test.blank
            var span = buffer.mutableSpan
            try test.engine(.libsodium).seal(&span, prefixCount: test.prefixCount, index: UInt64(index))
            return buffer
        }
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<64 {
                let (blank, prefixCount, expected) = (test.blank, test.prefixCount, expected[index])
                group.addTask {
                    (0..<20).allSatisfy { _ in
                        var buffer = blank
                        var span = buffer.mutableSpan
                        engine.seal(&span, prefixCount: prefixCount, index: UInt64(index))
                        return buffer == expected
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
