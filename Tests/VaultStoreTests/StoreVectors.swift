import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// One file of `Spec/vectors/stores`.
struct StoreVector: Sendable, CustomTestStringConvertible {
    let name: String
    let fields: [String: [String]]

    var testDescription: String { name }

    init(_ name: String, _ bytes: [UInt8]) throws {
        self.name = name
        var fields: [String: [String]] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            // A name that this runner does not know asks for something that it would not do.
            try #require(parts.count == 2 && Self.known.contains(parts[0]), "\(name): \(parts[0])")
            fields[parts[0], default: []].append(String(parts[1].drop { $0 == " " }))
        }
        self.fields = fields
    }

    private static let known: Set<String> = [
        "case", "tests", "comment", "needs", "device-key", "unlock-key", "unlock-passphrase", "file", "open", "unlock",
        "locked-when-sealed", "item", "locked-when-locked",
    ]

    func value(_ field: String) -> String? { fields[field]?.first }

    static let all: Result<[StoreVector], any Error> = Result {
        let folder = Repository.path("Spec/vectors/stores")
        return try FileDescriptor.folder(folder).names { $0.suffix(7).elementsEqual(".vector".utf8) }
            .map { try StoreVector($0.string, Repository.contents(folder.appending($0.string))) }
            .filter { Vector.has($0.value("needs")) }
            .sorted { $0.name < $1.name }
    }
}

/// The vectors of whole stores (Spec, appendix E).
@Suite struct StoreVectors {
    private func key(_ hex: String) throws -> SymmetricKey {
        testKey(try #require([UInt8](hexDigits: hex)))
    }

    private func lay(_ vector: StoreVector, in folder: TemporaryFolder) throws {
        try folder.makeFolder("s")
        for name in ["items", "lost"] { try folder.makeFolder("s/\(name)") }
        for line in vector.fields["file"] ?? [] {
            let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            let bytes = words.count > 1 ? try #require(Base64.decode(Array(words[1].utf8)[...])) : []
            try folder.write(bytes, to: "s/\(words[0])")
        }
    }

    private func name(_ error: any Error) -> String {
        switch error {
        case let error as StoreError where error.code == .locked: "locked \(error.protection?.rawValue ?? "")"
        case let error as StoreError: error.code.name
        case let error as VaultError: error.code.name
        default: "\(error)"
        }
    }

    private func result(_ body: () throws -> String) -> String {
        do { return try body() } catch { return name(error) }
    }

    private func isExpected(_ found: String, _ expected: String?) -> Bool {
        expected == found || expected == "E" && !found.contains(" ") && found != "done"
    }

    /// Opens an item as a program does that knows no name, and reads all of it.
    private func read(_ file: FilePath, of store: VaultStore) -> String {
        result {
            let found = try FoundItem(file, in: store.folder.items, expecting: nil, by: store.opener)
            defer { found.end() }
            var sum = SHA256()
            try ItemReader(found).readAll { sum.update($0) }
            let item = found.item
            let digest = sum.finish().hexadecimal
            return "\(item.protection.rawValue) \(item.length) \(digest) \(Array(item.name.utf8).hexadecimal)"
        }
    }

    private func results(_ store: VaultStore) throws -> [FilePath: String] {
        let files = try store.folder.items.names(ItemName.isFile)
        return Dictionary(uniqueKeysWithValues: files.map { ($0, read($0, of: store)) })
    }

    private func check(_ vector: StoreVector) throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try lay(vector, in: folder)
        let device = try key(try #require(vector.value("device-key")))
        var opened: VaultStore?
        let opening = result {
            opened = try VaultStore.open(at: folder["s"], device: device)
            return "done"
        }
        #expect(isExpected(opening, vector.value("open")), "\(opening)")
        guard let store = opened, vector.value("open") == "done" else { return }
        let locked = try results(store).values.count { $0.hasPrefix("locked ") }
        #expect("\(locked)" == vector.value("locked-when-sealed"))
        if let expected = vector.value("unlock") {
            let keys = KeySet(
                keys: try (vector.fields["unlock-key"] ?? []).map(key),
                passphrases: try (vector.fields["unlock-passphrase"] ?? []).map { hex in
                    let bytes = try #require([UInt8](hexDigits: hex))
                    return try Passphrase(bytes: bytes.span)
                })
            let unlocking = result {
                try store.unlock(with: keys)
                return "done"
            }
            #expect(isExpected(unlocking, expected), "\(unlocking)")
            #expect(store.state == (unlocking == "done" ? .unlocked : .sealed))
        }
        let found = try results(store)
        let items = vector.fields["item"] ?? []
        #expect(found.count == items.count)
        for line in items {
            let (file, expected) = (FilePath(String(line.prefix(32)) + ".vault"), String(line.dropFirst(33)))
            #expect(isExpected(try #require(found[file]), expected), "\(file): \(found[file] ?? "")")
        }
        // A list shows what opens, and agrees with it.
        let list = try store.list()
        let names = Set(
            items.compactMap { $0.split(separator: " ").count == 5 ? String($0.split(separator: " ")[4]) : nil })
        #expect(names.isSubset(of: Set(list.items.map { Array($0.name.utf8).hexadecimal })))
        #expect(list.items.count + list.lockedCount + list.damaged.count == items.count)
        if let expected = vector.value("locked-when-locked") {
            store.lock()
            #expect("\(try results(store).values.count { $0.hasPrefix("locked ") })" == expected)
        }
    }

    @Test func thereAreVectors() throws {
        #expect(try StoreVector.all.get().count > 350)
    }

    @Test(arguments: (try? StoreVector.all.get()) ?? []) func run(_ vector: StoreVector) throws {
        try check(vector)
    }
}
