import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// Where a mount may be, what names a source may have, and hostile tars. These tests need what `MountTests` needs.
@Suite(.enabled(if: Mounted.isPossible, "this machine cannot mount: no /dev/fuse, libfuse3 or fusermount3"))
struct MountPlaceTests {
    private func prepared(_ script: String) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; \(script)")
        let end = try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "--remove-source", "src")
        #expect(end.ending == .status(0))
        return box
    }

    private let source = ["-q", "--key-file", "key", "src"]

    @Test("a mount whose place was moved meanwhile is unmounted there") func moved() throws {
        let box = try prepared("mkdir -p parent/mp; echo x >src/a")
        let mount = try Mounted(box, source, at: "parent/mp")
        try box.shell("mv parent other")
        #expect(try box.shell("cat other/mp/a") == "x\n")
        #expect(mount.end().ending == .status(0))
        #expect(try box.shell("ls -A other/mp; grep -c other/mp /proc/mounts || true") == "0\n")
    }

    @Test("two mounts of a source, a mount over files, on another mount, through a link, over its own source")
    func places() throws {
        let box = try prepared("mkdir src/sub full real; echo x >src/a; echo mine >full/file; ln -s real link")
        let first = try Mounted(box, source)
        let second = try Mounted(box, source, at: "full")
        #expect(try box.shell("cat view/a full/a; ls -A full") == "x\nx\na\nsub\n")
        let over = try Mounted(box, source)
        #expect(try box.shell("cat view/a") == "x\n")
        #expect(over.end().ending == .status(0))
        #expect(try box.shell("cat view/a") == "x\n")
        // A folder of the mount is a source as any other. It has no containers.
        try box.shell("mkdir other")
        let inner = try Mounted(box, ["-q", "--key-file", "key", "view"], at: "other")
        #expect(try box.shell("find other | sort") == "other\nother/sub\n")
        #expect(inner.end().ending == .status(0))
        #expect(second.end().ending == .status(0) && first.end().ending == .status(0))
        #expect(try box.shell("cat full/file; ls -A view") == "mine\n")
        try box.shell("mkdir outer; mv src outer")
        let above = try Mounted(box, ["-q", "--key-file", "key", "outer/src"], at: "outer")
        #expect(try box.shell("cat outer/a && ls outer") == "x\na\nsub\n")
        #expect(above.end().ending == .status(0))
        let running = try box.start(["mount", "-q", "--key-file", "key", "outer/src", "link"].map { Array($0.utf8) })
        #expect(try box.shell("for n in $(seq 1000); do [ -e real/a ] && break; sleep 0.01; done; cat real/a") == "x\n")
        running.child.send(Host.sigTerm)
        #expect(running.end().ending == .status(0))
        #expect(try box.shell("ls -A real") == "")
    }

    @Test("names are bytes, and folders may be deep") func names() throws {
        let box = try prepared(
            """
            (cd src && name=$(printf 'f\\377') && mkdir "$name" && echo x >"$name/$(printf ' \\200\\nz')" \\
                && n=$(printf %0249d 0) && echo y >$n && for n in $(seq 300); do mkdir d && cd d || exit; done; echo z >z)
            """)
        let point = "a b,c"
        try box.shell("mkdir '\(point)'")
        let running = try box.start((["mount"] + source + [point]).map { Array($0.utf8) })
        let script = """
            for n in $(seq 1000); do [ -e '\(point)/d' ] && break; sleep 0.01; done; cd '\(point)'
            cat "$(printf 'f\\377')/$(printf ' \\200\\nz')" $(printf %0249d 0) && find . -name z -exec cat {} +
            """
        #expect(try box.shell(script) == "x\ny\nz\n")
        running.child.send(Host.sigTerm)
        #expect(running.end().ending == .status(0))
    }

    @Test("a hostile tar shows what is in it, and nothing else", arguments: [false, true])
    func hostile(_ isIndexed: Bool) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("secret", "secret")
        try box.write(
            "make.py",
            """
            import io, tarfile
            t = tarfile.open('t.tar', 'w', format=tarfile.PAX_FORMAT)
            def add(name, kind=tarfile.REGTYPE, content=b'x', link='', pax={}, mode=0o644):
                i = tarfile.TarInfo(name); i.type = kind; i.linkname = link; i.pax_headers = pax; i.mode = mode
                i.size = len(content) if kind == tarfile.REGTYPE else 0
                i.devmajor, i.devminor = 1, 3; t.addfile(i, io.BytesIO(content))
            for name in ['../up', '/abs', 'a/../../b', '.', 'a//c']: add(name)
            add('n' * 100000); add('p/' * 50000 + 'deep'); add('q/' * 600 + 'less')
            add('out', tarfile.SYMTYPE, link='..'); add('out/evil', content=b'inside')
            add('loop', tarfile.SYMTYPE, link='loop'); add('in', tarfile.SYMTYPE, link='/proc/self/root')
            add('hard', tarfile.LNKTYPE, link='../secret'); add('hard2', tarfile.LNKTYPE, link='/etc/passwd')
            add('self', tarfile.LNKTYPE, link='self'); add('long', tarfile.SYMTYPE, link='l' * 100000)
            add('null', tarfile.CHRTYPE); add('pipe', tarfile.FIFOTYPE); add('suid', mode=0o6777)
            add('file', content=b'1'); add('file/below', content=b'2'); add('twice', content=b'one'); add('twice', content=b'two')
            add('liar', pax={'size': '5'}, content=b'12345'); add('nul', pax={'path': 'nul\\0l'})
            for n in range(20000): add('many/%d' % n, content=b'')
            add('last', content=b'end')
            t.close()
            """)
        try box.shell("python3 make.py; mkdir view")
        let words = ["encrypt", "-q", "--key-file", "key"] + (isIndexed ? ["--index"] : []) + ["t.tar"]
        #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(0))
        let mount = try Mounted(box, ["-q", "--key-file", "key", "t.tar.vault"])
        let names = try box.shell("ls -A view | LC_ALL=C sort | tr '\\n' ' '")
        #expect(names == "file hard hard2 in last liar long loop many null out pipe q self suid twice ", "\(names)")
        #expect(try box.shell("cd view && cat out/evil file/below twice liar last") == "inside2two12345end")
        #expect(try box.shell("ls view/many | wc -l; cat view/many/19999") == "20000\n")
        // Links of the tar lead to themselves or nowhere; what leads out is not shown as a file of the mount.
        for name in ["hard", "hard2", "self", "loop", "null", "pipe", "long"] {
            #expect(try box.shell("cat view/\(name) 2>/dev/null || echo refused") == "refused\n", "\(name)")
        }
        #expect(try box.shell("stat -c %a view/suid; find view -type b,c,p,s | wc -l") == "500\n0\n")
        #expect(try box.shell("cd view && find q -name less | wc -c") == "1205\n")
        #expect(try box.shell("ls -lR view >/dev/null 2>&1; cat view/last") == "end")
        #expect(mount.end().ending == .status(0))
    }
}
