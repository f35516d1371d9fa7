import Testing
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// What keys and passphrases may be, and that no way of printing them shows any of their bytes.
@Suite(.bothEngines) struct SecretTests {
    @Test func keys() throws {
        for count in [0, 1, 31, 33, 64] {
            let bytes = [UInt8](repeating: 1, count: count)
            let error = #expect(throws: VaultError.self) { try SymmetricKey(bytes: bytes.span) }
            #expect(error?.code == .badKey)
            let other = #expect(throws: VaultError.self) { try FileKey(bytes: bytes.span) }
            #expect(other?.code == .badKey)
        }
        let zero = [UInt8](repeating: 0, count: 32)
        let error = #expect(throws: VaultError.self) { try SymmetricKey(bytes: zero.span) }
        #expect(error?.code == .badKey)
        for place in 0..<32 {
            var bytes = zero
            bytes[place] = 0x80
            #expect(testKey(bytes).withBytes { [UInt8](copying: $0) } == bytes)
        }
        let (first, second) = (try SymmetricKey.generate(), try SymmetricKey.generate())
        #expect(first.id != second.id && first.withBytes { $0.count } == 32)
    }

    @Test func passphrases() throws {
        for count in [0, 1025] {
            let bytes = [UInt8](repeating: 1, count: count)
            let error = #expect(throws: VaultError.self) { try Passphrase(bytes: bytes.span) }
            #expect(error?.code == .badPassphrase)
        }
        for count in [1, 1024] {
            let bytes = [UInt8](repeating: 1, count: count)
            #expect(try Passphrase(bytes: bytes.span).secret.count == count)
        }
        // As it is: no normalisation, no trimming, zeros too.
        let text = " e\u{301}\n\0"
        #expect(try Passphrase(text).secret.withBytes { [UInt8](copying: $0) } == [UInt8](text.utf8))
    }

    @Test func passphrasesAreEqualByTheirBytes() throws {
        #expect(try Passphrase("secret") == Passphrase("secret"))
        for other in ["secreT", "Secret", "secre", "secrets"] {
            #expect(try Passphrase("secret") != Passphrase(other))
        }
    }

    @Test func buffers() throws {
        var buffer = try SecretBuffer(count: 40)
        #expect(buffer.count == 40 && buffer.withBytes { [UInt8](copying: $0) } == [UInt8](repeating: 0, count: 40))
        buffer.withMutableBytes { $0[39] = 7 }
        #expect(buffer.withBytes { $0[39] } == 7)
    }

    @Test func printingShowsNothing() throws {
        let bytes = randomBytes(32, seed: 77)
        let words = [UInt8]("correct horse battery staple".utf8)
        let key = testKey(bytes)
        let passphrase = try Passphrase(bytes: words.span)
        let fileKey = try FileKey(bytes: bytes.span)
        let set = KeySet(keys: [key], passphrases: [passphrase])
        let recipients: [Recipient] = [.key(key), .passphrase(passphrase)]
        let schedule = try KeySchedule(fileKey: fileKey, parameters: Array(0..<32), context: .none)
        let stream = schedule.streamKey.withBytes { [UInt8](copying: $0) }
        let container = try sealed([1], for: [.key(key)])
        let reader = try SeekableVaultReader(MemorySource(container), with: Credentials(set))
        let values: [Any] = [key, passphrase, fileKey, set, recipients, schedule, reader, recipients[1]]
        for value in values {
            let printed = everythingPrinted(value)
            for secret in [bytes, words, stream] { #expect(traces(of: secret, in: printed).isEmpty, "\(printed)") }
        }
        #expect("\(key)" == "SymmetricKey(\(key.id))")
        #expect("\(passphrase)" == "Passphrase" && "\(fileKey)" == "FileKey")
        // The search finds bytes that are there.
        #expect(!traces(of: bytes, in: "\(bytes)").isEmpty && !traces(of: bytes, in: bytes.hexDigits).isEmpty)
        #expect(!traces(of: words, in: everythingPrinted([String(decoding: words, as: UTF8.self)])).isEmpty)
        #expect(!traces(of: bytes, in: everythingPrinted(["key": bytes])).isEmpty)
    }
}
