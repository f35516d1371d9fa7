import VaultFile
import VaultTestSupport

/// A change of keys, a repair or a re-encryption of any bytes. Either it is refused and nothing was written, or it is
/// done and the contents are the same, for those who could open it and for those who were added.
enum RotateTarget: FuzzTarget {
    static let name = "rotate"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let vector = input.secrets.vector
        let folder = try TemporaryFolder()
        let path = try folder.write(input.container, to: "c")
        do {
            _ = try vector.change(path, limits: FuzzInput.limits)
        } catch is VaultError {
            try require(try folder.read("c") == input.container, "it was refused, and something was written")
            try require(try folder.names == ["c"], "it was refused, and a file was left")
            return
        } catch is Misread {
            return
        }
        try require(try folder.names == ["c"], "it was done, and a file was left")
        try check(input, try folder.read("c"), adding: try vector.added())
    }

    private static func check(_ input: FuzzInput, _ changed: [UInt8], adding added: [Vector.Added]) throws {
        let operation = input.secrets.vector.value("operation") ?? ""
        let vector = input.secrets.vector
        var (keys, passphrases) = (input.secrets.symmetric, input.secrets.passphrases)
        let named = try vector.removingIdentities()
        var identities = input.secrets.identities + named.keys
        for secret in added {
            switch secret {
            case .key(let key): keys.append(key)
            case .passphrase(let passphrase, _): passphrases.append(passphrase)
            case .identity(let identity): identities.append(identity)
            case .publicHalf: break
            }
        }
        // So is a passphrase that names a slot for removal.
        for line in input.secrets.vector.values("remove") where line.hasPrefix("passphrase ") {
            guard let bytes = [UInt8](hexDigits: line.dropFirst("passphrase ".count)) else { continue }
            passphrases.append(try Passphrase(bytes: bytes.span))
        }
        var atHand = FuzzKeys(
            keys: keys, passphrases: passphrases, identities: identities,
            plugins: input.secrets.plugins + named.plugins, standIn: input.secrets.standIn)
        atHand.wrapping = nil
        let (before, after) = (try Contents(input.container, atHand, input), try Contents(changed, atHand, input))
        // A repair also opens containers that no reader opens.
        try require(
            before.isOpened || operation == "repair", "\(operation) opened what is \(before.reading.result)")
        guard before.isOpened else { return }
        if operation == "reencrypt" {
            try require(before.reading.opened != nil, "\(before.reading.result) was made a new container of")
        }
        if after.isOpened {
            try require(after.isSame(as: before), "\(before.reading.result), and now \(after.reading.result)")
        } else {
            // With consent, callers may lock themselves out; and an added slot may cost more than the limits.
            let code = after.reading.code
            // The input also says what the plugin wraps, and may have no answer to that.
            let isByPlugin = !input.secrets.vector.values("stanza-wrap").isEmpty
            let isOutside = code == .wrongKey || code == .limitExceeded || code == .pluginFailed
            try require(
                isOutside && (input.secrets.vector.value("consent") == "yes" || isByPlugin)
                    || code == .limitExceeded && added.contains(where: \.isStretched),
                "it opened before, and now \(after.reading.result)")
        }
        guard operation != "repair" else { return }
        for secret in added {
            var alone: FuzzKeys
            switch secret {
            case .key(let key): alone = FuzzKeys(keys: [key])
            case .passphrase(let passphrase, _): alone = FuzzKeys(passphrases: [passphrase])
            case .identity(let identity): alone = FuzzKeys(identities: [identity])
            case .publicHalf: continue
            }
            alone.wrapping = nil
            let given = try Contents(changed, alone, input)
            try require(
                given.isSame(as: before) || secret.isStretched && given.reading.code == .limitExceeded,
                "for who was added it is \(given.reading.result)")
        }
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        let output = ContainerMutation.mutate(input, &random, change: change, limit: limit)
        guard random.below(5) == 0, let changed = FuzzInput(output) else { return output }
        let names: Set = ["operation", "add", "remove", "keep", "consent", "mixed", "random", "stanza-wrap"]
        let head = changed.head(with: lines(changed, &random), inPlaceOf: names)
        return [UInt8]((head + changed.container).prefix(limit))
    }

    /// Another change, from the lines of its operation.
    private static func lines(_ input: FuzzInput, _ random: inout SeededRandom) -> [String] {
        let operation = random.pick(["rotate", "rotate", "rotate", "repair", "reencrypt"])
        var lines = ["operation: \(operation)"]
        if random.below(3) == 0 { lines.append("consent: yes") }
        if random.below(2) == 0 { lines.append("mixed: yes") }
        if operation != "reencrypt", random.below(4) == 0 {
            lines.append("keep: \(random.pick(["front", "tail"]))")
        }
        guard operation != "repair" else { return lines }
        let hexKeys = input.secrets.vector.values("key") + (5...7).map { [UInt8](repeating: $0, count: 32).hexDigits }
        let identities = RecipientSlots.texts(input)
        for _ in 0..<random.below(3) {
            let identity = "\(random.pick(["", "hidden-"]))identity \(random.pick(identities))"
            lines.append("add: \(random.pick(["key \(random.pick(hexKeys))", identity]))")
        }
        guard operation == "rotate" else { return lines }
        let ids = input.secrets.symmetric.map(\.id.bytes) + [[UInt8](input.container.dropFirst(80).prefix(16))]
        for _ in 0..<max(0, random.below(4) - 1) {
            let named =
                input.secrets.vector.values("passphrase").map { "passphrase \($0)" } + ["others"]
                + (identities + input.secrets.vector.values("identity")).map { "identity \($0)" }
            lines.append("remove: \(random.pick(named + ids.map { "id \($0.hexDigits)" }))")
        }
        return lines
    }
}

extension Vector.Added {
    /// Whether opening with it costs Argon2id.
    fileprivate var isStretched: Bool {
        if case .passphrase = self { true } else { false }
    }
}

/// The result that a container gives a caller.
private struct Contents {
    let reading: Reading
    /// Whether every fault comes after the header and the manifest.
    let isOpened: Bool

    init(_ container: [UInt8], _ keys: FuzzKeys, _ input: FuzzInput) throws {
        var isOpened = false
        reading = try Reading { sink in
            let reader = try SeekableVaultReader(
                MemorySource(container), with: input.credentials(keys))
            isOpened = true
            try reader.readAll(to: sink)
            return reader.opened
        }
        self.isOpened = isOpened
    }

    /// Whether it has the contents of another and fails at the same place. The header is another one, and whole.
    func isSame(as before: Contents) -> Bool {
        guard isOpened, reading.plaintext == before.reading.plaintext else { return false }
        guard let opened = reading.opened else { return reading.code == before.reading.code }
        guard opened.health == .intact, let old = before.reading.opened?.manifest else { return false }
        // A packed stream that was packed again may have other lengths.
        let new = opened.manifest
        return new.metadata == old.metadata && new.digest == old.digest && new.plaintextLength == old.plaintextLength
            && (new.packed == nil) == (old.packed == nil)
    }
}
