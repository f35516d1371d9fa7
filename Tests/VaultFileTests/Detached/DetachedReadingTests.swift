import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A body and its header file.
struct Detached {
    let body: [UInt8]
    let headerFile: [UInt8]

    static let plaintext = randomBytes(70_000, seed: 31)

    init(for recipients: [Recipient] = [.key(testKey(1))]) throws {
        var writer = try VaultWriter(detachedFor: recipients)
        guard let file = writer.headerFile else { throw Errno.invalidArgument }
        headerFile = file.bytes
        var body: [UInt8] = []
        try writer.write(Self.plaintext.span) { body.append(copying: $0) }
        try writer.finish { body.append(copying: $0) }
        self.body = body
    }
}

/// Reading a container whose slots are in a header file (DET-2 to DET-7).
@Suite struct DetachedReadingTests {
    private func code(
        _ body: [UInt8], _ headerFile: HeaderFileSource?, key: UInt8 = 1, pin: HeaderPin? = nil,
        headerPin: HeaderPin? = nil
    ) throws -> VaultError.Code? {
        try StoredContainer.code {
            let reader = try SeekableVaultReader(
                MemorySource(body),
                with: Credentials(
                    KeySet(keys: [testKey(key)]), expecting: pin, headerFile: headerFile,
                    expectingHeaderFile: headerPin))
            #expect(try reader.bytes(0..<reader.length) == Detached.plaintext)
            #expect(reader.opened.header.isDetached && reader.opened.headerFile?.slots.count == 1)
        }
    }

    @Test func itNeedsItsOwnHeaderFile() throws {
        let (one, other) = (try Detached(), try Detached())
        let attached = try sealed(Detached.plaintext, for: [.key(testKey(1))])
        #expect(try code(one.body, .bytes(one.headerFile)) == nil)
        #expect(try code(one.body, nil) == .headerDetached)
        #expect(try code(one.body, nil, key: 2) == .headerDetached)
        #expect(try code(one.body, .bytes(one.headerFile), key: 2) == .wrongKey)
        #expect(try code(one.body, .bytes(other.headerFile)) == .copiesDisagree)
        #expect(try code(attached, .bytes(one.headerFile)) == .copiesDisagree)
        #expect(try code(one.body, .bytes(one.body)) == .trailingData)
        #expect(try code(one.body, .bytes([])) == .truncated)
        // The front of a container is a header file of it, and the container has its own slots.
        #expect(try code(attached, .bytes([UInt8](attached[..<4096]))) == .notDetached)
    }

    @Test func errorsSayWhatTheyAreAbout() throws {
        let one = try Detached()
        var damaged = one.headerFile
        damaged[90] ^= 1
        do {
            _ = try HeaderFile(damaged)
            Issue.record("it is accepted")
        } catch {
            #expect(error.code == .headerDamaged && error.isAboutHeaderFile && error.offset == nil)
        }
        let source = HeaderFileSource { throw VaultError(.inputFailed, "it is away") }
        do {
            _ = try SeekableVaultReader(
                MemorySource(one.body), with: Credentials(KeySet(keys: [testKey(1)]), headerFile: source))
            Issue.record("it opens")
        } catch let error as VaultError {
            #expect(error.code == .inputFailed && error.isAboutHeaderFile)
        }
    }

    @Test func streamsReadItFirst() throws {
        let one = try Detached()
        for (headerFile, container, code) in [
            (one.headerFile, one.body, nil), ([1, 2, 3], one.body, VaultError.Code.notVaultfile),
            ([1, 2, 3], [], .notVaultfile), (one.headerFile, [], .truncated),
        ] {
            let found = try StoredContainer.code {
                var plaintext: [UInt8] = []
                var reader = VaultReader(
                    with: Credentials(KeySet(keys: [testKey(1)]), headerFile: .bytes(headerFile)))
                try reader.push(container.span) { plaintext.append(copying: $0) }
                let opened = try reader.finish()
                #expect(plaintext == Detached.plaintext && opened.headerFile != nil)
            }
            #expect(found == code)
        }
    }

