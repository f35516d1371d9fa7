import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Makes both copies whole and equal again, and the container's end too (Spec 13.2).
@Suite struct RepairTests {
    private static let text = randomBytes(2 * 4096 + 100, seed: 410)
    private let old = testKey(1)
    private let new = testKey(2)

    /// A container whose tail is one generation newer and for another key, as after a crash.
    private struct Forged {
        let forge: Forge
        let front: [UInt8]
        let tail: [UInt8]
        let bytes: [UInt8]

        init(capacity: Int, frontGeneration: UInt32, tailGeneration: UInt32) throws {
            forge = try Forge(seed: 411, capacity: .capacity(capacity))
            front = try forge.header([forge.slot(testKey(1))], generation: frontGeneration)
            tail = try forge.header([forge.slot(testKey(2))], generation: tailGeneration)
            bytes = try forge.container(RepairTests.text, front: front, tail: tail)
        }
    }

    private func whole(capacity: Int, compression: Compression = .none) throws -> [UInt8] {
        let options = SealOptions(
            chunk: .minimum, capacity: .capacity(capacity), digest: true, compression: compression)
        return try sealed(Self.text, options: options, randomness: .fixed(seed: 412))
    }

    @Test(
        "whatever of header and end is damaged, repair gives the same container again", arguments: [512, 4096, 8192],
        [Compression.none, .deflate])
    func theSameAgain(_ capacity: Int, _ compression: Compression) throws {
        let whole = try whole(capacity: capacity, compression: compression)
        let tail = whole.count - 32 - capacity
        var changes: [(String, (inout [UInt8]) -> Void)] = [
            ("front", { $0[20] ^= 1 }), ("magic", { $0[0] = 0 }), ("tail", { $0[tail + 100] ^= 1 }),
            ("tail gone", { $0.replaceSubrange(tail..<tail + capacity, with: [UInt8](repeating: 0, count: capacity)) }),
        ]
        changes += [
            ("footer", { $0[$0.count - 1] ^= 1 }), ("footer's offset", { $0[$0.count - 32] ^= 0x80 }),
            ("cut before the footer", { $0.removeLast(32) }), ("cut in the tail", { $0.removeLast(32 + capacity / 2) }),
            ("cut before the tail", { $0.removeLast(32 + capacity) }), ("something behind", { $0 += [1, 2, 3] }),
            ("zeros", { $0[tail - 1] = 7 }),
            (
                "footer and tail",
                {
                    $0[tail] ^= 1; $0[$0.count - 9] ^= 1
                }
            ),
        ]
        for (name, change) in changes {
            var bytes = whole
            change(&bytes)
            let container = try StoredContainer(bytes)
            let done = try Vault.repair(at: container.path, with: .key(old))
            #expect(try container.bytes == whole, "\(name)")
            #expect(done.isRepaired && !done.isNewHeader && done.header.generation == 1, "\(name)")
            #expect(try container.folder.names == ["c"])
        }
        let container = try StoredContainer(whole)
        let nothing = try Vault.repair(at: container.path, with: .key(old))
        #expect(!nothing.isRepaired && !nothing.isNewFile && nothing.found == .intact)
        #expect(try container.bytes == whole)
    }

