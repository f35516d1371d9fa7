import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultTestSupport

@testable import VaultMount

/// What a mount says about its containers before it begins.
@Suite struct FolderTrialTests {
    private func view(_ folder: TemporaryFolder, _ opener: @escaping ContainerOpener = openWithTestKey) throws
        -> FolderView
    {
        try FolderView(folder.opened()) { source, _ in try opener(source) }
    }

    @Test("a trial goes on after damage, ends at what opens, and tries few that no key opens") func trials() throws {
        let folder = try TemporaryFolder()
        var expected = FolderView.Trial()
        #expect(try view(folder).trial(atMost: 3) == expected && expected.isEmpty)
        try folder.write([UInt8](repeating: 3, count: 2000), to: "damaged.vault")
        expected.failed = 1
        #expect(try view(folder).trial(atMost: 3) == expected && !expected.isEmpty)
        try folder.makeFolder("sub")
        for number in 1...3 { try folder.seal([1], to: "sub/other\(number).vault", key: 9) }
        expected.refused = 3
        let view = try view(folder)
        #expect(view.trial(atMost: 3) == expected)
        #expect(view.nodeCount == 0)
        try folder.makeFolder("sub/deep")
        try folder.seal([1], to: "sub/deep/own.vault")
        let found = try self.view(folder).trial(atMost: 4)
        #expect(found.opens && found.failed == 1 && found.refused == 3 && !found.isCut)
        // One more than is tried: whether it opens is not known.
        expected.isCut = true
        #expect(try self.view(folder).trial(atMost: 3) == expected)
    }

    @Test("many that are damaged end a trial too") func manyDamaged() throws {
        let folder = try TemporaryFolder()
        for number in 0..<9 { try folder.write([3], to: "\(number).vault") }
        let trial = try view(folder).trial(atMost: 1)
        #expect(trial.failed == 8 && trial.isCut && !trial.opens)
    }

    @Test("links, other files and header files are no containers; a container that is cut is") func kinds() throws {
        let folder = try TemporaryFolder()
        let elsewhere = try TemporaryFolder()
        try elsewhere.seal([1], to: "a.vault", key: 9)
        try folder.makeLink("link.vault", to: elsewhere["a.vault"].string)
        try folder.makeLink("folder", to: elsewhere.path.string)
        try folder.write([1], to: "plain")
        try folder.write([1], to: ".vault")
        try folder.write([1], to: "a.vault.0123456789abcdef.hdr")
        try folder.makeFolder("sub.vault")
        #expect(try view(folder).trial(atMost: 3).isEmpty)
        let whole = try sealed([UInt8](repeating: 1, count: 9000), for: [.key(testKey(9))])
        try folder.write([UInt8](whole.prefix(whole.count / 2)), to: "sub.vault/cut.vault")
        var expected = FolderView.Trial()
        expected.failed = 1
        #expect(try view(folder).trial(atMost: 3) == expected)
    }

    @Test(
        "what says nothing about the keys does not count as refused, and is named with its reason",
        arguments: [
            VaultError.inputFailed("a fault", systemError: .permissionDenied),
            VaultError.inputFailed("a fault", systemError: .ioError), VaultError(.memoryUnavailable, ""),
            VaultError(.limitExceeded, ""), VaultError(.limitExceeded, "", errorNumber: VaultError.noMemory),
            VaultError(.headerDamaged, ""), VaultError(.headerForged, ""), VaultError(.headerDetached, ""),
            VaultError(.unsupportedVersion, ""), VaultError(.recordDamaged, ""), Errno.permissionDenied, Errno.ioError,
        ] as [any Error])
    func otherReasons(_ error: any Error) throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("sub")
        try folder.seal([1], to: "sub/a.vault")
        let tries = Counter()
        let view = try view(folder) { _ in
            tries.add()
            throw error
        }
        var expected = FolderView.Trial()
        expected.failed = 1
        var named: [(path: [UInt8], error: any Error)] = []
        #expect(view.trial(atMost: 3) { named.append(($0, $1)) } == expected)
        #expect(named.map(\.path) == [Array("sub/a.vault".utf8)])
        #expect(named.first.map { "\($0.error)" } == "\(error)")
        // Each try may cost the stretching of a passphrase.
        #expect(tries.count == 1)
    }

    @Test("a folder with more names than are looked at is not said to be known to its end") func manyNames() throws {
        let folder = try TemporaryFolder()
        for number in 0..<3 { try folder.write([3], to: "\(number).vault") }
        var expected = FolderView.Trial()
        (expected.failed, expected.isCut) = (2, true)
        #expect(try view(folder).trial(atMost: 3, mostNames: 2) == expected)
        expected.failed = 3
        expected.isCut = false
        #expect(try view(folder).trial(atMost: 3, mostNames: 4) == expected)
    }

    @Test("a tree with more folders than are looked at is not said to be empty") func manyFolders() throws {
        let folder = try TemporaryFolder()
        for number in 0..<4 { try folder.makeFolder("\(number)") }
        let view = try view(folder)
        var expected = FolderView.Trial()
        #expect(view.trial(atMost: 3, mostNames: 6) == expected)
        expected.isCut = true
        #expect(view.trial(atMost: 3, mostNames: 5) == expected && !expected.isEmpty)
        #expect(view.nodeCount == 0)
    }
}
