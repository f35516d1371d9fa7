import Testing
import VaultFile
import VaultFormat
import VaultTestSupport

/// Writing and changing (Spec 12, 13, 14).
@Suite struct PublicKeySlotChanges {
    private static let text = randomBytes(3 * 4096 + 17, seed: 900)
    private let key = testKey(1)

    private func container(_ recipients: [Recipient], capacity: Int? = 16_384) throws -> StoredContainer {
        var options = SealOptions(chunk: .minimum, capacity: capacity.map { .capacity($0) })
        options.mayMixRecipients = true
        return try StoredContainer(sealed(Self.text, for: recipients, options: options))
    }

    /// Puts slots into both copies, as a holder of the file key could.
    private func container(_ recipients: [Recipient], change: ([Slot]) -> [Slot]) throws -> StoredContainer {
        let fileKey = randomBytes(32, seed: 8)
        let forge = try Forge(
            fileKey: fileKey, fileID: randomBytes(16, seed: 9), chunkSize: .minimum, capacity: .capacity(16_384))
        let made = try sealed(
            Self.text, for: recipients, options: SealOptions(chunk: .minimum, capacity: .capacity(16_384)),
            randomness: Randomness(
                fileKey: { FileKey(secret(fileKey)) },
                bytes: { $0 == 16 ? randomBytes(16, seed: 9) : Randomness.system.bytes($0) }))
        return try StoredContainer(forge.container(Self.text, front: forge.header(change(made.slots))))
    }

    private func slots(_ container: StoredContainer) throws -> [Slot] { try container.bytes.slots }

    @discardableResult
    private func rotate(
        _ container: StoredContainer, adding: [Recipient] = [], removing: SlotSelection = .none,
        keys: KeySet? = nil, _ options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try Vault.rotate(
            at: container.path, KeyChange(adding: adding, removing: removing),
            with: Credentials(keys ?? KeySet(keys: [key])), options: options)
    }

    private func expect(
        _ container: StoredContainer, opensFor identities: Identity...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for identity in identities {
            let reading = try container.reading(KeySet(identities: [identity]))
            #expect(reading.plaintext == Self.text && reading.health == .intact, sourceLocation: sourceLocation)
        }
    }

    /// N2.
    @Test func twiceMakesOneSlot() throws {
        let bob = People.bob.publicKey
        let made = try container([.publicKey(bob), .identity(People.bob), .publicKey(bob, isHidden: true)])
        #expect(try slots(made).count == 1)
        try expect(made, opensFor: People.bob)
    }

    /// N3 and N4.
    @Test func addsOneWhosePrivateKeyIsElsewhere() throws {
        let made = try container([.key(key)])
        let done = try rotate(made, adding: [.publicKey(People.bob.publicKey)])
        #expect(done.added.map(\.kind) == [.x25519] && done.header.generation == 2 && !done.isNewFile)
        try expect(made, opensFor: People.bob)
        let first = try slots(made)
        // Again: this writer cannot tell whether the slot opens, so it makes a new one in its place.
        let again = try rotate(made, adding: [.publicKey(People.bob.publicKey)])
        #expect(again.added.count == 1 && again.removed.count == 1)
        let second = try slots(made)
        #expect(second.count == 2 && second[0] == first[0] && second[1] != first[1])
        #expect(second[1].keyID == first[1].keyID)
        try expect(made, opensFor: People.bob)
        // With the identity at hand there is nothing to do.
        let known = try rotate(made, adding: [.identity(People.bob)])
        #expect(!known.isNewHeader)
        let found = try rotate(
            made, adding: [.publicKey(People.bob.publicKey)], keys: KeySet(keys: [key], identities: [People.bob]))
        #expect(!found.isNewHeader)
    }

