internal import CPlatform
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Detach, attach, and changes of a detached container, on files (DET-8 to DET-14).
@Suite struct DetachingTests {
    private let folder: TemporaryFolder
    private let container: [UInt8]
    private var path: FilePath { folder["c"] }
    private var header: FilePath { folder["h"] }
    private let credentials = Credentials(KeySet(keys: [testKey(1)]))

    init() throws {
        folder = try TemporaryFolder()
        container = try sealed(Detached.plaintext, for: [.key(testKey(1)), .key(testKey(2))])
        try folder.write(container, to: "c")
    }

    private func opens(_ key: UInt8, with name: String?) throws -> VaultError.Code? {
        try StoredContainer.code {
            let reader = try SeekableVaultReader(
                FileSource(at: path),
                with: Credentials(
                    KeySet(keys: [testKey(key)]), headerFile: name.map { .file(at: folder[$0]) }))
            #expect(try reader.bytes(0..<reader.length) == Detached.plaintext)
            #expect(reader.opened.health == .intact)
        }
    }

    private func detach(mayLoseSlots: Bool = false) throws -> VaultError.Code? {
        try StoredContainer.code {
            try Vault.detach(at: path, to: header, with: credentials, mayLoseSlots: mayLoseSlots)
        }
    }

    // MARK: Detach

    @Test func thereAndBack() throws {
        let done = try Vault.detach(at: path, with: credentials)
        let name = try #require(done.headerFile.lastComponent?.string)
        let commitment = try #require(done.header).commitment
        #expect(name == HeaderFile.name(forBody: "c", commitment: commitment))
        #expect(try folder.names == ["c", name].sorted())
        #expect(done.rotation.isNewHeader && done.rotation.header.isDetached && done.header?.generation == 1)
        #expect(try opens(1, with: nil) == .headerDetached)
        #expect(try opens(1, with: name) == nil && opens(2, with: name) == nil)
        // Again: nothing is to be done, and nothing is written.
        let (body, file) = (try folder.read("c"), try folder.read(name))
        let again = try Vault.detach(at: path, with: credentials)
        #expect(!again.rotation.isNewHeader && again.header == done.header)
        #expect(try folder.read("c") == body && folder.read(name) == file)

        let back = try Vault.attach(at: path, from: done.headerFile, with: credentials)
        #expect(back.isNewHeader && back.header.slots.count == 2 && back.header.generation == 3)
        #expect(try folder.names == ["c"])
        #expect(try opens(1, with: nil) == nil && opens(2, with: nil) == nil)
    }

