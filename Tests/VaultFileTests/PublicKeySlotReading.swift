import Synchronization
import Testing
import VaultFile
import VaultFormat
import VaultTestSupport

/// Reading (Spec 4.4).
@Suite struct PublicKeySlotReading {
    private static let text = [UInt8]("abc".utf8)

    /// A container with the slots of one for these recipients, changed.
    private func container(
        _ recipients: [Recipient], capacity: Int = 1 << 17, _ change: ([Slot]) -> [Slot] = { $0 }
    ) throws -> [UInt8] {
        let fileKey = randomBytes(32, seed: 5)
        let forge = try Forge(
            fileKey: fileKey, fileID: randomBytes(16, seed: 6), chunkSize: .minimum, capacity: .capacity(capacity))
        let made = try sealed(
            Self.text, for: recipients,
            options: SealOptions(chunk: .minimum, capacity: .capacity(capacity)),
            randomness: Randomness(
                fileKey: { FileKey(secret(fileKey)) },
                bytes: { $0 == 16 ? randomBytes(16, seed: 6) : Randomness.system.bytes($0) }))
        #expect(try made.header.preamble == forge.preamble)
        return try forge.container(Self.text, front: forge.header(change(made.slots)))
    }

    private func code(
        _ container: [UInt8], _ identities: [Identity], limits: OpenLimits = .standard, keys: [SymmetricKey] = []
    ) throws -> VaultError.Code? {
        let results = try ReaderKind.allCases.map { kind in
            try read(container, by: kind, keys: KeySet(keys: keys, identities: identities), limits: limits)
        }
        for result in results where result.code == nil { #expect(result.plaintext == Self.text) }
        #expect(Set(results.map(\.code)).count == 1)
        return results[0].code
    }

    @Test func opens() throws {
        let bytes = try container([.publicKey(People.alice.publicKey), .key(testKey(1)), .identity(People.bob)])
        #expect(try code(bytes, [People.alice]) == nil)
        #expect(try code(bytes, [People.carol, People.bob]) == nil)
        #expect(try code(bytes, [], keys: [testKey(1)]) == nil)
        #expect(try code(bytes, [People.carol]) == .wrongKey)
        #expect(try code(bytes, []) == .wrongKey)
    }

    /// J6, J8, J14: no byte of a slot can be changed.
    @Test func everyByteCounts() throws {
        let good = try container([.publicKey(People.alice.publicKey)], capacity: 512)
        let slot = try good.slots[0]
        for place in 4..<slot.bytes.count {
            let bytes = try container([.publicKey(People.alice.publicKey)], capacity: 512) { slots in
                var changed = slots[0].bytes
                changed[place] ^= 1
                return [
                    Slot(
                        type: 3, keyID: KeyID(unchecked: changed[4..<20]), body: [UInt8](changed[20...]))
                ]
            }
            let reading = try read(bytes, by: .whole, keys: KeySet(identities: [People.alice]))
            #expect(reading.code == .wrongKey, "byte \(place)")
        }
        for share in [[UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31)] {
            let bytes = try container([.publicKey(People.alice.publicKey)], capacity: 512) { slots in
                [Slot(type: 3, keyID: slots[0].keyID, body: share + slots[0].body.dropFirst(32))]
            }
            #expect(try code(bytes, [People.alice]) == .wrongKey)
        }
    }

    /// J11 to J13: a slot with another length is kept and not tried.
    @Test(arguments: [0, 103, 105, 60_000]) func unusableSlots(_ count: Int) throws {
        func change(_ slots: [Slot]) -> [Slot] {
            let body = [UInt8](slots[0].body) + [UInt8](repeating: 0, count: 60_000)
            return [Slot(type: 3, keyID: slots[0].keyID, body: [UInt8](body.prefix(count)))] + slots.dropFirst()
        }
        #expect(try code(container([.identity(People.alice)], change), [People.alice]) == .wrongKey)
        #expect(
            try code(container([.identity(People.alice), .identity(People.bob)], change), [People.alice, People.bob])
                == nil)
    }

    /// J19 and J20.
    @Test(arguments: [1, 63, 64]) func deadSlotsUnderOneID(_ count: Int) throws {
        let bytes = try container([.identity(People.alice), .key(testKey(1))]) { slots in
            dead(slots[0], count: count) + slots
        }
        #expect(try code(bytes, [People.alice]) == (count < 64 ? nil : .limitExceeded))
        #expect(try code(bytes, [People.alice], keys: [testKey(1)]) == nil)
        #expect(try code(bytes, [People.bob]) == .wrongKey)
        var limits = OpenLimits.standard
        limits.maximumPublicKeySlots = count
        #expect(try code(bytes, [People.alice], limits: limits) == .limitExceeded)
    }