    /// The states of the body and of the header file are required apart (DET-5).
    @Test func remembered() throws {
        let one = try Detached()
        let old = try HeaderFile(one.headerFile)
        let credentials = Credentials(KeySet(keys: [testKey(1)]))
        let new = try old.rotated(KeyChange(adding: [.key(testKey(3))]), with: credentials).file
        let body = try #require(try Inspection(MemorySource(one.body)).front.summary).pin
        #expect(try code(one.body, .bytes(old.bytes), pin: body, headerPin: old.summary.pin) == nil)
        #expect(try code(one.body, .bytes(old.bytes), headerPin: new.summary.pin) == .unexpectedState)
        #expect(try code(one.body, .bytes(old.bytes), pin: new.summary.pin) == .unexpectedState)
        #expect(throws: VaultError.self) {
            try old.opened(
                with: Credentials(KeySet(keys: [testKey(1)]), expectingHeaderFile: new.summary.pin))
        }
        #expect(try old.opened(with: credentials).pin == old.summary.pin)
    }

    /// The header file is a part of each reading (SEEK-18): if it and the body change between two readings, both are read
    /// again.
    @Test func itIsReadAgain() throws {
        let (one, other) = (try Detached(), try Detached())
        let count = Mutex(0)
        let source = HeaderFileSource {
            count.withLock { count in
                count += 1
                return count == 1 ? other.headerFile : one.headerFile
            }
        }
        #expect(try code(one.body, source) == nil)
        #expect(count.withLock { $0 } > 1)
    }

    // MARK: The name

    @Test func theNameIsLookedForOnlyWhereAMarkSaysSo() throws {
        let folder = try TemporaryFolder()
        let one = try Detached()
        let path = try folder.write(one.body, to: "b")
        let commitment = try HeaderFile(one.headerFile).summary.commitment
        let place = try Vault.headerFilePath(of: path, commitment: commitment)
        #expect(place.lastComponent?.string == HeaderFile.name(forBody: "b", commitment: commitment))
        func found(_ name: String) throws -> Bool {
            try Vault.withHeaderFile(of: .path(folder[name])) { $0 != nil }
        }
        #expect(try !found("b"))
        try folder.write(one.headerFile, to: try #require(place.lastComponent?.string))
        #expect(try found("b"))
        // Through a link, the name is that of what the link leads to.
        try folder.makeLink("link", to: "b")
        #expect(try found("link"))
        // A container with slots: a planted file would be one more way in.
        let attached = try sealed(Detached.plaintext, for: [.key(testKey(1))])
        try folder.write(attached, to: "a")
        let own = try #require(try Inspection(MemorySource(attached)).front.summary).commitment
        try folder.write(one.headerFile, to: HeaderFile.name(forBody: "a", commitment: own))
        #expect(try !found("a"))
    }

    @Test("a file that cannot be looked at is not called missing", arguments: [Errno.ioError, .permissionDenied])
    func lookingFails(_ error: Errno) throws {
        let folder = try TemporaryFolder()
        let one = try Detached()
        let path = try folder.write(one.body, to: "b")
        let real = SystemCalls()
        var calls = real
        calls.statusAt = { descriptor, path, follows in
            path.string.hasSuffix(".hdr") ? .failure(error) : real.statusAt(descriptor, path, follows)
        }
        let open = try FileDescriptor.open(folder.path, .readOnly)
        defer { try? open.close() }
        for place in [FilePlace.path(path), .name("b", in: open)] {
            let thrown = SystemCalls.$current.withValue(calls) {
                #expect(throws: VaultError.self) { try Vault.withHeaderFile(of: place) { _ in } }
            }
            #expect(thrown?.code == .inputFailed && thrown?.systemError == error && thrown?.isAboutHeaderFile == true)
            let ending = HeaderFile.name(forBody: "", commitment: try HeaderFile(one.headerFile).summary.commitment)
            #expect(thrown?.message.contains(" \(ending) ") == true, "\(thrown?.message ?? "")")
        }
        let thrown = SystemCalls.$current.withValue(calls) {
            #expect(throws: VaultError.self) {
                try Vault.detach(at: path, to: folder["h.hdr"], with: Credentials(KeySet(keys: [testKey(1)])))
            }
        }
        #expect(thrown?.code == .inputFailed && thrown?.systemError == error && thrown?.isAboutHeaderFile == true)
    }

    /// If one copy has slots, it is opened by them first.
    @Test func aHalfAttachedContainerOpensByItself() throws {
        let forge = try Forge(seed: 8, capacity: .capacity(4096))
        let slots = [try forge.slot(testKey(1))]
        let front = forge.header([.mark], generation: 1)
        let tail = forge.header(slots, generation: 2)
        let folder = try TemporaryFolder()
        let body = try forge.container(Detached.plaintext, front: front, tail: tail)
        let path = try folder.write(body, to: "b")
        let commitment = try HeaderFile(tail).summary.commitment
        try folder.write([1, 2, 3], to: HeaderFile.name(forBody: "b", commitment: commitment))
        var given: [Bool] = []
        try Vault.withHeaderFile(of: .path(path)) { given.append($0 != nil) }
        #expect(given == [false])
        given = []
        #expect(throws: VaultError.self) {
            try Vault.withHeaderFile(of: .path(path)) { header in
                given.append(header != nil)
                _ = try SeekableVaultReader(
                    FileSource(at: path),
                    with: Credentials(KeySet(keys: [testKey(2)]), headerFile: header.map { .file(at: $0) }))
            }
        }
        #expect(given == [false, true])
    }
}