    @Test func dryRunsWriteNothing() throws {
        var options = RotationOptions()
        options.isDryRun = true
        let would = try Vault.detach(at: path, to: header, with: credentials, options: options)
        #expect(would.rotation.isNewHeader && would.header?.slots.count == 2)
        #expect(try folder.names == ["c"] && folder.read("c") == container)
        #expect(try detach() == nil)
        let body = try folder.read("c")
        #expect(try Vault.attach(at: path, from: header, with: credentials, options: options).isNewHeader)
        let change = KeyChange(adding: [.key(testKey(3))])
        #expect(
            try Vault.rotateHeaderFile(at: header, change, with: credentials, options: options).isNewHeader)
        #expect(try folder.names == ["c", "h"] && folder.read("c") == body)
        #expect(try HeaderFile(FileSource(at: header)).summary.generation == 1)
    }

    /// A file that is there is never lost, unless it is a header file of this container.
    @Test func filesThatAreThere() throws {
        let text: [UInt8] = Array("my only notes".utf8)
        let foreign = try Detached().headerFile
        for bytes in [text, [], foreign] {
            try folder.write(bytes, to: "h")
            #expect(try detach() == .copiesDisagree)
            #expect(try folder.read("h") == bytes && folder.read("c") == container && folder.names == ["c", "h"])
        }
        try folder.remove("h")
        try folder.makeLink("h", to: "nowhere")
        #expect(try detach() == .inputFailed)
        #expect(try folder.read("c") == container)
        try folder.remove("h")
        #expect(
            try StoredContainer.code { try Vault.detach(at: path, to: path, with: credentials) } == .invalidArgument)
        try folder.link("c", to: "other")
        #expect(
            try StoredContainer.code { try Vault.detach(at: path, to: folder["other"], with: credentials) }
                == .invalidArgument)
        #expect(try folder.read("c") == container)
    }

    /// A header file of this container that has more slots is replaced only with consent; one generation higher.
    @Test func slotsOfAHeaderFileThatIsThere() throws {
        #expect(try detach() == nil)
        try Vault.rotateHeaderFile(at: header, KeyChange(adding: [.key(testKey(3))]), with: credentials)
        let file = try folder.read("h")
        try folder.write(container, to: "c")
        #expect(try detach() == .consentNeeded)
        #expect(try folder.read("h") == file && folder.read("c") == container)
        #expect(try detach(mayLoseSlots: true) == nil)
        let new = try HeaderFile(FileSource(at: header)).summary
        #expect(new.generation == 3 && new.slots.count == 2)
        #expect(try opens(3, with: "h") == .wrongKey && opens(2, with: "h") == nil)
    }

    /// A small container is copied, so its other names would keep the slots: refused before anything is written.
    @Test func linksOfASmallContainer() throws {
        let small = try sealed([1, 2, 3], for: [.key(testKey(1))])
        try folder.write(small, to: "c")
        try folder.link("c", to: "other")
        #expect(try detach() == .hardLinks)
        #expect(try folder.names == ["c", "other"] && folder.read("c") == small)
        var options = RotationOptions()
        options.mayBreakLinks = true
        try Vault.detach(at: path, to: header, with: credentials, options: options)
        #expect(try folder.read("other") == small && folder.read("c") != small)
    }

    @Test func theModeOfTheContainer() throws {
        try #require(unsafe path.withPlatformString { unsafe chmod($0, 0o640) } == 0)
        #expect(try detach() == nil)
        #expect(try Stat(header).permissions.rawValue & 0o777 == 0o640)
    }

    @Test func capacities() throws {
        let size = try #require(HeaderCapacity(bytes: 1024))
        let done = try Vault.detach(at: path, to: header, with: credentials, capacity: size)
        #expect(try folder.read("h").count == 1024 && done.header?.capacity == size)
        let change = KeyChange(adding: (10..<30).map { .key(testKey($0)) })
        let grown = try Vault.rotateHeaderFile(at: header, change, with: credentials)
        #expect(grown.header.capacity.bytes == 4096)
        let less = KeyChange(removing: SlotSelection(ids: Set((10..<30).map { testKey($0).id })))
        #expect(try Vault.rotateHeaderFile(at: header, less, with: credentials).header.capacity.bytes == 4096)
        let small = try #require(HeaderCapacity(bytes: 512))
        let many = try sealed(Detached.plaintext, for: (1..<8).map { .key(testKey($0)) })
        try folder.write(many, to: "d")
        #expect(
            try StoredContainer.code {
                try Vault.detach(at: folder["d"], to: folder["e"], with: credentials, capacity: small)
            } == .doesNotFit)
        #expect(try folder.read("d") == many && !folder.names.contains("e"))
    }

    // MARK: Attach

    @Test func aHeaderFileThatCannotGoStays() throws {
        #expect(try detach() == nil)
        try Vault.rotateHeaderFile(at: header, KeyChange(adding: [.key(testKey(3))]), with: credentials)
        let file = try folder.read("h")
        try folder.write(container, to: "c")
        func attach() throws -> VaultError.Code? {
            try StoredContainer.code { try Vault.attach(at: path, from: header, with: credentials) }
        }
        // It has a slot that the container does not have; it is another container's; it is no header file.
        #expect(try attach() == .notDetached)
        #expect(try folder.read("h") == file)
        for bytes in [try Detached().headerFile, Array("text".utf8)] {
            try folder.write(bytes, to: "h")
            #expect(try attach() == .notDetached)
            #expect(try folder.read("h") == bytes && folder.read("c") == container)
        }
        try folder.remove("h")
        #expect(try attach() == .inputFailed)
        #expect(
            try StoredContainer.code { try Vault.attach(at: path, from: path, with: credentials) } == .invalidArgument)
    }

    /// The lock on the header file comes first, and both are held by another program for as long as it works.
    @Test func locks() throws {
        #expect(try detach() == nil)
        let change = KeyChange(adding: [.key(testKey(3))])
        for name in ["h", "c"] {
            let other = try FileDescriptor.open(folder[name], .readWrite)
            try other.closeAfter {
                try #require(flock(other.rawValue, LOCK_EX | LOCK_NB) == 0)
                let before = (try folder.read("h"), try folder.read("c"))
                #expect(
                    try StoredContainer.code { try Vault.attach(at: path, from: header, with: credentials) } == .inUse)
                #expect(try detach() == .inUse)
                if name == "h" {
                    #expect(
                        try StoredContainer.code {
                            try Vault.rotateHeaderFile(at: header, change, with: credentials)
                        } == .inUse)
                }
                #expect(try folder.read("h") == before.0 && folder.read("c") == before.1)
            }
        }
        // The body is not locked for a rotation of the header file.
        let body = try FileDescriptor.open(path, .readWrite)
        try body.closeAfter {
            try #require(flock(body.rawValue, LOCK_EX | LOCK_NB) == 0)
            #expect(try Vault.rotateHeaderFile(at: header, change, with: credentials).isNewHeader)
        }
    }

    // MARK: Changes

    /// Two header files share a body; to delete them erases it.
    @Test func twoHeaderFiles() throws {
        #expect(try detach() == nil)
        try folder.write(try folder.read("h"), to: "g")
        let body = try folder.read("c")
        let change = KeyChange(adding: [.key(testKey(3))], removing: SlotSelection(ids: [testKey(1).id]))
        let done = try Vault.rotateHeaderFile(at: folder["g"], change, with: credentials)
        #expect(done.isNewHeader && done.added.count == 1 && done.removed.count == 1 && done.kept.count == 1)
        #expect(try folder.read("c") == body)
        #expect(try opens(1, with: "h") == nil && opens(3, with: "h") == .wrongKey)
        #expect(try opens(1, with: "g") == .wrongKey && opens(3, with: "g") == nil)
        try folder.remove("g")
        try folder.remove("h")
        for key: UInt8 in 1...3 { #expect(try opens(key, with: nil) == .headerDetached) }
    }

    @Test func rotationOfTheBodyIsRefused() throws {
        #expect(try detach() == nil)
        let body = try folder.read("c")
        let change = KeyChange(adding: [.key(testKey(3))])
        var given = credentials
        given.headerFile = .file(at: header)
        #expect(try StoredContainer.code { try Vault.rotate(at: path, change, with: given) } == .headerDetached)
        #expect(try StoredContainer.code { try Vault.rotate(at: path, change, with: credentials) } == .headerDetached)
        #expect(try folder.read("c") == body)
    }

    /// A rotation of a header file needs consent like any other, and replaces no other names.
    @Test func rotation() throws {
        #expect(try detach() == nil)
        let file = try folder.read("h")
        func code(_ change: KeyChange, _ options: RotationOptions = RotationOptions()) throws -> VaultError.Code? {
            try StoredContainer.code {
                try Vault.rotateHeaderFile(at: header, change, with: credentials, options: options)
            }
        }
        #expect(try code(KeyChange(removing: SlotSelection(ids: [testKey(1).id]))) == .consentNeeded)
        #expect(try code(KeyChange(removing: SlotSelection(ids: [testKey(1).id, testKey(2).id]))) == .lastSlot)
        #expect(try code(KeyChange(adding: [.key(testKey(1))])) == nil)
        #expect(try folder.read("h") == file)
        try folder.link("h", to: "other")
        let change = KeyChange(adding: [.key(testKey(3))])
        #expect(try code(change) == .hardLinks)
        #expect(try folder.read("h") == file)
        var options = RotationOptions()
        options.mayBreakLinks = true
        #expect(try code(change, options) == nil)
        #expect(try folder.read("other") == file && folder.read("h") != file)
    }

    @Test func repairNeedsTheHeaderFile() throws {
        #expect(try detach() == nil)
        let body = try folder.read("c")
        var damaged = body
        damaged[100] ^= 1
        try folder.write(damaged, to: "c")
        #expect(try StoredContainer.code { try Vault.repair(at: path, with: credentials) } == .headerDetached)
        #expect(try folder.read("c") == damaged)
        var given = credentials
        given.headerFile = .file(at: header)
        #expect(try Vault.repair(at: path, with: given).isRepaired)
        #expect(try folder.read("c") == body)
        // A footer that is damaged is repaired too.
        damaged = body
        damaged[body.count - 1] ^= 1
        try folder.write(damaged, to: "c")
        #expect(try Vault.repair(at: path, with: given).isRepaired)
        #expect(try folder.read("c") == body)
    }

    @Test func reencryption() throws {
        #expect(try detach() == nil)
        let body = try folder.read("c")
        var options = ReencryptionOptions()
        var given = credentials
        given.headerFile = .file(at: header)
        let recipients: [Recipient] = [.key(testKey(1)), .key(testKey(4))]
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(at: path, for: recipients, with: given, options: options)
            } == .invalidArgument)
        options.headerFile = .path(header)
        // The slots of the header file count, and the mark is none.
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(at: path, for: recipients, with: credentials, options: options)
            } == .consentNeeded)
        #expect(try folder.read("c") == body && folder.names == ["c", "h"])
        options.dropping.ids = [testKey(2).id]
        let done = try Vault.reencrypt(at: path, for: recipients, with: credentials, options: options)
        let new = try #require(done.headerFile)
        let name = HeaderFile.name(forBody: "c", commitment: new.commitment)
        #expect(try folder.names == ["c", name] && done.header.isDetached && new.slots.count == 2)
        #expect(done.headerFilePath == folder[name])
        #expect(try opens(4, with: name) == nil && opens(2, with: name) == .wrongKey)
        #expect(try opens(1, with: nil) == .headerDetached)
        #expect(try Stat(folder[name]).permissions == Stat(path).permissions)

        // Other contents.
        try folder.write([7, 8, 9], to: "new")
        let file = try FileDescriptor.open(folder["new"], .readOnly)
        options.headerFile = .path(folder[name])
        options.dropping = .none
        let rewritten = try file.closeAfter {
            try Vault.rewrite(at: path, from: file, for: recipients, with: credentials, options: options)
        }
        let last = HeaderFile.name(forBody: "c", commitment: try #require(rewritten.headerFile).commitment)
        #expect(try folder.names == ["c", last, "new"])
    }

    /// The new header file goes where the old one was, and not beside the container (DET-13).
    @Test func aHeaderFileElsewhereStaysThere() throws {
        let stick = try TemporaryFolder()
        try Vault.detach(at: path, to: stick["key.hdr"], with: credentials)
        for (file, mode) in [(stick["key.hdr"], mode_t(0o600)), (path, 0o644)] {
            try #require(unsafe file.withPlatformString { unsafe chmod($0, mode) } == 0)
        }
        try folder.makeLink("link", to: stick["key.hdr"].string)
        var options = ReencryptionOptions()
        options.headerFile = .path(folder["link"])
        options.mayLoseSlots = true
        let done = try Vault.reencrypt(at: path, for: [.key(testKey(1))], with: credentials, options: options)
        let name = HeaderFile.name(forBody: "c", commitment: try #require(done.headerFile).commitment)
        #expect(try stick.names == [name] && folder.names == ["c", "link"])
        #expect(done.headerFilePath?.lastComponent?.string == name)
        #expect(try HeaderFile(FileSource(at: try #require(done.headerFilePath))).summary == done.headerFile)
        #expect(try Stat(stick[name]).permissions == .ownerReadWrite)
    }

    /// No file of another commitment is ever replaced, and the old files stay if the new container cannot have its place.
    @Test func aFailedReencryptionLeavesNothing() throws {
        #expect(try detach() == nil)
        let body = try folder.read("c")
        var options = ReencryptionOptions()
        options.headerFile = .path(header)
        options.mayLoseSlots = true
        try folder.link("c", to: "other")
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(at: path, for: [.key(testKey(4))], with: credentials, options: options)
            } == .hardLinks)
        #expect(try folder.names == ["c", "h", "other"] && folder.read("c") == body)
        #expect(try opens(1, with: "h") == nil)
    }

    // MARK: New containers

    /// The header file comes before the first byte of the container (DET-14).
    @Test func encrypting() throws {
        let input = try FileDescriptor.open(try folder.write(Detached.plaintext, to: "p"), .readOnly)
        let output = try FileDescriptor.open(
            folder["n"], .readWrite, options: [.create], permissions: .ownerReadWrite)
        defer {
            try? input.close()
            try? output.close()
        }
        var stored: [HeaderFile] = []
        try Vault.encrypt(
            from: input, to: output, for: [.key(testKey(1))],
            storingHeaderFile: {
                let before = try folder.read("n")
                #expect(before.isEmpty)
                stored.append($0)
            })
        #expect(stored.count == 1 && stored[0].summary.generation == 1)
        let reader = try SeekableVaultReader(
            FileSource(at: folder["n"]),
            with: Credentials(KeySet(keys: [testKey(1)]), headerFile: .bytes(stored[0].bytes)))
        #expect(try reader.bytes(0..<reader.length) == Detached.plaintext)
        struct Refused: Error {}
        let empty = try FileDescriptor.open(
            folder["m"], .readWrite, options: [.create], permissions: .ownerReadWrite)
        defer { try? empty.close() }
        try input.seek(offset: 0, from: .start)
        #expect(throws: Refused.self) {
            try Vault.encrypt(
                from: input, to: empty, for: [.key(testKey(1))], storingHeaderFile: { _ in throw Refused() })
        }
        #expect(try folder.read("m").isEmpty)
    }

    // MARK: Without files

    @Test func rotationOfBytes() throws {
        let one = try Detached()
        let file = try HeaderFile(one.headerFile)
        let new = try file.rotated(KeyChange(adding: [.key(testKey(2))]), with: credentials)
        #expect(new.isChanged && new.added.count == 1 && new.kept.count == 1 && new.removed.isEmpty)
        #expect(new.file.summary.generation == 2 && new.file.summary.commitment == file.summary.commitment)
        let same = try new.file.rotated(KeyChange(adding: [.key(testKey(2))]), with: credentials)
        #expect(!same.isChanged && same.file == new.file)
        #expect(
            try StoredContainer.code {
                _ = try file.rotated(
                    KeyChange(adding: [.key(testKey(2))]), with: Credentials(KeySet(keys: [testKey(5)])))
            } == .wrongKey)
        var forged = one.headerFile
        forged[71] = 9
        forged = withChecksum(forged)
        #expect(
            try StoredContainer.code {
                _ = try HeaderFile(forged).rotated(KeyChange(), with: credentials)
            } == .headerForged)
        let tried = try new.file.trySlots(with: credentials).map(\.outcome)
        #expect(tried == [.opened, .notTried])
        #expect(try HeaderFile(MemorySource(new.file.bytes)) == new.file)
        #expect(try Inspection(MemorySource(new.file.bytes)).isHeaderFile)
        #expect(try !Inspection(MemorySource(one.body)).isHeaderFile)
    }

    /// What recover uses if nothing is left of the body's copies.
    @Test func recovering() throws {
        let one = try Detached()
        var body = one.body
        for place in [100, body.count - 32 - 4096 + 100, body.count - 1] { body[place] ^= 1 }
        var given = credentials
        given.headerFile = .bytes(one.headerFile)
        let found = try Recovering(using: nil, jobs: 1) { try Recovery(MemorySource(body), with: given) }
        let recovered = try #require(found.recovered)
        #expect(found.plaintext == Detached.plaintext && recovered.isComplete && recovered.header.offset == nil)
        #expect(
            try StoredContainer.code { _ = try Recovery(MemorySource(body), with: credentials) } == .headerDamaged)
        #expect(
            try StoredContainer.code { _ = try Recovery(MemorySource(one.body), with: credentials) } == .headerDetached)
    }
}