    /// J21 and J22.
    @Test(arguments: [0, 63, 64]) func hiddenSlotsOfOthers(_ count: Int) throws {
        let bytes = try container([.publicKey(People.alice.publicKey, isHidden: true), .key(testKey(1))]) { slots in
            dead(slots[0], count: count) + slots
        }
        #expect(try bytes.slots[count].keyID.bytes.prefix(8).allSatisfy { $0 == 0 })
        #expect(try code(bytes, [People.alice]) == (count < 64 ? nil : .limitExceeded))
        #expect(try code(bytes, [People.bob, People.alice], keys: [testKey(1)]) == nil)
        #expect(try code(bytes, [People.bob]) == (count < 64 ? .wrongKey : .limitExceeded))
        #expect(try code(bytes, []) == .wrongKey)
    }

    /// J24: the slots of others cost nothing.
    @Test func thousandSlotsOfOthers() throws {
        let bytes = try container([.identity(People.bob), .identity(People.alice)]) { slots in
            dead(slots[0], count: 1000) + slots
        }
        #expect(try code(bytes, [People.alice]) == nil)
    }

    /// J28.
    @Test func limitOfZero() throws {
        var limits = OpenLimits.standard
        limits.maximumPublicKeySlots = 0
        let bytes = try container([.identity(People.alice)])
        #expect(try code(bytes, [People.alice], limits: limits) == .limitExceeded)
        #expect(try code(bytes, [People.bob], limits: limits) == .wrongKey)
        let hidden = try container([.identity(People.alice, isHidden: true)])
        #expect(try code(hidden, [People.bob], limits: limits) == .limitExceeded)
    }

    /// J15 to J17: a slot of another container, also one with the same file key, opens nothing.
    @Test func transplants() throws {
        let fileKey = randomBytes(32, seed: 5)
        let there = try sealed(
            Self.text, for: [.identity(People.alice)], options: SealOptions(chunk: .minimum, capacity: .least),
            randomness: Randomness(fileKey: { FileKey(secret(fileKey)) }, bytes: Randomness.system.bytes))
        let foreign = try there.slots[0]
        let bytes = try container([.identity(People.alice)], capacity: 512) { slots in
            [Slot(type: 3, keyID: slots[0].keyID, body: [UInt8](foreign.body))]
        }
        #expect(try code(there, [People.alice]) == nil)
        #expect(try code(bytes, [People.alice]) == .wrongKey)
    }

    /// A provider is asked once, and only if no symmetric key opens.
    @Test func askedOnce() throws {
        final class Provider: KeyProvider {
            let calls = Mutex(0)
            let keys: [SymmetricKey]

            init(_ keys: [SymmetricKey]) {
                self.keys = keys
            }

            func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { keys }
            func identities() -> [Identity] {
                calls.withLock { $0 += 1 }
                return [People.alice]
            }
        }
        let bytes = try container([.identity(People.bob), .identity(People.alice), .key(testKey(1))]) { slots in
            [dead(slots[1])] + slots
        }
        let asked = Provider([])
        #expect(try read(bytes, by: .whole, keys: asked).health == .intact)
        #expect(asked.calls.withLock { $0 } == 1)
        let spared = Provider([testKey(1)])
        #expect(try read(bytes, by: .whole, keys: spared).health == .intact)
        #expect(spared.calls.withLock { $0 } == 0)
    }

    #if PublicKeys
    /// J2, J7, J9, J10, J14, J27.
    @Test func postQuantum() throws {
        let dora = try Identity.generate()
        let bytes = try container([.identity(dora)], capacity: 4096)
        #expect(try code(bytes, [dora]) == nil)
        #expect(try code(bytes, [Identity.generate()]) == .wrongKey)
        for place in [0, 1087, 1088, 1119, 1120, 1143, 1144, 1191] {
            let changed = try container([.identity(dora)], capacity: 4096) { slots in
                var body = [UInt8](slots[0].body)
                body[place] ^= 1
                return [Slot(type: 4, keyID: slots[0].keyID, body: body)]
            }
            #expect(try code(changed, [dora]) == .wrongKey, "byte \(place)")
        }
        let zeros = try container([.identity(dora)], capacity: 4096) { slots in
            let body = slots[0].body.prefix(1088) + [UInt8](repeating: 0, count: 32) + slots[0].body.dropFirst(1120)
            return [Slot(type: 4, keyID: slots[0].keyID, body: [UInt8](body))]
        }
        #expect(try code(zeros, [dora]) == .wrongKey)
        let renamed = try container([.identity(dora)], capacity: 4096) { slots in
            [Slot(type: 3, keyID: slots[0].keyID, body: [UInt8](slots[0].body))]
        }
        #expect(try code(renamed, [dora]) == .wrongKey)
        let hidden = try container([.identity(dora, isHidden: true)], capacity: 4096)
        #expect(try code(hidden, [dora]) == nil)
        #expect(try code(hidden, [People.alice]) == .wrongKey)
    }
    #else
    /// J34.
    @Test func postQuantumNeedsTheTrait() throws {
        let bytes = try container([.identity(People.alice)]) { slots in
            [Slot(type: 4, keyID: slots[0].keyID, body: [UInt8](repeating: 1, count: 1192))] + slots
        }
        #expect(try code(bytes, [People.alice]) == nil)
    }
    #endif
}
