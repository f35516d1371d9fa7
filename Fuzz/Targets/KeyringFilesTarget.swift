import SystemPackage
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// The two files of a keyring, and one change. Either it is refused and both files are as they were, or it is done and
/// what was asked for is there.
///
/// The container is the keyring file. In its head, `key` is the unlock key, for the mutator; `unlocker` are the keys
/// that open the unlock file; `unlock-file-key` is the file key of that file; `unlock-file` holds it in hexadecimal.
enum KeyringFilesTarget: FuzzTarget {
    static let name = "keyringfiles"
    private static let changes = 6

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input), let unlockFile = input.secrets.vector.bytes("unlock-file") else { return }
        let folder = try TemporaryFolder()
        try folder.write(input.container, to: "k")
        try folder.write(unlockFile, to: "k.key")
        // No passphrase: the limits of its cost belong to the caller of a container, not to a keyring.
        let keys = KeySet(
            keys: try input.secrets.vector.values("unlocker").compactMap { [UInt8](hexDigits: $0) }
                .map { try SymmetricKey(bytes: $0.span) })
        var old: Keyring?
        do {
            old = try Keyring.open(at: folder["k"], unlocking: keys, allowsUnprotected: true)
        } catch is VaultError {}
        var entries: [KeyringEntry] = []
        let traces: Keyring.Traces
        do {
            traces = try Keyring.change(at: folder["k"], unlocking: keys, allowsUnprotected: true) { change in
                try Self.change(&change, Int(input.seed % UInt64(changes)))
                entries = change.entries
            }.traces
        } catch is VaultError {
            try require(try folder.names == ["k", "k.key"], "it was refused, and a file was left")
            return try require(
                try folder.read("k") == input.container && folder.read("k.key") == unlockFile,
                "it was refused, and something was written")
        }
        guard let old else { throw Broken("a keyring was changed that cannot be opened") }
        try require(try folder.names == ["k", "k.key"], "it was done, and a file was left")
        let new = try Keyring.open(at: folder["k"], unlocking: keys, allowsUnprotected: true)
        try check(new, is: entries, madeOf: old)
        try require(new.isProtected == old.isProtected, "it is protected, or it was")
        if traces.exchange == .done {
            try require(try folder.read("k.key") != unlockFile, "the unlock key is the one that it was")
            // The destroyed key must be gone from the old file too, for anybody who finds it later.
            try folder.write(input.container, to: "k")
            do {
                _ = try Keyring.open(at: folder["k"], unlocking: keys, allowsUnprotected: true)
                throw Broken("the old keyring opens by the new unlock key")
            } catch is VaultError {}
        }
    }

    private static func check(_ new: Keyring, is entries: [KeyringEntry], madeOf old: Keyring) throws {
        try require(new.entries == entries, "there is \(new.entries) in it, and not \(entries)")
        for entry in entries where entry.hasSecret {
            guard entry.isKey, let id = entry.id else { continue }
            try require(new.key(id).id == id, "a key is another one")
        }
        let missing = old.entries.filter { was in !entries.contains { $0.id == was.id && $0.name == was.name } }
        try require(missing.isEmpty, "the keys \(missing) are gone")
    }

    private static func change(_ change: inout KeyringChange, _ what: Int) throws {
        let lines = change.entries
        let now = Timestamp(seconds: 1_800_000_000)
        let name = change.freeName(on: now)
        switch what {
        case 0: if let name { try change.generate(named: name, created: now) }
        case 1: if let name { try change.add(testKey(9), named: name, created: now, asCurrent: false) }
        case 2: if let name = lines.last?.name { try change.use(name) }
        case 3: if let name = lines.first?.name { try change.retire(name) }
        case 4: if let name = lines.first?.name { try change.destroy(name) }
        default: for line in lines where line.hasSecret || line.state == .destroyed { try change.destroy(line.name) }
        }
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        let vector = FuzzInput(input)?.secrets.vector
        guard random.below(3) == 0, let old = FuzzInput(input), let file = vector?.bytes("unlock-file") else {
            return ContainerMutation.mutate(input, &random, change: change, limit: limit)
        }
        // The same for the unlock file, if its keys are known.
        var lines = vector?.values("unlocker").map { "key: \($0)" } ?? []
        lines.append("context: \([UInt8]("vaultfile keyring key".utf8).hexDigits)")
        if let fileKey = vector?.value("unlock-file-key") { lines.append("file-key: \(fileKey)") }
        let head = [UInt8]((lines.joined(separator: "\n") + "\n\n").utf8)
        let changed = ContainerMutation.mutate(head + file, &random, change: change, limit: head.count + 12_000)
        let hex = [UInt8](changed.dropFirst(head.count)).hexDigits
        return [UInt8](
            (old.head(with: ["unlock-file: \(hex)"], inPlaceOf: ["unlock-file"]) + old.container).prefix(limit))
    }
}