    /// N5 and N7.
    @Test func deadSlotsUnderAnID() throws {
        let bob = Recipient.publicKey(People.bob.publicKey)
        let forged = try container([.key(key), bob, .identity(People.carol)]) { slots in
            [slots[0]] + dead(slots[1], count: 3) + [slots[2]]
        }
        let before = try slots(forged)
        #expect(try rotate(forged, adding: [bob]).removed.count == 3)
        let after = try slots(forged)
        #expect(after.count == 3 && after[0] == before[0] && after[2] == before[4])
        try expect(forged, opensFor: People.bob, People.carol)

        let mixed = try container([.key(key), bob]) { [$0[0], dead($0[1]), $0[1]] }
        #expect(try !rotate(mixed, adding: [.identity(People.bob)]).isNewHeader)
        // Nobody asked for Bob, so nothing is replaced.
        #expect(try !rotate(mixed, keys: KeySet(keys: [key], identities: [People.bob])).isNewHeader)
        let lost = try container([.key(key), bob]) { [$0[0]] + dead($0[1], count: 2) }
        #expect(try rotate(lost, adding: [.identity(People.bob)]).removed.count == 2)
        #expect(try slots(lost).count == 2)
        try expect(lost, opensFor: People.bob)
    }

    /// N6, and names for removal (ROT-13).
    @Test func removing() throws {
        let bob = Recipient.publicKey(People.bob.publicKey)
        let made = try container([bob, .key(key), .publicKey(People.carol.publicKey, isHidden: true)])
        let before = try slots(made)
        var selection = SlotSelection()
        selection.publicKeys = [People.bob.publicKey, People.carol.publicKey]
        #expect(try rotate(made, adding: [bob], removing: selection).removed.count == 1)
        // Carol's slot is hidden: her public key does not name it.
        #expect(try Array(slots(made)[..<2]) == [before[1], before[2]])
        try expect(made, opensFor: People.bob, People.carol)
        selection = SlotSelection()
        selection.identities = [People.carol, People.bob]
        #expect(try rotate(made, removing: selection).removed.count == 2)
        #expect(try slots(made) == [before[1]])
    }

    /// An identity that names what to remove names a dead slot too.
    @Test func identityNamesDeadSlots() throws {
        let forged = try container([.key(key), .identity(People.bob)]) { [$0[0], dead($0[1])] }
        var selection = SlotSelection()
        selection.identities = [People.bob]
        #expect(try rotate(forged, removing: selection).removed.count == 1)
    }

    /// N8 and N9.
    @Test func others() throws {
        let bob = Recipient.publicKey(People.bob.publicKey)
        let made = try container([.key(key), bob])
        let before = try slots(made)
        let all = SlotSelection(others: true)
        #expect(try StoredContainer.code { try rotate(made, adding: [bob], removing: all) } == .consentNeeded)
        // With the identity among the secrets of the caller, Bob's slot stays.
        try rotate(made, adding: [bob], removing: all, keys: KeySet(keys: [key], identities: [People.bob]))
        #expect(try slots(made) == [before[1]])
        let other = try container([.key(key), bob])
        var options = RotationOptions()
        options.mayLoseAccess = true
        let done = try rotate(other, adding: [bob], removing: all, options)
        #expect(done.removed.count == 2 && done.added.count == 1)
        try expect(other, opensFor: People.bob)
    }

    /// A slot that opens with an identity of the caller is not Bob's for that, whether it shows its ID or not. Otherwise
    /// it would stay although all others are to go.
    @Test(arguments: [true, false]) func othersOfTheCaller(isHidden: Bool) throws {
        let bob = Recipient.publicKey(People.bob.publicKey)
        let made = try container([.publicKey(People.alice.publicKey, isHidden: isHidden), bob])
        let before = try slots(made)
        let done = try rotate(
            made, adding: [bob], removing: SlotSelection(others: true),
            keys: KeySet(identities: [People.alice, People.bob]))
        #expect(done.removed.count == 1)
        #expect(try slots(made) == [before[1]])
    }