    @Test(
        "a fault of the run is not called damage of the container",
        arguments: [VaultError.Code.memoryUnavailable, .inputFailed]
    ) func faults(_ code: VaultError.Code) throws {
        struct Failing: KeyProvider {
            let code: VaultError.Code

            func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { throw VaultError(code, "") }
        }
        var bytes = try whole(capacity: 4096)
        bytes[bytes.count - 1] ^= 1
        let container = try StoredContainer(bytes)
        #expect(
            try StoredContainer.code { try Vault.repair(at: container.path, with: Credentials(Failing(code: code))) }
                == code)
        // A key that does not fit leaves the error of the opening.
        #expect(
            try StoredContainer.code { try Vault.repair(at: container.path, with: .key(testKey(9))) } == .footerDamaged)
        #expect(try container.bytes == bytes)
    }

    @Test func contentsAreNotRepaired() throws {
        for place in [4096 + 5, 4096 + 4116 + 9] {
            for isFooterDamaged in [false, true] {
                var bytes = try whole(capacity: 4096)
                bytes[place] ^= 1
                if isFooterDamaged { bytes[bytes.count - 1] ^= 1 }
                let container = try StoredContainer(bytes)
                let code = try StoredContainer.code { try Vault.repair(at: container.path, with: .key(old)) }
                // A damaged record does not concern the header. But if the end must be found, the record is in the way.
                #expect(code == (isFooterDamaged ? .footerDamaged : nil))
                #expect(try container.bytes == bytes)
            }
        }
    }

    @Test("an interrupted rotation is finished by the newer key alone", arguments: [512, 4096])
    func unfinished(_ capacity: Int) throws {
        let forged = try Forged(capacity: capacity, frontGeneration: 5, tailGeneration: 6)
        let container = try StoredContainer(forged.bytes)
        func refused(_ body: () throws -> Void) throws {
            #expect(try StoredContainer.code(body) == .rotationUnfinished)
            #expect(try container.bytes == forged.bytes)
        }
        try refused { try Vault.repair(at: container.path, with: .key(old)) }
        try refused {
            try Vault.rotate(at: container.path, KeyChange(adding: [.key(testKey(3))]), with: .key(old))
            Issue.record("the older key must not write over the newer one's slot")
        }
    }

    @Test(arguments: [512, 4096]) func finished(_ capacity: Int) throws {
        let forged = try Forged(capacity: capacity, frontGeneration: 5, tailGeneration: 6)
        let container = try StoredContainer(forged.bytes)
        let done = try Vault.repair(at: container.path, with: .key(new))
        #expect(done.found == .rotationUnfinished && done.header.generation == 6 && !done.isNewHeader)
        #expect(try container.reading(KeySet(keys: [new])).health == .intact)
        #expect(try container.reading(KeySet(keys: [old])).code == .wrongKey)
    }

    @Test("the header that is written is newer than both copies", arguments: [HeaderPlace.front, .tail], [512, 4096])
    func conflict(_ kept: HeaderPlace, _ capacity: Int) throws {
        let forged = try Forged(capacity: capacity, frontGeneration: 5, tailGeneration: 9)
        let container = try StoredContainer(forged.bytes)
        let both = KeySet(keys: [old, new])
        #expect(
            try StoredContainer.code { try Vault.repair(at: container.path, with: Credentials(both)) }
                == .copiesConflict)
        #expect(try container.bytes == forged.bytes)
        var options = RotationOptions()
        options.keeping = kept
        let (keeper, loser) = kept == .front ? (old, new) : (new, old)
        #expect(
            try StoredContainer.code {
                try Vault.repair(at: container.path, with: .key(loser), options: options)
            } == .consentNeeded)
        #expect(try container.bytes == forged.bytes)
        let done = try Vault.repair(at: container.path, with: .key(keeper), options: options)
        #expect(done.header.generation == 10 && done.isNewHeader && done.header.slots.map(\.keyID) == [keeper.id])
        let reading = try container.reading(KeySet(keys: [keeper]))
        #expect(reading.health == .intact && reading.plaintext == Self.text)
        // The discarded copy, put back, is recognised as older.
        var pasted = try container.bytes
        let place = kept == .front ? pasted.count - 32 - capacity : 0
        pasted.replaceSubrange(place..<place + capacity, with: kept == .front ? forged.tail : forged.front)
        let back = try StoredContainer(pasted)
        let health = try back.reading(KeySet(keys: [keeper])).health
        #expect(health == .copiesConflict)
    }

    @Test func theCopyToKeepMustBeValid() throws {
        var bytes = try whole(capacity: 4096)
        bytes[100] ^= 1
        let container = try StoredContainer(bytes)
        var options = RotationOptions()
        options.keeping = .front
        #expect(
            try StoredContainer.code {
                try Vault.repair(at: container.path, with: .key(old), options: options)
            } == .headerDamaged)
        #expect(try container.bytes == bytes)
    }

    @Test func differencesAreShownFirst() throws {
        let forged = try Forged(capacity: 4096, frontGeneration: 5, tailGeneration: 6)
        let container = try StoredContainer(forged.bytes)
        struct Stop: Error {}
        var options = RotationOptions()
        options.onDifference = { difference in
            #expect(difference.frontGeneration == 5 && difference.tailGeneration == 6)
            #expect(difference.onlyInFront.map(\.keyID) == [testKey(1).id])
            #expect(difference.onlyInTail.map(\.keyID) == [testKey(2).id])
            throw Stop()
        }
        #expect(throws: Stop.self) {
            try Vault.repair(at: container.path, with: .key(new), options: options)
        }
        #expect(try container.bytes == forged.bytes)
    }

    @Test("the only slot of a new key, in the tail, outlives a damaged footer", arguments: [512, 4096])
    func tailBehindADamagedFooter(_ capacity: Int) throws {
        let forged = try Forged(capacity: capacity, frontGeneration: 5, tailGeneration: 6)
        var bytes = forged.bytes
        bytes[bytes.count - 3] ^= 1
        let container = try StoredContainer(bytes)
        // The older key opens the front and must not destroy the tail.
        #expect(
            try StoredContainer.code { try Vault.repair(at: container.path, with: .key(old)) }
                == .rotationUnfinished)
        #expect(try container.bytes == bytes)
        try Vault.repair(at: container.path, with: Credentials(KeySet(keys: [old, new])))
        #expect(try container.reading(KeySet(keys: [new])).health == .intact)
        #expect(try container.reading(KeySet(keys: [old])).code == .wrongKey)
    }
}
