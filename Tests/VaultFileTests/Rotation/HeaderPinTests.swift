import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A caller who remembers a state of a header, and an attacker who puts older header copies back (ARG-6).
@Suite struct HeaderPinTests {
    private static let text = randomBytes(2 * 4096 + 5, seed: 700)
    private static let owner = testKey(1)
    private static let removed = testKey(2)
    private static let third = testKey(3)
    private static let capacity = 4096

    /// The states of one container: each is the bytes of the file, and the pin of its header.
    private struct States {
        /// With a slot for the removed key.
        let old: State
        /// After its removal.
        let current: State
        /// After another change of the old state, so with the generation of the current one.
        let sibling: State
        /// After a further change of the current one.
        let later: State

        struct State {
            let bytes: [UInt8]
            let pin: HeaderPin
        }

        init(capacity: Int = HeaderPinTests.capacity) throws {
            func state(from bytes: [UInt8], _ change: KeyChange) throws -> State {
                let container = try StoredContainer(bytes)
                let done = try Vault.rotate(at: container.path, change, with: .key(owner))
                return State(bytes: try container.bytes, pin: done.header.pin)
            }
            let made = try sealed(
                text, for: [.key(owner), .key(removed)],
                options: SealOptions(chunk: .minimum, capacity: .capacity(capacity)))
            let opened = try SeekableVaultReader(MemorySource(made), with: .key(owner)).opened
            old = State(bytes: made, pin: opened.header.pin)
            let removal = KeyChange(removing: SlotSelection(ids: [removed.id]))
            current = try state(from: made, removal)
            sibling = try state(from: made, KeyChange(adding: [.key(third)]))
            later = try state(from: current.bytes, KeyChange(adding: [.key(third)]))
        }
    }

    private static func credentials(_ pin: HeaderPin?, _ key: SymmetricKey = owner) -> Credentials {
        Credentials(KeySet(keys: [key]), expecting: pin)
    }

    /// The front copy of one state with the rest of another.
    private static func mixed(front: States.State, tail: States.State) -> [UInt8] {
        [UInt8](front.bytes.prefix(capacity) + tail.bytes.dropFirst(capacity))
    }

    private static func stream(_ bytes: [UInt8], _ pin: HeaderPin?) throws -> Reading {
        try Reading { try readStream(bytes, with: credentials(pin), to: $0) }
    }

    private static func seek(_ bytes: [UInt8], _ pin: HeaderPin?) throws -> Reading {
        try Reading { sink in
            let reader = try SeekableVaultReader(MemorySource(bytes), with: credentials(pin))
            try reader.readAll(to: sink)
            return reader.opened
        }
    }

    /// Reads a file as a stream, as from a pipe.
    private static func pipe(_ bytes: [UInt8], _ pin: HeaderPin?) throws -> Reading {
        let container = try StoredContainer(bytes)
        return try Reading { sink in
            let input = try FileDescriptor.open(container.path, .readOnly)
            defer { try? input.close() }
            let output = try FileDescriptor.open(
                container.folder["out"], .readWrite, options: .create, permissions: .ownerReadWrite)
            defer { try? output.close() }
            let opened = try PipedContainer(from: input, with: credentials(pin)).decrypt(to: output, jobs: 2)
            let plaintext = try container.folder.read("out")
            sink(plaintext.span)
            return opened
        }
    }

    private static func recover(_ bytes: [UInt8], _ pin: HeaderPin?) throws -> Recovering {
        try Recovering(using: nil, jobs: 1) { try Recovery(MemorySource(bytes), with: credentials(pin)) }
    }

    // MARK: Reading

    @Test("the state and later ones open, with the pin of that state or an earlier one") func accepted() throws {
        let states = try States()
        for (state, pins) in [
            (states.old, [states.old]), (states.current, [states.current, states.old]),
            (states.later, [states.later, states.current, states.old]), (states.sibling, [states.sibling, states.old]),
        ] {
            for pin in [nil] + pins.map(\.pin) {
                for reading in [
                    try Self.stream(state.bytes, pin), try Self.seek(state.bytes, pin), try Self.pipe(state.bytes, pin),
                ] {
                    #expect(reading.plaintext == Self.text && reading.health == .intact)
                    #expect(reading.opened?.header.pin == state.pin && reading.opened?.unexpectedCopy == nil)
                }
                #expect(try Self.recover(state.bytes, pin).recovered?.isComplete == true)
            }
        }
    }