    /// A new slot for somebody else is no way in; one for an identity at hand is (ROT-15).
    @Test func wayIn() throws {
        let bob = Recipient.publicKey(People.bob.publicKey)
        let made = try container([.key(key)])
        let own = SlotSelection(ids: [key.id])
        #expect(try StoredContainer.code { try rotate(made, adding: [bob], removing: own) } == .consentNeeded)
        try rotate(made, adding: [bob], removing: own, keys: KeySet(keys: [key], identities: [People.bob]))
        try expect(made, opensFor: People.bob)
    }

    /// N13.
    @Test func hiddenSlots() throws {
        let hidden = (1...65).map { Recipient.publicKey(People.identity($0).publicKey, isHidden: true) }
        #expect(try StoredContainer.code { _ = try container(hidden) } == .doesNotFit)
        let full = try container([.key(key)] + hidden.dropLast())
        let last = People.identity(65)
        #expect(try StoredContainer.code { try rotate(full, adding: [hidden[64]]) } == .doesNotFit)
        try rotate(full, adding: [.publicKey(last.publicKey)])
        try expect(full, opensFor: last, People.identity(64))
        // A hidden slot never makes its recipient present.
        let one = try container([.key(key), .identity(People.bob, isHidden: true)])
        #expect(try rotate(one, adding: [.identity(People.bob, isHidden: true)]).added.count == 1)
        #expect(try slots(one).count == 3)
        // A shown one does, and is not replaced by a hidden one.
        let shown = try container([.key(key), .identity(People.bob)])
        #expect(try !rotate(shown, adding: [.identity(People.bob, isHidden: true)]).isNewHeader)
    }

    /// N18.
    @Test func hiddenSlotsThatAreLeftOut() throws {
        let forged = try container([.key(key), .publicKey(People.bob.publicKey, isHidden: true)]) { slots in
            [slots[0]] + dead(slots[1], count: 64) + [slots[1]]
        }
        var selection = SlotSelection()
        selection.identities = [People.bob]
        #expect(try StoredContainer.code { try rotate(forged, removing: selection) } == .limitExceeded)
    }

