import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Power failures and kills at every call of a detach, an attach, a rotation of a header file, and a re-encryption of a
/// detached container: the container then opens by itself or with the header file that is there, and the same call
/// finishes the work (DET-8, DET-9, DET-10, DET-13).
@Suite struct DetachedCrashTests {
    enum Step: String, CaseIterable, Sendable {
        case detach, attach, rotate, reencrypt
    }

    private static let path: FilePath = "/it"
    private static let keys: Holders = [1, 2, 4]

    private static func headerFile() throws -> FilePath? {
        try Vault.withHeaderFile(of: .path(path)) { place in
            if case .path(let header)? = place { header } else { nil }
        }
    }

    /// Makes the change, as a program does that looks for the header file by its name.
    private static func run(_ step: Step) throws {
        let credentials = Credentials(keys.keySet)
        switch step {
        case .detach: try Vault.detach(at: path, with: credentials)
        case .attach:
            let seen = try Inspection(FileSource(at: path))
            let commitment = try #require(seen.front.summary ?? seen.tail.summary).commitment
            try Vault.attach(
                at: path, from: Vault.headerFilePath(of: path, commitment: commitment), with: credentials)
        case .rotate:
            let header = try #require(try headerFile())
            let old = SlotSelection(ids: [Holders.key(2).id])
            try Vault.rotateHeaderFile(
                at: header, KeyChange(adding: [.key(Holders.key(4))], removing: old), with: credentials)
        case .reencrypt:
            var options = ReencryptionOptions()
            options.mayLoseSlots = true
            options.headerFile = try headerFile().map { .path($0) }
            try Vault.reencrypt(
                at: path, for: [.key(Holders.key(1)), .key(Holders.key(4))], with: credentials, options: options)
        }
    }

    /// Says what is wrong with the container; nil if nothing. Key 1 always opens it.
    private static func complaint(_ state: DiskState) -> String? {
        let disk = ModelDisk(state)
        do {
            return try disk.during {
                let reader = try Vault.withHeaderFile(of: .path(path)) { header in
                    try SeekableVaultReader(
                        FileSource(at: path),
                        with: Credentials(KeySet(keys: [Holders.key(1)]), headerFile: header.map { .file(at: $0) }))
                }
                return try reader.bytes(0..<reader.length) == CrashScene.plaintext ? nil : "it has other contents"
            }
        } catch {
            return "it does not open: \(error), among \(state.names)"
        }
    }

    /// Where the step begins.
    private static func start(_ step: Step, _ capacity: Int) throws -> DiskState {
        let disk = ModelDisk(CrashScene.healthy(capacity)[0].disk)
        if step != .detach { try disk.during { try run(.detach) } }
        var state = disk.state
        state.synchronizeAll()
        return state
    }

    /// Whether the container is as the step leaves it, and nothing else is there.
    private static func isDone(_ step: Step, _ state: DiskState) throws -> Bool {
        let names = state.names.filter { $0 != "it" }
        let disk = ModelDisk(state)
        let seen = try disk.during { try Inspection(FileSource(at: path)) }
        let isDetached = seen.front.summary?.isDetached == true
        guard seen.copiesAreIdentical, let commitment = seen.front.summary?.commitment else { return false }
        if step == .attach { return !isDetached && names.isEmpty }
        // A re-encryption that was stopped leaves a header file that opens nothing: of a container that was, or was not
        // yet, in this place.
        let name = HeaderFile.name(forBody: "it", commitment: commitment)
        guard isDetached, step == .reencrypt || names == [name], let bytes = state.bytes(name) else { return false }
        let slots = try HeaderFile(bytes).summary.slots.map(\.keyID)
        let expected: [UInt8] = step == .detach ? [1, 2] : [1, 4]
        return slots == expected.map { Holders.key($0).id }
    }

    @Test(arguments: Step.allCases, [4096, 512]) func stops(_ step: Step, _ capacity: Int) throws {
        let start = try Self.start(step, capacity)
        let disk = ModelDisk(start)
        try disk.during { try Self.run(step) }
        #expect(disk.openCount == 0 && disk.deadlocks == 0)
        #expect(try Self.isDone(step, disk.state), "\(disk.state.names)")
        #expect(disk.state.names.count == (step == .attach ? 1 : 2))
        #expect(disk.state.afterPowerFailureOfAll()?.count == 1, "after success it is not durable")
        var seen: Set<String> = []
        var states = 0
        for moment in disk.moments {
            var crashes = [moment.state.afterKill()]
            if moment.call != .partOfWrite {
                crashes += try #require(moment.state.afterPowerFailureOfAll(limit: 1 << 14), "\(moment.call)")
            }
            for crash in crashes {
                let digest = crash.names.sorted().map { "\($0) \(crash.digest(of: $0))" }.joined()
                guard seen.insert(digest).inserted else { continue }
                states += 1
                if let text = Self.complaint(crash) { Issue.record("\(step) \(capacity), \(moment.call): \(text)") }
                let again = ModelDisk(crash)
                do {
                    try again.during { try Self.run(step) }
                } catch let error as VaultError {
                    // The header file is gone: the attach was done.
                    guard step == .attach, error.code == .inputFailed, try Self.isDone(step, crash) else { throw error }
                }
                #expect(try Self.isDone(step, again.state), "\(step) \(capacity), \(moment.call): \(again.state.names)")
                #expect(Self.complaint(again.state) == nil)
            }
        }
        #expect(states > 2)
    }

    /// Every call that changes something fails once: nothing is lost, and no temporary file stays.
    @Test(arguments: Step.allCases, [4096, 512]) func failures(_ step: Step, _ capacity: Int) throws {
        let start = try Self.start(step, capacity)
        let whole = ModelDisk(start)
        try whole.during { try Self.run(step) }
        for number in 0..<whole.changeCount {
            var abilities = ModelDisk.Abilities()
            abilities.failure = { _, call in call == number ? Errno.ioError.rawValue : nil }
            let disk = ModelDisk(start, abilities: abilities)
            _ = try StoredContainer.code { try disk.during { try Self.run(step) } }
            #expect(disk.openCount == 0)
            let isClean = !disk.state.names.contains { $0.hasPrefix(".vaultfile-") }
            #expect(isClean, "\(step) \(number): \(disk.state.names)")
            // The next call does not use the new header file. That of a detach is used.
            if step == .reencrypt, disk.state.bytes("it") == start.bytes("it") {
                #expect(Set(disk.state.names) == Set(start.names), "\(step) \(number): \(disk.state.names)")
            }
            if let text = Self.complaint(disk.state.afterKill()) {
                Issue.record("\(step) \(capacity), \(number): \(text)")
            }
        }
    }
}
