import Testing
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// Chapter 17 of the Spec.
@Suite(.bothEngines) struct KnownAnswers {
    private let fileKey = Array(UInt8(0)..<32)
    private let userKey = testKey(Array(0x20...0x3F))
    private let fileID = Array(UInt8(0xA0)...0xAF)
    private let salt = Array(UInt8(0xB0)...0xBF)
    private let nonce = Array(UInt8(0xC0)...0xD7)
    private let symmetricSlot =
        "0001004860a92f4998937417a5d185216b0a65be" + "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7"
        + "c102069b16aa5a7a60a052d6a47bfeedda8fff3044483ca67f4890afa32047b5c5d2fe3f35200c15be53fd0aecda8066"

    private func forge(context: Context = .none) throws -> Forge {
        try Forge(fileKey: fileKey, fileID: fileID, context: context)
    }

    @Test func schedule() throws {
        let schedule = try forge().schedule
        #expect(
            schedule.commitment.hexDigits == "32da9c1970b5ae01be116bd21494652d2a939de57fc75cab2bf84061744d8ca3")
        #expect(
            schedule.streamKey.withBytes { [UInt8](copying: $0) }.hexDigits
                == "fefb783dbd1e214adcbcabfd42c68f5c07b3119a23cee88ed28b1f214de8bcba")
        #expect(
            try forge(context: testContext("ctx")).schedule.commitment.hexDigits
                == "b73f0e2e91b7733e84e8a842e47207bc89ce35708ab74ec7f7867aadcdf67419")
    }

    @Test func keyIDs() {
        #expect(userKey.id.description == "60a92f4998937417a5d185216b0a65be")
        #expect(testKey(fileKey).id.description == "d02a15237cf7e7413afa2de4861bc993")
    }

    /// MAC and checksum of the header, which also test the header-MAC key.
    @Test func header() throws {
        let forge = try forge()
        let slot = try forge.slot(userKey, nonce: nonce)
        #expect(slot.bytes.hexDigits == symmetricSlot)
        let header = forge.header([slot])
        #expect(
            header.suffix(64).elementsEqual(
                bytes(
                    "c0b1702532416a50c6284c899be7e6fb63354c6ce0f4f7c2176a519b9bd02970"
                        + "c67b44363256637c8217fdce739be0d51f010b78482267055e4312c3ed3251a5")))
        #expect(KeySchedule.isIntact(header))
        #expect(forge.schedule.isValid(try HeaderCopy(parsing: header)))
    }

    @Test func record() throws {
        let record = try forge().record([UInt8]("abc".utf8), kind: .data, index: 0)
        #expect(record.hexDigits == "01000003386654bdf23cb227a2a1a44b0689dcea5fe910")
    }

    /// The whole container through the writer, all of its 2080 bytes.
    @Test func container() throws {
        let options = SealOptions(chunk: .standard, capacity: .least, digest: true)
        let container = try sealed(
            [UInt8]("abc".utf8), for: [.key(userKey)], options: options,
            randomness: .draws(fileKey: fileKey, [fileID, nonce]))
        #expect(container.count == 2080)
        #expect(container[76..<168].elementsEqual(bytes(symmetricSlot)))
        #expect(
            container.suffix(32).elementsEqual(
                bytes("0000000000000217000000000000082000000200000002000a1a0a0d544c5689")))
        #expect(
            container[0x217..<0x22B].elementsEqual(bytes("0200020007b10968479a321dc4d437fd979967a4")))
        #expect(container[0x41B..<0x42B].elementsEqual(bytes("06bfc3d1bd9a3727b3b056d1795cf265")))
        #expect(
            sha256(container).hexDigits == "0249f8694400dab92793b7c15442402e630a416ee5d82b2723315e31b7ffe436")
        for kind in ReaderKind.allCases {
            let reading = try read(container, by: kind, keys: KeySet(keys: [userKey]))
            #expect(reading.plaintext == [UInt8]("abc".utf8) && reading.health == .intact)
            #expect(reading.opened?.manifest.digest == sha256([UInt8]("abc".utf8)))
        }
    }

    /// The passphrase slot, as readers take it: cheaper than writers may choose.
    @Test func passphraseSlot() throws {
        let forge = try forge()
        let passphrase = testPassphrase("passphrase")
        let slot = try forge.slot(passphrase, salt: salt, nonce: nonce)
        #expect(
            slot.bytes.hexDigits
                == "00020054b0b1b2b3b4b5b6b7b8b9babbbcbdbebf" + "000000010000000800000001"
                + "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7"
                + "c973ce6959f82d670d0c06c7c91c85fb96d86118b1e53897629c931ecf23f5762dfcd7e3ac1fe9054b6c24239a931e37")
        let container = try forge.container([UInt8]("abc".utf8), front: forge.header([slot]))
        for kind in ReaderKind.allCases {
            #expect(try read(container, by: kind, keys: KeySet(passphrases: [passphrase])).health == .intact)
        }
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        guard let bytes = [UInt8](hexDigits: hexadecimal) else { fatalError("\(hexadecimal) is not hexadecimal") }
        return bytes
    }
}
