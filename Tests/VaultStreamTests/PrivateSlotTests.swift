import Synchronization
import Testing
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

private struct WrapFailure: Error {}

/// A program with slots of its own: it wraps the file key under a key and the associated data.
private struct Program: KeyProvider {
    static let type: UInt16 = 0x8123
    var wrapping: UInt8 = 0x11
    var change: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    var families = [family()]

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [] }

    var privateSlots: [PrivateSlotFamily] { families.compactMap { $0 } }

    func fileKey(for slot: PrivateSlot) throws -> FileKey? {
        let data = change(slot.associatedData)
        var buffer = data + slot.body
        var span = buffer.mutableSpan
        do {
            try XChaCha20Poly1305.open(
                &span, prefixCount: data.count, nonce: XChaChaNonce(fileID: (1, 2), index: 3),
                key: fixedSecret(wrapping))
        } catch {
            return nil
        }
        let key = [UInt8](buffer[data.count..<data.count + 32])
        return try FileKey(bytes: key.span)
    }

    static let id = KeyID(unchecked: [UInt8](repeating: 0xD1, count: 16)[...])

    static func family(_ type: UInt16 = type, prefix: UInt8 = 0xD1) -> PrivateSlotFamily? {
        PrivateSlotFamily(type: type, idPrefix: [UInt8](repeating: prefix, count: 8))
    }

    static func recipient(_ seen: Seen = Seen()) throws -> Recipient {
        try slot(bodyCount: 48) { fileKey, associatedData in
            seen.data.withLock { $0 = associatedData }
            var buffer = associatedData
            fileKey.withBytes { buffer.append($0) }
            buffer.pad(to: associatedData.count + 48)
            var span = buffer.mutableSpan
            XChaCha20Poly1305.seal(
                &span, prefixCount: associatedData.count, nonce: XChaChaNonce(fileID: (1, 2), index: 3),
                key: fixedSecret(0x11))
            return [UInt8](buffer.dropFirst(associatedData.count))
        }
    }

    static func slot(
        type: UInt16 = type, bodyCount: Int, wrap: @escaping @Sendable (FileKey, [UInt8]) throws -> [UInt8]
    ) throws -> Recipient {
        guard let family = family(type) else { fatalError("\(type) is no private type") }
        return try .privateSlot(
            family, idSuffix: [UInt8](repeating: 0xD1, count: 8), bodyCount: bodyCount, wrap: wrap)
    }

    final class Seen: Sendable {
        let data = Mutex<[UInt8]>([])
    }
}

@Suite(.bothEngines) struct PrivateSlotTests {
    @Test(arguments: ReaderKind.allCases) func roundTrip(_ kind: ReaderKind) throws {
        let container = try sealed([1, 2, 3], for: [.key(testKey(1)), try Program.recipient()])
        let reading = try read(container, by: kind, keys: Program())
        #expect(reading.plaintext == [1, 2, 3] && reading.health == .intact)
        #expect(reading.opened?.header.slots.map(\.kind) == [.symmetric, .privateType])
        #expect(try read(container, by: kind).plaintext == [1, 2, 3])
    }

    @Test func associatedData() throws {
        let seen = Program.Seen()
        let container = try sealed([1], for: [try Program.recipient(seen)])
        let expected = Array(container[..<64]) + [0x81, 0x23, 0, 48] + [UInt8](repeating: 0xD1, count: 16)
        #expect(seen.data.withLock { $0 } == expected)
        for place in expected.indices {
            let program = Program { data in
                var data = data
                data[place] ^= 1
                return data
            }
            #expect(try read(container, by: .stream, keys: program).code == .wrongKey)
        }
        #expect(try read(container, by: .stream, keys: Program(wrapping: 0x12)).code == .wrongKey)
    }

    /// A program's word is not enough: the header must commit to the file key that it gives.
    @Test(arguments: ReaderKind.allCases) func wrongFileKey(_ kind: ReaderKind) throws {
        struct Liar: KeyProvider {
            func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [] }
            var privateSlots: [PrivateSlotFamily] { Program().privateSlots }
            func fileKey(for slot: PrivateSlot) throws -> FileKey? { FileKey(fixedSecret(9)) }
        }
        let container = try sealed([1], for: [try Program.recipient()])
        #expect(try read(container, by: kind, keys: Liar()).code == .wrongKey)
    }

    /// A program sees the slots of its own family and no others.
    @Test func otherFamilies() throws {
        let container = try sealed([1], for: [try Program.recipient()])
        for other in [Program.family(0x8124), Program.family(prefix: 0xD2), nil] {
            var program = Program()
            program.families = [other]
            #expect(try read(container, by: .whole, keys: program).code == .wrongKey)
            program.families = [other, Program.family()]
            #expect(try read(container, by: .whole, keys: program).plaintext == [1])
        }
        for type: UInt16 in [0, 1, 2, 3, 0x7FFF] { #expect(Program.family(type) == nil) }
        for count in [0, 7, 9] {
            #expect(PrivateSlotFamily(type: 0x8000, idPrefix: [UInt8](repeating: 0, count: count)) == nil)
        }
    }

    private static let family = Program.family()

    @Test func refused() throws {
        func code(bodyCount: Int, body: Int) throws -> VaultError.Code? {
            do {
                let recipient = try Program.slot(bodyCount: bodyCount) { _, _ in [UInt8](repeating: 0, count: body) }
                _ = try sealed([1], for: [recipient])
                return nil
            } catch let error as VaultError {
                return error.code
            }
        }
        for count in [-1, 65_536, .max] { #expect(try code(bodyCount: count, body: 1) == .invalidArgument) }
        #expect(try code(bodyCount: 2, body: 1) == .invalidArgument)
        #expect(try code(bodyCount: 0, body: 1) == .invalidArgument)
        for count in [0, 1, 65_535] { #expect(try code(bodyCount: count, body: count) == nil) }
        let family = try #require(Self.family)
        for count in [0, 7, 9, 16] {
            #expect(throws: VaultError.self) {
                try Recipient.privateSlot(
                    family, idSuffix: [UInt8](repeating: 0, count: count), bodyCount: 1, wrap: { _, _ in [1] })
            }
        }
        let failing = try Program.slot(bodyCount: 1) { _, _ in throw WrapFailure() }
        #expect(throws: WrapFailure.self) { try sealed([1], for: [failing]) }
    }
}
