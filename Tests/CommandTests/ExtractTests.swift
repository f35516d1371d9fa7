import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// `vaultfile extract`: hostile streams, existing files, damage.
@Suite struct ExtractTests {
    let key = ["VAULTFILE_KEY_FILE=key"]

    /// A folder with a container `h.vault` of a tar stream that Python makes. `members` are lines of Python: `f(name,
    /// content)`, `d(name)`, `s(name, target)`, `h(name, target)`, `c(name)`.
    func prepared(_ members: String) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(
            "make.py",
            """
            import io, tarfile
            t = tarfile.open('h.tar', 'w', format=tarfile.PAX_FORMAT)
            def add(name, kind, content=b'', link='', mode=0o644, pax={}):
                i = tarfile.TarInfo(name); i.type = kind; i.linkname = link; i.mode = mode; i.pax_headers = pax
                i.size = len(content); i.devmajor, i.devminor = 1, 3; t.addfile(i, io.BytesIO(content))
            def f(name, content=b'x', **more): add(name, tarfile.REGTYPE, content, **more)
            def d(name): add(name, tarfile.DIRTYPE, mode=0o755)
            def s(name, link): add(name, tarfile.SYMTYPE, link=link)
            def h(name, link): add(name, tarfile.LNKTYPE, link=link)
            def c(name): add(name, tarfile.CHRTYPE)
            \(members)
            t.close()
            """)
        try FolderTests.shell(box, "/usr/bin/python3 make.py && mkdir -p out")
        #expect(try box.run("encrypt", "--index", "-o", "h.vault", "h.tar", environment: key).ending == .status(0))
        return box
    }

    func extract(_ box: Sandbox, _ more: String...) throws -> Sandbox.Outcome {
        try box.run((["extract", "-C", "out"] + more).map { Array($0.utf8) }, environment: key)
    }

    @Test("nothing gets out of the folder, and the rest is extracted") func escapes() throws {
        let box = try prepared(
            """
            f('../up'); f('/abs'); f('a/../../b'); f('.'); f('n' * 5000); f('ok', b'fine')
            s('out', '..'); f('out/evil'); s('root', '/'); f('root/evil'); s('deep/up', '../..'); s('deep/fine', '../ok')
            s('self', '.'); s('deep/trick', '../self/..'); s('in', 'dir'); d('dir'); f('in/through')
            s('deep/back', 'fine/..')
            h('hard', '../secret'); h('hard2', '/etc/passwd'); h('hard3', 'precious'); c('null')
            """)
        try box.write("secret", "secret")
        try box.write("out/precious", "precious")
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(73))
        let refused = ["../up", "/abs", "a/../../b", "out", "root", "deep/up", "deep/trick", "deep/back"]
        for name in refused + ["hard", "hard2", "null"] {
            #expect(outcome.errors.contains("vaultfile: \(name): "), "\(name)")
        }
        #expect(outcome.errors.contains("in/through: a part of its path is here a link"))
        #expect(outcome.errors.contains("hint: vaultfile decrypt -o - h.vault | tar -x takes out absolute paths too"))
        #expect(outcome.errors.contains("hard3: is a link to precious, which was not extracted"))
        #expect(outcome.errors.split(separator: "\n").allSatisfy { $0.utf8.count < 600 })
        #expect(box.text("out/ok") == "fine" && box.text("out/precious") == "precious")
        #expect(try box.names() == ["h.tar", "h.vault", "key", "make.py", "out", "secret"])
        #expect(
            try FolderTests.shell(box, "cd out && find . | LC_ALL=C sort").split(separator: "\n") == [
                ".", "./deep", "./deep/fine", "./dir", "./in", "./ok", "./out", "./out/evil", "./precious", "./root",
                "./root/evil", "./self",
            ])
        #expect(try box.path("out/out").stat(followTargetSymlink: false).type == .directory)
        // A link that was there before is not followed either.
        try FolderTests.shell(box, "mkdir other; ln -s ../other out/elsewhere")
        let again = try prepared("f('elsewhere/file'); d('elsewhere')")
        try FolderTests.shell(again, "mkdir other; ln -s ../other out/elsewhere")
        #expect(try extract(again, "h.vault").ending == .status(73))
        #expect(try FolderTests.shell(again, "ls other") == "")
        #expect(try FolderTests.shell(again, "readlink out/elsewhere") == "../other\n")
    }

    @Test(
        "a map of holes that promises more than the member has, or is malformed, is damage of that member",
        arguments: [
            "b'1\\n0\\n9000\\n' + b'\\0' * 502 + b'y' * 600",
            "b'2\\n0\\n600\\n5000\\n100\\n' + b'\\0' * 494 + b'y' * 600",
            "b'9' * 100000", "b'x\\n' + b'\\0' * 510",
            "b'2\\n5000\\n100\\n0\\n100\\n' + b'\\0' * 494 + b'y' * 200",
        ]) func sparseMaps(_ content: String) throws
    {
        let box = try prepared(
            """
            f('a'); f('s', \(content), pax={'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': 's',
                'GNU.sparse.realsize': '9000'}); f('z')
            """)
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(65), "\(outcome.errors)")
        let words = ["is malformed", "its map"].map { "vaultfile: s: \($0)" }
        #expect(words.contains { outcome.errors.contains($0) })
        #expect(try FolderTests.shell(box, "ls -A out") == "a\nz\n")
        let cat = try box.run("cat", "h.vault", "s", environment: key)
        #expect(cat.ending == .status(65), "\(cat.errors)")
    }

    @Test(
        "what libarchive sees otherwise than the list is refused: a file x/, holes of Solaris",
        arguments: ["f('x/', b'content')", "f('x', b'A' * 512 + b'B' * 512, pax={'SUN.holesdata': ' 0 512 1024 '})"])
    func contradictions(_ member: String) throws {
        let box = try prepared("f('a'); \(member); f('z')")
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(65) && outcome.errors.contains("vaultfile: x: "), "\(outcome.errors)")
        #expect(try FolderTests.shell(box, "ls -A out") == "a\nz\n")
    }

    @Test("a path is extracted once however often it is named; a//b is a/b") func repeatedPaths() throws {
        let box = try prepared("d('a'); f('a/b'); f('c')")
        let outcome = try extract(box, "h.vault", "a//b", "a/b", "a", "./a/./b", "c", "c/")
        #expect(outcome.ending == .status(0) && outcome.errors == "", "\(outcome.errors)")
        let none = try extract(box, "-f", "h.vault", "a", "a/none", "none")
        #expect(none.ending == .status(66))
        #expect(none.errors.contains("a/none: is no member") && none.errors.contains("vaultfile: none: is no member"))
    }

    @Test("names of extended attributes stay as they are") func attributes() throws {
        let box = try prepared(
            "f('x', pax={'SCHILY.xattr.user.a%3Db%25': 'v', 'SCHILY.xattr.security%2Ecapability': 'x' * 20})")
        #expect(try extract(box, "h.vault").ending == .status(0))
        let names = try FolderTests.shell(box, "/usr/bin/python3 -c 'import os; print(os.listxattr(\"out/x\"))'")
        #expect(names == "['user.a=b%']\n")
    }

    @Test(
        "tars of other programs keep the names of attributes",
        arguments: ["bsdtar --xattrs -c --format=pax -f", "tar --xattrs -c -f"])
    func attributesOfOthers(_ program: String) throws {
        let box = try FolderTests.prepared("cd t && setfattr -n user.a%41=b -v 1 a.txt && \(program) ../o.tar a.txt")
        #expect(try box.run("encrypt", "--index", "o.tar", environment: FolderTests.key).ending == .status(0))
        try FolderTests.shell(box, "mkdir out")
        let outcome = try box.run("extract", "-C", "out", "o.tar.vault", environment: FolderTests.key)
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        let names = try FolderTests.shell(box, "/usr/bin/python3 -c 'import os; print(os.listxattr(\"out/a.txt\"))'")
        #expect(names == "['user.a%41=b']\n")
    }

    @Test("the hints for a container that is cut off lead to its files") func cutOff() throws {
        let box = try prepared("f('a', b'a' * 200000); f('b', b'b' * 200000)")
        let way = "vaultfile recover -o SAVED.tar saves the parts that are intact, and tar -x -i -f SAVED.tar"
        try FolderTests.shell(box, "head -c 300000 h.vault >c.tar.vault; head -c 900 h.vault >d.tar.vault")
        for words in [["extract", "c.tar.vault"], ["verify", "c.tar.vault"], ["repair", "c.tar.vault"]] {
            let outcome = try box.run(words.map { Array($0.utf8) }, environment: FolderTests.key)
            #expect(outcome.ending == .status(65) && outcome.errors.contains(way), "\(words): \(outcome.errors)")
        }
        try box.run("recover", "-q", "-o", "SAVED.tar", "c.tar.vault", environment: FolderTests.key)
        let counts = try FolderTests.shell(box, "tar -x -i -f SAVED.tar 2>/dev/null; tr -d a <a | wc -c; wc -c <a")
        #expect(counts == "0\n200000\n")
        // Of so few bytes no command saves anything.
        for verb in ["decrypt", "extract", "repair"] {
            let outcome = try box.run(verb, "d.tar.vault", environment: FolderTests.key)
            #expect(outcome.errors.contains("without a header copy nothing can be saved"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("vaultfile re"))
        }
    }

    @Test("lengths that are too large together do no harm", .enabled(if: Host.isRoot)) func hugeLengths() throws {
        let box = try prepared(
            """
            def sp(name):
                i = tarfile.TarInfo('GNUSparse/' + name); i.size = 513
                i.pax_headers = {'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': name,
                    'GNU.sparse.realsize': str(2**63 - 1)}
                t.addfile(i, io.BytesIO(b'1\\n0\\n1\\n'.ljust(512, b'\\0') + b'q'))
            for n in range(4): sp('h%d' % n)
            f('last')
            """)
        // Files may be that long on a tmpfs.
        guard try FolderTests.shell(box, "mount -t tmpfs -o size=1m none out && echo yes") == "yes\n" else { return }
        defer { _ = try? FolderTests.shell(box, "umount out") }
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        let names = try FolderTests.shell(box, "cd out; ls; stat -c %s h3")
        #expect(names == "h0\nh1\nh2\nh3\nlast\n9223372036854775807\n")
    }

    @Test("a file that is no tar stream says so") func noTar() throws {
        let box = try prepared("f('a')")
        try box.shell("echo text >note.txt")
        #expect(try box.run("encrypt", "note.txt", environment: key).ending == .status(0))
        let none = try extract(box, "note.txt.vault")
        #expect(none.ending == .status(64))
        #expect(none.errors.contains("note.txt.vault: its contents are not a tar stream"), "\(none.errors)")
        #expect(none.errors.contains("vaultfile decrypt writes its contents"))
    }

    @Test("a full disk ends with a summary") func fullDisk() throws {
        let box = try prepared("f('a'); f('b', b'y' * 3000000); f('c')")
        // Needs root, and is passed over without it.
        let isMounted = try FolderTests.shell(box, "mount -t tmpfs -o size=1m none out && echo yes") == "yes\n"
        defer { _ = try? FolderTests.shell(box, "umount out") }
        guard isMounted else { return }
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(74))
        #expect(outcome.errors.contains("h.vault: 1 extracted, 1 not extracted"), "\(outcome.errors)")
        #expect(try FolderTests.shell(box, "ls -A out") == "a\n")
    }

    @Test("links that lead out only with --all-links") func allLinks() throws {
        let box = try prepared("s('out', '/nowhere/else'); s('in', 'x/y')")
        #expect(try extract(box, "h.vault").ending == .status(73))
        #expect(try extract(box, "--all-links", "-f", "h.vault").ending == .status(0))
        #expect(try FolderTests.shell(box, "readlink out/out out/in") == "/nowhere/else\nx/y\n")
    }

    @Test("a set-user-ID bit and capabilities stay out without --preserve") func privileges() throws {
        let box = try prepared("f('suid', mode=0o6777, pax={'SCHILY.xattr.security.capability': 'x' * 20})")
        #expect(try extract(box, "h.vault").ending == .status(0))
        #expect(try FolderTests.shell(box, "stat -c %a out/suid; getfattr -m - -d out/suid").hasPrefix("755\n"))
        #expect(try !FolderTests.shell(box, "getfattr -m - -d out/suid").contains("capability"))
    }

    @Test("with --preserve, the bits of another owner that are left out are told", .enabled(if: Host.isRoot))
    func bitsOfOthers() throws {
        let box = try prepared("f('suid', mode=0o4755); f('plain')")
        let output = try FolderTests.shell(
            box,
            """
            chmod 755 . && mkdir u && cp '\(Sandbox.binary())' u/vaultfile && cp h.vault key u && chown -R 65534 u && cd u
            as="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ ./vaultfile extract --key-file key h.vault"
            $as --preserve 2>&1; echo $?; stat -c %a suid; rm suid plain; $as 2>&1; echo $?
            """)
        #expect(output.hasPrefix("vaultfile: suid: warning: its mode has no bits for set-user-ID"), "\(output)")
        #expect(output.contains("; of 1 the attributes are not complete\n73\n755\n"), "\(output)")
        #expect(output.hasSuffix("\n755\n0\n"), "\(output)")
    }

    @Test("a link in the place of a folder exists, and is replaced if forced") func linkForFolder() throws {
        let box = try prepared("d('folder'); f('folder/x')")
        try FolderTests.shell(box, "mkdir real; ln -s ../real out/folder")
        let first = try extract(box, "h.vault")
        #expect(first.ending == .status(73) && first.errors.contains("folder: exists\n"), "\(first.errors)")
        #expect(first.errors.contains("hint: -f replaces it"))
        #expect(try extract(box, "-f", "h.vault").ending == .status(0))
        #expect(try FolderTests.shell(box, "test -L out/folder || cat out/folder/x; ls real") == "x")
    }

    @Test("existing files stay, unless forced; the last of several members with a path counts") func existing() throws {
        let box = try prepared(
            "f('a', b'new'); f('b', b'one'); f('b', b'two'); s('link', 'a'); d('folder'); f('folder/x'); f('clash'); d('clash/in')"
        )
        try box.write("out/a", "old")
        try FolderTests.shell(box, "mkdir out/folder; chmod 700 out/folder; ln -s b out/link")
        let first = try extract(box, "h.vault")
        #expect(
            first.ending == .status(73) && first.errors.contains("a: exists\n")
                && first.errors.contains("link: exists\n"))
        #expect(first.errors.contains("hint: -f replaces it"))
        #expect(box.text("out/a") == "old" && box.text("out/b") == "two" && box.text("out/folder/x") == "x")
        #expect(try FolderTests.shell(box, "readlink out/link; stat -c %a out/folder") == "b\n700\n")
        let forced = try extract(box, "-f", "h.vault")
        #expect(forced.ending == .status(73) && forced.errors.contains("clash/in"))
        #expect(box.text("out/a") == "new" && box.text("out/b") == "two")
        #expect(forced.errors.contains("hint: -C with an empty folder extracts it there"), "\(forced.errors)")
        try FolderTests.shell(box, "rm out/a; mkdir out/a")
        let folder = try extract(box, "-f", "h.vault", "a")
        #expect(folder.errors.contains("a: is a folder here, and something else in the container"), "\(folder.errors)")
        try FolderTests.shell(box, "rmdir out/a")
        // A folder that was there may be private. It is changed only by who restores everything.
        #expect(try FolderTests.shell(box, "readlink out/link; stat -c %a out/folder") == "a\n700\n")
        #expect(try extract(box, "-f", "--preserve", "h.vault").ending == .status(73))
        #expect(try FolderTests.shell(box, "stat -c %a out/folder") == "755\n")
    }

    @Test("one member, a folder, a hard link without its target; a folder that no member stands for") func some() throws
    {
        let box = try prepared("f('a/b/c', b'1'); f('a/b/d', b'2'); f('a/e', b'3'); h('z/link', 'a/e'); f('zz')")
        let one = try extract(box, "h.vault", "a/b", "z/link")
        #expect(one.ending == .status(0) && one.errors == "")
        #expect(
            try FolderTests.shell(box, "cd out && find . -type f -exec cat {} + | tr -d '\\n'; find . | wc -l")
                == "1237\n"
                || (box.text("out/a/b/c") == "1" && box.text("out/z/link") == "3" && box.bytes("out/zz") == nil))
        #expect(box.bytes("out/a/e") == nil)
        let none = try extract(box, "-f", "h.vault", "zz", "nothing")
        #expect(none.ending == .status(66) && box.text("out/zz") == "x")
    }

    @Test(
        "headers that ask for memory or room are refused or cost little",
        arguments: [
            "f('big', pax={'comment': 'x' * 1040000})", "f('p', pax={'path': 'y/' * 500000})",
            "f('s', b'0\\n' + b'\\0' * 510, pax={'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': 's', 'GNU.sparse.realsize': str(1 << 61)})",
            "f('s', b'9' * 1000000, pax={'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': 's', 'GNU.sparse.realsize': '5'})",
            "f('a/' * 1500 + 'b')", "f('acl', pax={'SCHILY.acl.access': 'user:' + 'x' * 900000 + ':rwx,' * 20})",
        ]) func bombs(_ member: String) throws
    {
        let box = try prepared("f('before'); \(member); f('zafter', b'after')")
        // 256 MiB of memory, and 2 MiB for each file.
        let outcome = try box.run(
            ["extract", "-C", "out", "h.vault"].map { Array($0.utf8) }, prelude: "ulimit -f 4096", environment: key)
        guard case .status(let status) = outcome.ending else {
            Issue.record("\(outcome.ending)")
            return
        }
        #expect([0, 65, 73, 74].contains(status), "\(outcome.errors)")
        #expect(box.text("out/before") == "x" && box.text("out/zafter") == "after", "\(outcome.errors.prefix(500))")
        #expect(try !FolderTests.shell(box, "ls -A out").contains(".vaultfile"))
        #expect(try box.run("ls", "-l", "--key-file", "key", "h.vault").ending == .status(0))
    }

    @Test("after damage the lost members are named, and the others come out") func damage() throws {
        let box = try prepared("for i in range(60): f('f%02d' % i, (b'%02d' % i) * 10000)")
        var bytes = try #require(box.bytes("h.vault"))
        let middle = bytes.count / 2
        bytes[middle] ^= 1
        bytes[middle + 70_000] ^= 1
        try box.write(Array("h.vault".utf8), bytes)
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(65))
        let there = try FolderTests.shell(box, "cd out && ls").split(separator: "\n").map(String.init)
        let lost = (0..<60).map { "f\($0 < 10 ? "0" : "")\($0)" }.filter { !there.contains($0) }
        // A record of 64 KiB has 3 of these members, and 2 others reach into it.
        #expect(lost.count >= 3 && lost.count <= 12)
        for name in lost { #expect(outcome.errors.contains("vaultfile: \(name): is lost"), "\(name)") }
        for name in there {
            #expect(box.bytes("out/\(name)") == Array(String(repeating: String(name.dropFirst()), count: 10_000).utf8))
        }
        let list = try box.run("ls", "-l", "--key-file", "key", "h.vault")
        #expect(list.ending == .status(65) && list.text.contains("  f59\n") && list.text.contains("  f00\n"))
        // Members beside the damage cost nothing of it.
        #expect(try extract(box, "-f", "h.vault", "f00", "f59").ending == .status(0))
        #expect(try extract(box, "-f", "h.vault", lost[1]).ending == .status(65))
    }

    @Test("after damage a folder that is named gives what is left of it, as without a name") func damagedFolder() throws
    {
        let box = try prepared("for i in range(60): f('d/f%02d' % i, b'x' * 20000)\nf('e')")
        var bytes = try #require(box.bytes("h.vault"))
        bytes[bytes.count / 2] ^= 1
        try box.write(Array("h.vault".utf8), bytes)
        let whole = try extract(box, "h.vault")
        let left = try FolderTests.shell(box, "cd out && find . -type f | sort; rm -rf d e")
        #expect(whole.ending == .status(65) && left.contains("./d/f59\n") && left.contains("./e\n"))
        let named = try extract(box, "h.vault", "d")
        #expect(named.ending == .status(65) && named.errors.contains("is lost"), "\(named.errors)")
        #expect(!named.errors.contains("vaultfile: d: is lost"), "\(named.errors)")
        #expect(try FolderTests.shell(box, "cd out && find . -type f | sort") == left.replacing("./e\n", with: ""))
        let list = try box.run("ls", "-l", "--key-file", "key", "h.vault", "d")
        #expect(list.ending == .status(65) && list.text.contains("  d/f59\n") && list.text.contains("  d/f00\n"))
        // The last member before it is damaged: the one that is named is not.
        #expect(try extract(box, "-f", "h.vault", "e").ending == .status(0))
    }

    @Test("the stream wins over the index") func mismatch() throws {
        let box = try prepared("f('a', b'one'); f('b', b'two'); f('c', b'three')")
        let other = try prepared("f('a', b'one' * 600); f('b', b'two'); f('c', b'three')")
        // The same names at other places: the manifest of the one in a container of the other.
        let keys = try (own: #require(box.bytes("key")), other: #require(other.bytes("key")))
        let foreign = try SymmetricKey(keyFile: keys.other.span)
        let file = try FileDescriptor.open(other.path("h.vault"), .readOnly)
        defer { try? file.close() }
        let manifest = try SeekableVaultReader(FileSource(file), with: .key(foreign)).opened.manifest
        #expect(manifest.tarIndex?.count == 3)
        let (key, forge) = (try SymmetricKey(keyFile: keys.own.span), try Forge(seed: 1))
        let container = try forge.container(
            try #require(box.bytes("h.tar")), front: forge.header([try forge.slot(key)]), metadata: manifest.metadata)
        try box.write(Array("m.vault".utf8), container)
        let cat = try box.run("cat", "m.vault", "c", environment: self.key)
        #expect(cat.ending == .status(0) && cat.text == "three" && cat.errors.contains("the stream is read instead"))
        let one = try extract(box, "m.vault", "b")
        #expect(one.ending == .status(0) && box.text("out/b") == "two" && one.errors.contains("indexMismatch"))
        let all = try extract(box, "-f", "m.vault")
        #expect(all.ending == .status(0) && box.text("out/c") == "three" && all.errors.contains("its index differs"))
        let list = try box.run("ls", "--key-file", "key", "--scan", "m.vault")
        #expect(list.text == "a\nb\nc\n" && list.errors.contains("its index differs"))
    }

    @Test("an input that is no container, no tar, no folder to write into") func failures() throws {
        let box = try prepared("f('a')")
        #expect(try extract(box, "make.py").ending == .status(65))
        #expect(try box.run("encrypt", "make.py", environment: key).ending == .status(0))
        let noTar = try extract(box, "make.py.vault")
        #expect(noTar.ending == .status(64) && noTar.errors.contains("not a tar stream"))
        #expect(try box.run("extract", "-C", "none", "h.vault", environment: key).ending == .status(73))
        #expect(try box.run("extract", environment: key).ending == .status(64))
        #expect(try extract(box, "h.vault", "/a").ending == .status(64))
        // What a killed run has left goes, and a folder of the user with such a name stays.
        try FolderTests.shell(box, "mkdir -m 755 out/.vaultfile-extract-2; echo mine >out/.vaultfile-extract-2/m")
        #expect(try extract(box, "h.vault").ending == .status(0))
        #expect(try FolderTests.shell(box, "cat out/.vaultfile-extract-2/m; rm -r out/.v*; rm out/a") == "mine\n")
        try FolderTests.shell(box, "mkdir -m 700 out/.vaultfile-extract-1; echo plain >out/.vaultfile-extract-1/m")
        #expect(try extract(box, "h.vault").ending == .status(0))
        #expect(try FolderTests.shell(box, "ls -A out") == "a\n")
    }
}
