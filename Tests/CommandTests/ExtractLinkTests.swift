import Testing
import VaultFormat

/// `vaultfile extract` and hard links.
extension ExtractTests {
    @Test("a hard link puts no symbolic link higher up, where it leads out") func hardLinksOfLinks() throws {
        let box = try prepared(
            """
            d('a'); d('a/b'); s('a/b/l', '../..'); h('up', 'a/b/l'); h('a/b/same', 'a/b/l'); s('a/b/n', '../x')
            h('a/n', 'a/b/n'); f('.vaultfile-extract-1/m'); s('nothing', '')
            """)
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(73))
        #expect(outcome.errors.contains("vaultfile: up: is a link to ../.., which may lead out"))
        #expect(outcome.errors.contains("vaultfile: .vaultfile-extract-1/m: has a name that extract uses"))
        #expect(outcome.errors.contains("vaultfile: nothing: is a link to nothing\n"))
        #expect(
            try FolderTests.shell(box, "cd out && ls -A; readlink a/b/same a/n; stat -c %h a/b/l")
                == "a\n../..\n../x\n2\n")
        // Without its target in this run, the link is a link of its own, and is judged where it is.
        try FolderTests.shell(box, "rm -r out; mkdir out")
        #expect(try extract(box, "h.vault", "a/b/same").ending == .status(0))
        #expect(try extract(box, "h.vault", "up").ending == .status(73))
        #expect(try FolderTests.shell(box, "cd out && ls -A; readlink a/b/same") == "a\n../..\n")
    }

    @Test("a hard link leads to the member before it, by every way") func hardLinks() throws {
        let box = try prepared(
            """
            f('a', b'v1'); h('b', 'a'); f('a', b'v2'); h('c', 'a'); h('d', 'b'); h('e', 'later'); f('later')
            """)
        let refused = "e: is a link to later, which was not extracted"
        let all = try extract(box, "h.vault")
        #expect(all.ending == .status(73) && all.errors.contains(refused), "\(all.errors)")
        #expect(try FolderTests.shell(box, "cd out && ls; cat a b c d; rm *") == "a\nb\nc\nd\nlater\nv2v1v2v1")
        let some = try extract(box, "h.vault", "later", "d", "c", "b", "e")
        #expect(some.ending == .status(73) && some.errors.contains(refused), "\(some.errors)")
        #expect(try FolderTests.shell(box, "cd out && ls; cat b c d; rm *") == "b\nc\nd\nlater\nv1v2v1")
        let cat = try box.run("cat", "h.vault", "b", "c", "d", "e", environment: key)
        #expect(cat.ending == .status(64) && cat.text == "v1v2v1", "\(cat.errors)")
        #expect(cat.errors.contains("e: is a link to later"))
    }

    @Test("a link to a member that is not extracted does not become one to an earlier member of that name")
    func failedTargets() throws {
        let box = try prepared(
            """
            f('a', b'v1'); f('a', b'x\\n' + b'\\0' * 510, pax={'GNU.sparse.major': '1', 'GNU.sparse.minor': '0',
                'GNU.sparse.name': 'a', 'GNU.sparse.realsize': '9000'}); h('b', 'a')
            """)
        for paths in [[], ["b"], ["a", "b"]] {
            try FolderTests.shell(box, "rm -rf out; mkdir out")
            let outcome = try box.run(
                (["extract", "-C", "out", "h.vault"] + paths).map { Array($0.utf8) }, environment: key)
            #expect(outcome.ending == .status(65) && outcome.errors.contains("vaultfile: b: "), "\(outcome.errors)")
            #expect(box.bytes("out/b") == nil)
        }
        #expect(try box.run("cat", "h.vault", "b", environment: key).ending == .status(65))
    }

    /// Members `a`, and a second `a` whose header is damaged; links to it; `c`, and a link to that.
    ///
    /// - Parameters:
    ///   - more: More members, so that the index has only each second one, and not the second `a`.
    ///   - isSorted: Whether all are in order.
    private func olderVersion(_ more: Int, isSorted: Bool = false) throws -> Sandbox {
        let box = try prepared(
            """
            import hashlib
            def long(i): return 'm/' + ''.join(hashlib.sha256(b'%d %d' % (i, j)).hexdigest() for j in range(3))
            # The header of the second one begins a record, so the first one is whole.
            f('a', b'v1' * (5 * 32768 - 256 if \(isSorted ? 1 : 0) else 1))
            if not \(isSorted ? 1 : 0): f('z', b'x'); f('y', b'x' * (-(t.offset + 512) % 65536))
            start = t.offset; f('a', b'v2' * 100000); h('b', 'a'); f('c', b'c'); h('d', 'c')
            if not \(isSorted ? 1 : 0): h('e', 'z')
            for name in sorted(map(long, range(\(more)))): f(name, b'')
            open('start', 'w').write(str(start))
            """)
        let start = try #require(box.text("start").flatMap(Int.init))
        var bytes = try #require(box.bytes("h.vault"))
        let header: UInt32 = bytes[64..<68].bigEndian()
        #expect(start % 65536 == 0)
        bytes[Int(header) + start / 65536 * (65536 + 20) + 4] ^= 1
        try box.write(Array("h.vault".utf8), bytes)
        return box
    }

    @Test(
        "a link behind a damaged header gets no older content of the name that it leads to", arguments: [0, 6000],
        [true, false])
    func olderTargets(_ more: Int, _ isSorted: Bool) throws {
        let box = try olderVersion(more, isSorted: isSorted)
        func isLost(_ name: String, _ outcome: Sandbox.Outcome) -> Bool {
            outcome.errors.contains("vaultfile: \(name): is lost: ")
        }
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(65) && isLost("b", outcome), "\(outcome.errors)")
        #expect(try FolderTests.shell(box, "cd out; ls b; head -c 2 a; stat -c %h c") == "v12\n")
        if !isSorted {
            // What is certain stays a link.
            #expect(isLost("e", outcome) == (more > 0), "\(outcome.errors)")
        }
        for words in [["--scan", "h.vault", "a", "b", "d"], ["h.vault", "a", "b", "d"]] {
            try FolderTests.shell(box, "rm -r out; mkdir out")
            let some = try box.run((["extract", "-C", "out"] + words).map { Array($0.utf8) }, environment: key)
            #expect(some.ending == .status(65) && isLost("b", some), "\(some.errors)")
            #expect(try FolderTests.shell(box, "cd out; ls b; cat d") == "c")
        }
        let cat = try box.run("cat", "h.vault", "b", "d", environment: key)
        #expect(cat.ending == .status(65) && cat.text == "c", "\(cat.errors)")
    }

    @Test("each gap and each lost member is told once", arguments: [true, false])
    func onceEach(_ isSorted: Bool) throws {
        let box = try olderVersion(6000, isSorted: isSorted)
        for words in [
            ["extract", "-C", "out", "h.vault"], ["extract", "-f", "-C", "out", "h.vault", "a", "b", "d"],
            ["cat", "h.vault", "a", "b", "a"], ["ls", "-l", "h.vault", "a", "b", "a"],
            ["extract", "-f", "-C", "out", "h.vault", "b", "a"],
        ] {
            let outcome = try box.run(words.map { Array($0.utf8) }, environment: key)
            #expect(outcome.ending == .status(65), "\(words) \(outcome.errors)")
            let gaps = outcome.errors.ranges(of: "the tar stream cannot be read from byte").count
            #expect(gaps == 1, "\(words) \(outcome.errors)")
            #expect(outcome.errors.ranges(of: "vaultfile: b: ").count <= 1, "\(words) \(outcome.errors)")
        }
    }

    @Test("a link whose target is damaged is lost, too") func damagedTargets() throws {
        let box = try prepared(
            """
            for i in range(60): f('%02d' % i, b'x' * 20000)
            for i in range(60): h('l/%02d' % i, '%02d' % i)
            """)
        var bytes = try #require(box.bytes("h.vault"))
        bytes[bytes.count / 2] ^= 1
        try box.write(Array("h.vault".utf8), bytes)
        let outcome = try extract(box, "h.vault", "l")
        #expect(outcome.ending == .status(65) && !outcome.errors.contains("was not extracted"), "\(outcome.errors)")
        let lost = outcome.errors.split(separator: "\n").count {
            $0.contains("vaultfile: l/") && $0.contains(": is lost")
        }
        #expect((1...5).contains(lost))
        #expect(try FolderTests.shell(box, "ls out/l | wc -l") == "\(60 - lost)\n")
    }
}
