import Testing
import VaultFormat
import VaultTestSupport

@Suite struct HeaderCopyTests {
    private static let preamble = Preamble(
        chunkSize: .standard, compression: .none, fileID: Array(0xA0...0xAF),
        commitment: [UInt8](repeating: 0x5A, count: 32))

    private static func slot(_ type: UInt16, _ id: UInt8, body: [UInt8]? = nil) -> Slot {
        let counts: [UInt16: Int] = [1: 72, 2: 84]
        var body = body ?? [UInt8](repeating: 0x33, count: counts[type] ?? 5)
        if type == 2, body.count == 84 { body.replaceSubrange(0..<12, with: [0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1]) }
        return Slot(type: type, keyID: KeyID(unchecked: [UInt8](repeating: id, count: 16)[...]), body: body)
    }

    /// The parser does not check MAC and checksum; other code does.
    private static func copy(
        _ slots: [Slot], capacity: HeaderCapacity = .least, generation: UInt32 = 1,
        change: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        var bytes =
            HeaderCopy.body(preamble: preamble, capacity: capacity, generation: generation, slots: slots)
            + [UInt8](repeating: 0xEE, count: 64)
        change(&bytes)
        return bytes
    }

    private static func code(_ bytes: [UInt8]) -> VaultError.Code? {
        do {
            _ = try HeaderCopy(parsing: bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func roundTrip() throws {
        let slots = [Self.slot(1, 1), Self.slot(2, 1), Self.slot(5, 2, body: []), Self.slot(0x8000, 3)]
        let bytes = Self.copy(slots, generation: 0xFFFF_FFFF)
        let copy = try HeaderCopy(parsing: bytes)
        #expect(copy.preamble == Self.preamble)
        #expect(copy.slots == slots)
        #expect(copy.generation == 0xFFFF_FFFF && copy.capacity == .least && copy.bytes == bytes)
        #expect(copy.bytes[448..<480].elementsEqual([UInt8](repeating: 0xEE, count: 32)))
        let summary = HeaderSummary(copy)
        #expect(summary.slots.map(\.kind) == [.symmetric, .passphrase, .stanzas, .privateType])
        #expect(summary.slots[1].argon2 == Argon2Parameters(passes: 1, memoryKiB: 8))
        #expect(
            summary.slots[0].argon2 == nil && summary.compression == .none && summary.fileID == Self.preamble.fileID)
    }

    /// The rules in the order of the bytes: if two are broken, the first gives the error.
    @Test func preambleRules() {
        typealias Change = @Sendable (inout [UInt8]) -> Void
        let ordered: [(Change, VaultError.Code)] = [
            ({ $0[11] = 2 }, .unsupportedSuite), ({ $0[12] = 11 }, .headerMalformed),
            ({ $0[13] = 2 }, .unsupportedCompression), ({ $0[15] = 1 }, .unsupportedFlags),
            ({ $0[71] = 0 }, .headerMalformed),
        ]
        for (index, (change, code)) in ordered.enumerated() {
            #expect(Self.code(Self.copy([Self.slot(1, 1)], change: change)) == code)
            for (later, _) in ordered.dropFirst(index + 1) {
                let bytes = Self.copy([Self.slot(1, 1)]) {
                    change(&$0)
                    later(&$0)
                }
                #expect(Self.code(bytes) == code)
            }
        }
        for log2: UInt8 in [0, 11, 24, 255] {
            #expect(Self.code(Self.copy([Self.slot(1, 1)]) { $0[12] = log2 }) == .headerMalformed)
        }
        for log2: UInt8 in 12...23 { #expect(Self.code(Self.copy([Self.slot(1, 1)]) { $0[12] = log2 }) == nil) }
    }

    @Test func fixedFields() {
        for (place, value): (Int, UInt8) in [(73, 0), (72, 4), (74, 1), (75, 1), (73, 2), (72, 0xFF)] {
            #expect(Self.code(Self.copy([Self.slot(1, 1)]) { $0[place] = value }) == .headerMalformed, "\(place)")
        }
        // Each byte after the slots.
        for place in 76 + 92..<448 {
            #expect(Self.code(Self.copy([Self.slot(1, 1)]) { $0[place] = 1 }) == .headerMalformed, "\(place)")
        }
        #expect(Self.code([UInt8](Self.copy([Self.slot(1, 1)]).dropLast())) == .headerMalformed)
        #expect(Self.code([]) == .headerMalformed)
    }

    @Test func slotRules() {
        #expect(Self.code(Self.copy([Self.slot(0, 1)])) == .headerMalformed)
        for count in [0, 71, 73, 84] {
            #expect(
                Self.code(Self.copy([Self.slot(1, 1, body: [UInt8](repeating: 0, count: count))])) == .headerMalformed)
        }
        for count in [0, 72, 83, 85] {
            #expect(
                Self.code(Self.copy([Self.slot(2, 1, body: [UInt8](repeating: 0, count: count))])) == .headerMalformed)
        }
        // The same ID may occur twice only in unknown types and across types.
        #expect(Self.code(Self.copy([Self.slot(1, 1), Self.slot(1, 1)])) == .headerMalformed)
        #expect(Self.code(Self.copy([Self.slot(2, 1), Self.slot(2, 1)])) == .headerMalformed)
        #expect(Self.code(Self.copy([Self.slot(1, 1), Self.slot(2, 1)])) == nil)
        #expect(Self.code(Self.copy([Self.slot(7, 1), Self.slot(7, 1), Self.slot(1, 1)])) == nil)
        // A slot fills the space exactly, and with one more byte it does not fit.
        let room = 448 - 76 - 20
        #expect(Self.code(Self.copy([Self.slot(9, 1, body: [UInt8](repeating: 7, count: room))])) == nil)
        let over = Self.copy([Self.slot(9, 1, body: [UInt8](repeating: 7, count: room))]) { $0[79] += 1 }
        #expect(Self.code(over) == .headerMalformed)
        let cutHead = Self.copy([Self.slot(9, 1, body: [UInt8](repeating: 7, count: room - 19))]) { $0[73] = 2 }
        #expect(Self.code(cutHead) == .headerMalformed)
    }

    @Test func caps() {
        func passphrase(_ id: UInt8, _ passes: UInt32, _ memory: UInt32, lanes: UInt32 = 1) -> Slot {
            var body: [UInt8] = []
            for value in [passes, memory, lanes] { body.append(bigEndian: value) }
            body.pad(to: 84)
            return Slot(type: 2, keyID: KeyID(unchecked: [UInt8](repeating: id, count: 16)[...]), body: body)
        }
        let wide = HeaderCapacity.capacity(4096)
        func code(_ slots: [Slot]) -> VaultError.Code? { Self.code(Self.copy(slots, capacity: wide)) }
        #expect(code((1...4).map { passphrase($0, 1, 8) }) == nil)
        #expect(code((1...5).map { passphrase($0, 1, 8) }) == .headerMalformed)
        for (passes, memory): (UInt32, UInt32) in [(0, 8), (65, 8), (1, 7), (1, 1 << 21 + 1), (.max, .max)] {
            #expect(code([passphrase(1, passes, memory)]) == .headerMalformed)
        }
        for lanes: UInt32 in [0, 2, .max] { #expect(code([passphrase(1, 1, 8, lanes: lanes)]) == .headerMalformed) }
        #expect(code([passphrase(1, 2, 1 << 21)]) == nil)
        #expect(code([passphrase(1, 64, 1 << 16)]) == nil)
        #expect(code([passphrase(1, 3, 1 << 21)]) == .headerMalformed)
        #expect(code([passphrase(1, 1, 1 << 21), passphrase(2, 1, 1 << 21)]) == nil)
        #expect(code([passphrase(1, 1, 1 << 21), passphrase(2, 1, 1 << 21), passphrase(3, 1, 8)]) == .headerMalformed)
    }

    @Test func claimedCapacity() {
        let bytes = Self.copy([Self.slot(1, 1)])
        #expect(HeaderCopy.claimedCapacity(bytes[...]) == .least)
        #expect(HeaderCopy.claimedCapacity(bytes[..<68]) == .least)
        #expect(HeaderCopy.claimedCapacity(bytes[..<67]) == nil)
        #expect(HeaderCopy.claimedCapacity([UInt8](bytes.dropFirst())[...]) == nil)
    }

    /// The capacity for slots (Spec, WRITE-7): the smallest with room for one more of the longest slots.
    @Test func capacityForSlots() throws {
        func capacity(_ count: Int, spare: Bool) -> Int? {
            let slots = (0..<count).map { Self.slot(9, UInt8($0 % 256), body: [UInt8](repeating: 0, count: 80)) }
            return try? HeaderCopy.capacity(for: slots, withSpare: spare).bytes
        }
        #expect(capacity(0, spare: false) == nil)
        #expect(capacity(1, spare: true) == 512)
        #expect(capacity(3, spare: false) == 512)
        #expect(capacity(3, spare: true) == 1024)
        #expect(capacity(4, spare: false) == 1024)
        #expect(capacity(1024, spare: false) == 1 << 17)
        #expect(capacity(1025, spare: false) == nil)
        let huge = (0..<16).map { Self.slot(9, $0, body: [UInt8](repeating: 0, count: 65_000)) }
        #expect(try HeaderCopy.capacity(for: huge, withSpare: true).bytes == 1 << 20)
        let error = #expect(throws: VaultError.self) {
            try HeaderCopy.capacity(
                for: huge + [Self.slot(9, 99, body: [UInt8](repeating: 0, count: 65_000))], withSpare: false)
        }
        #expect(error?.code == .doesNotFit)
    }
}
