import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every system call of a copy of a keyring fails once. The target is a whole keyring afterwards, the old or the new
/// one, or nothing.
@Suite struct KeyringCopyFaults {
    enum Target: CaseIterable, Sendable {
        case nothing, older, otherUnlockKey
    }

    private static let both = KeySet(keys: [testKey(1), testKey(2)])

    private static func states(_ path: FilePath) throws -> [String] {
        try Keyring.open(at: path, unlocking: both).entries.map { "\($0.name) \($0.state.name)" }
    }

    /// A keyring, and what is at the place of its copy.
    private static func prepare(_ target: Target) throws -> KeyringBox {
        let box = try KeyringBox(keys: ["one"])
        if target != .nothing { _ = try Keyring.copy(from: box.path, to: box.folder["copy"], unlocking: both) }
        if target == .otherUnlockKey {
            _ = try Keyring.protect(at: box.path, renewing: true, unlocking: both, with: [.key(testKey(2))])
        }
        _ = try Keyring.change(at: box.path, unlocking: both) { change in
            try change.generate(named: #require(KeyName("two")), created: Timestamp(seconds: 0))
        }
        return box
    }

    @Test(arguments: Target.allCases, [Errno.ioError, .noSpace]) func everyCall(_ target: Target, _ error: Errno) throws
    {
        try SystemCalls.$current.withValue(.withoutWaiting) { try tryEveryCall(target, error) }
    }

    private func tryEveryCall(_ target: Target, _ error: Errno) throws {
        let (old, new) = (["one current"], ["one retired", "two current"])
        var failing = 0
        var failed: Set<String> = []
        while true {
            let box = try Self.prepare(target)
            let number = failing
            let faults = Faults(countsLooks: true) { call in call.number == number ? error.rawValue : nil }
            var thrown: (any Error)?
            faults.during {
                do {
                    _ = try Keyring.copy(from: box.path, to: box.folder["copy"], unlocking: Self.both)
                } catch let error {
                    thrown = error
                }
            }
            guard failing < faults.calls.count else {
                #expect(thrown == nil)
                break
            }
            let name = faults.calls[failing].name
            let place: Comment = "\(name), call \(failing): \(String(describing: thrown))"
            if thrown != nil { failed.insert(name) }
            #expect(try Self.states(box.path) == new, place)
            let files = try box.folder.names.filter { $0.hasPrefix("copy") }
            if files.isEmpty {
                #expect(target == .nothing && thrown != nil, place)
            } else {
                #expect(files == ["copy", "copy.key"], place)
                let states = try Self.states(box.folder["copy"])
                #expect(states == new || states == old && target != .nothing && thrown != nil, place)
            }
            // A second try succeeds.
            _ = try Keyring.copy(from: box.path, to: box.folder["copy"], unlocking: Self.both)
            #expect(try Self.states(box.folder["copy"]) == new, place)
            failing += 1
        }
        let expected: Set = ["openAt", "write", "setPermissions", "sync", "statusAt"]
        #expect(expected.union([target == .nothing ? "linkAt" : "renameAt"]).isSubset(of: failed))
    }

    @Test("an error about the target is not taken for a keyring that does not open", arguments: ["copy", "copy.key"])
    func unknownTarget(_ name: String) throws {
        let box = try KeyringBox(keys: ["one"])
        let real = SystemCalls()
        var calls = SystemCalls.withoutWaiting
        calls.statusAt = { folder, path, follows in
            path == box.folder[name] ? .failure(.ioError) : real.statusAt(folder, path, follows)
        }
        let thrown = SystemCalls.$current.withValue(calls) {
            #expect(throws: VaultError.self) {
                try Keyring.copy(from: box.path, to: box.folder["copy"], unlocking: Self.both)
            }
        }
        #expect(thrown?.code == .outputFailed && thrown?.systemError == .ioError)
        #expect(thrown?.isAboutUnlockKey == (name == "copy.key"))
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }
}