    @Test("an older state, and another one of the same generation, gives no byte") func rolledBack() throws {
        let states = try States()
        for (state, pin, words) in [
            (states.old, states.current, "has generation 1, which is older than the expected 2"),
            (states.sibling, states.current, "has the expected generation 2, and is not the expected header"),
            (states.current, states.sibling, "has the expected generation 2, and is not the expected header"),
            (states.old, states.later, "has generation 1, which is older than the expected 3"),
        ] {
            for reading in [
                try Self.stream(state.bytes, pin.pin), try Self.seek(state.bytes, pin.pin),
                try Self.pipe(state.bytes, pin.pin),
            ] {
                #expect(reading.code == .unexpectedState && reading.plaintext.isEmpty)
                #expect(reading.error?.message.contains(words) == true)
            }
            let recovering = try Self.recover(state.bytes, pin.pin)
            #expect(recovering.code == .unexpectedState && recovering.plaintext.isEmpty)
            // Without a pin, each of these states is a correct container.
            #expect(try Self.seek(state.bytes, nil).plaintext == Self.text)
        }
    }

    @Test("one old copy counts as not valid, and the other one is read") func oneCopy() throws {
        let states = try States()
        for older in [states.old, states.sibling] {
            let front = Self.mixed(front: older, tail: states.current)
            let opened = try Self.seek(front, states.current.pin)
            #expect(opened.plaintext == Self.text && opened.health == .frontDamaged)
            #expect(opened.opened?.header.pin == states.current.pin)
            #expect(opened.opened?.unexpectedCopy?.pin == older.pin)
            // A stream knows only the front before it gives out plaintext.
            for reading in [try Self.stream(front, states.current.pin), try Self.pipe(front, states.current.pin)] {
                #expect(reading.code == .unexpectedState && reading.plaintext.isEmpty)
            }
            let found = try Self.recover(front, states.current.pin)
            #expect(found.recovered?.isComplete == true && found.recovered?.header.offset != 0)

            let tail = Self.mixed(front: states.current, tail: older)
            for reading in [
                try Self.seek(tail, states.current.pin), try Self.stream(tail, states.current.pin),
                try Self.pipe(tail, states.current.pin),
            ] {
                #expect(reading.plaintext == Self.text && reading.health == .tailDamaged)
                #expect(reading.opened?.header.pin == states.current.pin)
                #expect(reading.opened?.unexpectedCopy?.pin == older.pin)
            }
            #expect(try Self.recover(tail, states.current.pin).recovered?.header.offset == 0)
        }
        // The caller's key has a slot only in the old copy, which does not count.
        let front = Self.mixed(front: states.old, tail: states.current)
        let key = Self.credentials(states.current.pin, Self.removed)
        #expect(throws: VaultError(.headerForged, "")) { try SeekableVaultReader(MemorySource(front), with: key) }
        #expect(
            try Recovering(using: nil, jobs: 1) { try Recovery(MemorySource(front), with: key) }.code == .headerForged)
    }

    @Test("the pin of another container fits no state of this one") func anotherContainer() throws {
        let (states, others) = (try States(), try States())
        for pin in [others.old.pin, others.current.pin] {
            for state in [states.old, states.later] {
                let reading = try Self.seek(state.bytes, pin)
                #expect(reading.code == .unexpectedState && reading.plaintext.isEmpty)
                #expect(reading.error?.message == "it is another container than the expected one")
                #expect(try Self.stream(state.bytes, pin).code == .unexpectedState)
                #expect(try Self.recover(state.bytes, pin).code == .unexpectedState)
            }
        }
        // Of two containers in one file, recovery takes the expected one.
        let padding = [UInt8](repeating: 0, count: 4096 - states.current.bytes.count % 4096)
        let found = try Recovery(
            MemorySource(states.current.bytes + padding + others.current.bytes),
            with: Self.credentials(others.current.pin))
        #expect(found.headers.map(\.offset) == [UInt64(states.current.bytes.count + padding.count)])
    }

    // MARK: Changing

    @Test("a rotation of a state that was put back keeps its slots, and says so") func laundering() throws {
        let states = try States()
        let container = try StoredContainer(states.old.bytes)
        let done = try Vault.rotate(at: container.path, KeyChange(adding: [.key(Self.third)]), with: .key(Self.owner))
        #expect(
            done.kept.map(\.keyID) == [Self.owner.id, Self.removed.id] && done.added.map(\.keyID) == [Self.third.id])
        // That is the attack: the removed key is in a header of the expected generation, and with one more rotation
        // the pin does not tell any more.
        #expect(done.header.generation == states.current.pin.generation)
        #expect(try Self.seek(container.bytes, states.current.pin).code == .unexpectedState)
        try Vault.rotate(
            at: container.path, KeyChange(removing: SlotSelection(ids: [Self.third.id])), with: .key(Self.owner))
        #expect(try Self.seek(container.bytes, states.current.pin).health == .intact)
    }

    @Test("no operation changes a container whose state is not the expected one", arguments: [512, capacity])
    func changesNothing(_ capacity: Int) throws {
        let states = try States(capacity: capacity)
        for state in [states.old, states.sibling] {
            let container = try StoredContainer(state.bytes)
            let credentials = Self.credentials(states.current.pin)
            let change = KeyChange(adding: [.key(Self.third)], removing: SlotSelection(ids: [Self.removed.id]))
            var (dry, front, tail) = (RotationOptions(), RotationOptions(), RotationOptions())
            dry.isDryRun = true
            (front.keeping, tail.keeping) = (.front, .tail)
            for options in [RotationOptions(), dry, front, tail] {
                #expect(throws: VaultError(.unexpectedState, "")) {
                    try Vault.rotate(at: container.path, change, with: credentials, options: options)
                }
                #expect(throws: VaultError(.unexpectedState, "")) {
                    try Vault.repair(at: container.path, with: credentials, options: options)
                }
            }
            var reencryption = ReencryptionOptions()
            reencryption.mayLoseSlots = true
            #expect(throws: VaultError(.unexpectedState, "")) {
                try Vault.reencrypt(
                    at: container.path, for: [.key(Self.owner)], with: credentials, options: reencryption)
            }
            #expect(try container.bytes == state.bytes && container.folder.names == ["c"])
            let later = try Vault.reencrypt(
                at: container.path, for: [.key(Self.owner)], with: Self.credentials(state.pin), options: reencryption)
            #expect(try Self.seek(container.bytes, later.header.pin).plaintext == Self.text)
            #expect(try Self.seek(container.bytes, states.current.pin).code == .unexpectedState)
        }
    }

    @Test("rotation and repair go on from the copy that is expected, and replace the other") func oneCopyIsRepaired()
        throws
    {
        let states = try States()
        let credentials = Self.credentials(states.current.pin)
        for older in [states.old, states.sibling] {
            for bytes in [
                Self.mixed(front: older, tail: states.current), Self.mixed(front: states.current, tail: older),
            ] {
                let repaired = try StoredContainer(bytes)
                let repair = try Vault.repair(at: repaired.path, with: credentials)
                #expect(repair.isRepaired && !repair.isNewHeader && repair.header.pin == states.current.pin)
                #expect(try repaired.bytes == states.current.bytes)

                let rotated = try StoredContainer(bytes)
                let done = try Vault.rotate(at: rotated.path, KeyChange(adding: [.key(Self.third)]), with: credentials)
                #expect(done.kept.map(\.keyID) == [Self.owner.id] && done.header.generation == 3)
                #expect(try Self.seek(rotated.bytes, done.header.pin).health == .intact)
                let out = Credentials(KeySet(keys: [Self.removed]))
                #expect(throws: VaultError(.wrongKey, "")) {
                    try SeekableVaultReader(FileSource(at: rotated.path), with: out)
                }
            }
            // The old copy is not valid, so it cannot be the one to keep.
            let kept = try StoredContainer(Self.mixed(front: states.current, tail: older))
            let before = try kept.bytes
            var options = RotationOptions()
            options.keeping = .tail
            #expect(throws: VaultError(.headerDamaged, "")) {
                try Vault.repair(at: kept.path, with: credentials, options: options)
            }
            #expect(try kept.bytes == before)
        }
    }

    @Test("the end is repaired only behind a header that is expected") func end() throws {
        let states = try States()
        for (state, code) in [(states.old, VaultError.Code.footerDamaged), (states.current, nil)] {
            let spoilt = [UInt8](state.bytes.dropLast(8)) + [UInt8](repeating: 0, count: 8)
            let container = try StoredContainer(spoilt)
            let found = try StoredContainer.code {
                try Vault.repair(at: container.path, with: Self.credentials(states.current.pin))
            }
            // REP-4: if the header does not count, the error of opening stays.
            #expect(found == code)
            #expect(try container.bytes == (code == nil ? state.bytes : spoilt))
        }
    }
}