    /// N14 and N15 (REENC-4, REENC-5).
    @Test func reencryption() throws {
        func code(_ recipients: [Recipient], _ keys: KeySet? = nil, _ dropping: SlotSelection = .none) throws
            -> VaultError.Code?
        {
            let made = try container([
                .key(key), .publicKey(People.bob.publicKey), .publicKey(People.carol.publicKey, isHidden: true),
            ])
            var options = ReencryptionOptions()
            options.dropping = dropping
            let code = try StoredContainer.code {
                try Vault.reencrypt(
                    at: made.path, for: recipients, with: Credentials(keys ?? KeySet(keys: [key])), options: options)
            }
            if code == nil { #expect(try made.reading(KeySet(keys: [key])).plaintext == Self.text) }
            return code
        }
        let bob = Recipient.publicKey(People.bob.publicKey)
        let carol = Recipient.publicKey(People.carol.publicKey)
        #expect(try code([.key(key)]) == .consentNeeded)
        #expect(try code([.key(key), bob]) == .consentNeeded)
        // Only her identity shows that the hidden slot is Carol's.
        #expect(try code([.key(key), bob, carol]) == .consentNeeded)
        #expect(try code([.key(key), bob, carol], KeySet(keys: [key], identities: [People.carol])) == nil)
        #expect(try code([.key(key), bob, .identity(People.carol)]) == nil)
        var dropping = SlotSelection()
        dropping.publicKeys = [People.bob.publicKey]
        dropping.identities = [People.carol]
        #expect(try code([.key(key)], nil, dropping) == nil)
        #expect(try code([.key(key)], nil, SlotSelection(others: true)) == nil)
    }

    /// A slot that is kept stays hidden.
    @Test func reencryptionKeepsSlots() throws {
        let made = try container([.key(key), .identity(People.bob), .identity(People.carol, isHidden: true)])
        let before = try slots(made)
        var options = ReencryptionOptions()
        options.keepsSlot = { $0.kind == .x25519 }
        try Vault.reencrypt(
            at: made.path, for: [.key(key)],
            with: Credentials(KeySet(keys: [key], identities: [People.bob, People.carol])), options: options)
        let after = try slots(made)
        #expect(after.count == 3 && after.allSatisfy { !before.contains($0) || $0.type == 1 })
        #expect(after[1].keyID != before[1].keyID)
        #expect(after[2].keyID.bytes.prefix(8).allSatisfy { $0 == 0 })
        try expect(made, opensFor: People.bob, People.carol)
    }

    @Test func recovery() throws {
        let made = try container([.identity(People.alice)])
        var bytes = try made.bytes
        bytes[0] ^= 1
        let recovery = try Recovery(MemorySource(bytes), with: .identity(People.alice))
        #expect(recovery.headers.count == 1)
    }

    #if PublicKeys
    /// N1, N10, N11 (MIX-2).
    @Test func mixing() throws {
        let dora = try Identity.generate()
        let emil = try Identity.generate()
        let classical = Recipient.publicKey(People.bob.publicKey)
        let strong = Recipient.publicKey(dora.publicKey)
        #expect(
            try StoredContainer.code { _ = try sealed(Self.text, for: [strong, classical]) } == .mixedRecipients)
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        _ = try sealed(Self.text, for: [classical, .key(key), .passphrase(testPassphrase("x"), cheap)])
        _ = try sealed(Self.text, for: [strong, .key(key)])

        var consent = RotationOptions()
        consent.mayMixRecipients = true
        let made = try container([.key(key), classical])
        #expect(try StoredContainer.code { try rotate(made, adding: [strong]) } == .mixedRecipients)
        try rotate(made, adding: [strong], consent)
        try expect(made, opensFor: dora, People.bob)
        // A mixed one can be rotated otherwise, but none of its slots of public keys can be renewed.
        try rotate(made, adding: [.key(testKey(2))])
        #expect(try StoredContainer.code { try rotate(made, adding: [strong]) } == .mixedRecipients)
        var selection = SlotSelection()
        selection.publicKeys = [People.bob.publicKey]
        try rotate(made, adding: [.publicKey(emil.publicKey)], removing: selection)
        try expect(made, opensFor: dora, emil)

        let old = try container([.key(key), classical, strong])
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(at: old.path, for: [.key(key), classical, strong], with: .key(key))
            } == .mixedRecipients)
        var options = ReencryptionOptions()
        options.isDryRun = true
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(
                    at: old.path, for: [.key(key), classical, strong], with: .key(key), options: options)
            } == .mixedRecipients)
        options.isDryRun = false
        options.mayMixRecipients = true
        try Vault.reencrypt(at: old.path, for: [.key(key), classical, strong], with: .key(key), options: options)
        try expect(old, opensFor: dora, People.bob)
    }

    /// N12 and WRITE-7.
    @Test func capacities() throws {
        let people = try (0..<4).map { _ in try Identity.generate() }
        let made = try container([.key(key), .identity(people[0]), .identity(people[1])], capacity: 4096)
        #expect(try !rotate(made, adding: [.identity(people[2])]).isNewFile)
        let done = try rotate(made, adding: [.identity(people[3])])
        #expect(done.isNewFile && done.header.capacity.bytes == 8192)
        try expect(made, opensFor: people[0], people[1], people[2], people[3])

        func capacity(_ count: Int, _ recipient: Recipient) throws -> Int {
            try sealed([UInt8](repeating: 1, count: count), for: [recipient]).header.capacity.bytes
        }
        #expect(try capacity(100, .identity(people[0])) == 4096)
        #expect(try capacity(1 << 20, .identity(people[0])) == 16_384)
        #expect(try capacity(1 << 20, .identity(People.bob)) == 4096)
    }
    #endif
}
