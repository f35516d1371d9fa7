import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// The container of a folder: `encrypt FOLDER`, `encrypt --index`, and ls and cat of its members.
@Suite struct FolderTests {
    static let key = ["VAULTFILE_KEY_FILE=key"]

    /// A folder `t` with what tar can hold.
    static func prepared(_ more: String = ":") throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try shell(
            box,
            """
            umask 022; mkdir -p t/a t/b/c t/empty; echo one >t/a/x; echo two >t/a.txt; printf 'bytes' >"t/bad$(printf '\\377')"
            printf nfc >"t/caf$(printf '\\303\\251')"; printf nfd >"t/cafe$(printf '\\314\\201')"
            ln t/a/x t/b/hard; ln -s ../a/x t/b/soft; mkfifo t/pipe; chmod 640 t/a/x; chmod 700 t/b
            truncate -s 3M t/sparse; printf hole | dd of=t/sparse bs=1 seek=1500000 conv=notrunc 2>/dev/null
            touch -d '2001-02-03 04:05:06.123456789' t/a/x; n=$(printf '%0200d' 0); mkdir t/$n; echo deep >t/$n/$n
            \(more); touch -d '2003-03-03 03:03:03' t/empty t/b t/a t
            """)
        return box
    }

    @discardableResult
    static func shell(_ box: Sandbox, _ script: String) throws -> String {
        try Sandbox.shell("cd \"$1\" && { \(script)\n}", [Array(box.folder.string.utf8)])
    }

    /// Kinds, modes, times, lengths and contents of what is in a folder.
    static func state(_ box: Sandbox, _ folder: String) throws -> String {
        try shell(
            box,
            """
            cd \(folder) && find . -printf '%P %y %m %T@ %n %l ' -exec stat -c %s {} + | LC_ALL=C sort
            find . -printf '%P|%y|%m|%T@|%n|%l\\n' | LC_ALL=C sort; find . -type f -exec md5sum {} + | LC_ALL=C sort
            """)
    }

    @Test("names, kinds, links, modes, times, holes and contents come back, by extract and by other tars")
    func roundTrip() throws {
        let box = try Self.prepared()
        let made = try box.run("encrypt", "t", environment: Self.key)
        #expect(made.ending == .status(0) && made.errors == "", "\(made.errors)")
        #expect(try box.names() == ["key", "t", "t.tar.vault"])
        let before = try Self.state(box, "t")
        #expect(before.contains("2001") == false && before.count > 1000)
        try Self.shell(box, "mkdir ours gnu python bsd")
        let out = try box.run("extract", "-C", "ours", "t.tar.vault", environment: Self.key)
        #expect(out.ending == .status(0) && out.errors == "", "\(out.errors)")
        #expect(try Self.state(box, "ours/t") == before)
        #expect(try Self.shell(box, "ls -A ours") == "t\n")
        #expect(try box.run("decrypt", "t.tar.vault", environment: Self.key).ending == .status(0))
        try Self.shell(box, "tar -C gnu -xpf t.tar")
        #expect(try Self.state(box, "gnu/t") == before)
        try Self.shell(
            box,
            "/usr/bin/python3 -c 'import tarfile; tarfile.open(\"t.tar\").extractall(\"python\")' && rm -rf python/t/pipe"
        )
        let plain = try Self.shell(box, "cd t && find . -type f -exec md5sum {} + | LC_ALL=C sort")
        #expect(
            try Self.shell(box, "cd python/t && find . -type f -exec md5sum {} + | LC_ALL=C sort") == plain)
        // bsdtar makes one name of the two that are written alike, so only the rest is compared.
        if try Self.shell(box, "command -v bsdtar") != "" {
            let others = "cd \("%")/t && find . -type f -not -name 'caf*' -exec md5sum {} + | LC_ALL=C sort"
            try Self.shell(box, "bsdtar -C bsd -xpf t.tar")
            #expect(
                try Self.shell(box, others.replacing("%", with: "bsd"))
                    == Self.shell(box, others.replacing("%", with: ".")))
        }
        // The holes stay holes.
        #expect(try Self.shell(box, "test $(du -k ours/t/sparse | cut -f1) -lt 1024 && echo yes") == "yes\n")
    }

    @Test("attributes of users come back always, access control lists with --preserve") func attributes() throws {
        let box = try Self.prepared()
        let isSet = try Self.shell(
            box, "setfattr -n user.colour -v blue t/a.txt && setfacl -m u:4321:r t/a.txt && chmod u+s t/a/x && echo set"
        )
        // Not every file system has them, and not every machine the programs.
        try #require(isSet == "set\n")
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(0))
        for (folder, options) in [("plain", []), ("whole", ["--preserve"])] {
            try Host.makeFolder(box.path(folder))
            let words = ["extract"] + options + ["-C", folder, "t.tar.vault"]
            #expect(try box.run(words.map { Array($0.utf8) }, environment: Self.key).ending == .status(0))
            let shown = try Self.shell(box, "getfattr -d \(folder)/t/a.txt; getfacl \(folder)/t/a.txt")
            #expect(shown.contains("user.colour=\"blue\""))
            #expect(shown.contains("user:4321") == !options.isEmpty)
            #expect(
                try Self.shell(box, "find \(folder)/t/a/x -perm -4000 | wc -l") == (options.isEmpty ? "0\n" : "1\n"))
        }
        let mask = try box.run(
            "extract", "-f", "-C", "plain", "t.tar.vault", prelude: "umask 077", environment: Self.key)
        #expect(try mask.ending == .status(0) && box.mode("plain/t/a.txt") == 0o600)
    }

    @Test("members are in the order of the index, and named from the folder's own name on") func order() throws {
        let box = try Self.prepared("mkdir -p t/a-b t/a/x.d; echo 1 >t/a-b/y; echo 2 >t/a/x.d/z")
        for (name, prefix) in [("t", "t/"), ("t/", "t/"), ("./t", "t/"), ("t/.", "")] {
            let made = try box.run("encrypt", "-f", "-o", "c.vault", name, environment: Self.key)
            #expect(made.ending == .status(0))
            let list = try box.run("ls", "--key-file", "key", "--scan", "c.vault")
            #expect(list.ending == .status(0) && list.errors == "")
            let paths = list.text.split(separator: "\n").filter { !$0.contains("\\x") }.map(String.init)
            let sorted = paths.sorted { first, second in
                guard let first = TarPath(Array(first.utf8)), let second = TarPath(Array(second.utf8)) else {
                    return false
                }
                return first < second
            }
            #expect(paths == sorted && paths.contains("\(prefix)a/x.d/z") && paths.contains("\(prefix)a-b/y"))
        }
        let inside = try box.run("encrypt", "-o", "t/b/c/own.vault", "t", environment: Self.key)
        #expect(inside.ending == .status(0))
        #expect(try !box.run("ls", "--scan", "--key-file", "key", "t/b/c/own.vault").text.contains("vault"))
    }

    @Test("ls lists all, or a folder, or nothing that is not there; cat writes members") func reading() throws {
        let box = try Self.prepared()
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(0))
        let all = try box.run("ls", "t.tar.vault", environment: Self.key)
        #expect(
            all.ending == .status(0) && all.text.hasPrefix("t\nt/0")
                && all.text.contains("\nt/a\nt/a/x\nt/a.txt\nt/b\n"))
        #expect(all.text.contains("t/bad\\xff\n") && all.errors.contains("these paths are from the index"))
        let part = try box.run("ls", "t.tar.vault", "t/b/", environment: Self.key)
        #expect(part.text == "t/b\nt/b/c\nt/b/hard\nt/b/soft\n")
        let long = try box.run("ls", "-l", "t.tar.vault", "t/a/x", "./t/b/soft", environment: Self.key)
        #expect(long.text.contains("-rw-r-----  ") && long.text.contains("             4  2001-02-03T0"))
        #expect(long.text.hasSuffix("  t/b/soft -> ../a/x\n"))
        let none = try box.run("ls", "t.tar.vault", "t/none", "t/empty", environment: Self.key)
        #expect(none.ending == .status(66) && none.text == "t/empty\n" && none.errors.contains("t/none: is no member"))
        let nothing = try box.run("ls", "t.tar.vault", "t/none", environment: Self.key)
        #expect(nothing.ending == .status(66) && nothing.errors.hasPrefix("vaultfile: t/none: is no member"))
        #expect(try box.run("ls", "t.tar.vault", "../t", environment: Self.key).ending == .status(64))
        // The line of the container, with -d or if nothing opens it.
        #expect(try box.run("ls", "-d", "t.tar.vault", environment: Self.key).text.hasSuffix("  t.tar.vault\n"))
        let locked = try box.run("ls", "t.tar.vault")
        #expect(locked.ending == .status(0) && locked.text.hasSuffix("  t.tar.vault\n"))
        #expect(locked.errors.contains("what is in it cannot be listed"))
        let both = try box.run("cat", "t.tar.vault", "t/a.txt", "t/b/hard", environment: Self.key)
        #expect(both.ending == .status(0) && both.text == "two\none\n")
        let hole = try box.run(
            "cat", "--offset", "1499999", "--length", "6", "t.tar.vault", "t/sparse", environment: Self.key)
        #expect(hole.output == [0] + Array("hole".utf8) + [0])
        #expect(try box.run("cat", "t.tar.vault", "t/sparse", environment: Self.key).output == box.bytes("t/sparse"))
        let refused = try box.run("cat", "t.tar.vault", "t/b/soft", "t/b", "t/a.txt", environment: Self.key)
        #expect(
            refused.ending == .status(64) && refused.text == "two\n" && refused.errors.contains("is a link to ../a/x"))
        #expect(
            try box.run("cat", "--offset", "5", "t.tar.vault", "t/a.txt", environment: Self.key).ending == .status(64))
        let stream = try box.run("cat", "t.tar.vault", environment: Self.key)
        #expect(stream.output.count % 512 == 0 && stream.output.count > 10_000)
    }

    @Test("JSON has a line for each member") func json() throws {
        let box = try Self.prepared()
        let schema = try JSONSchema()
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(0))
        let list = try box.run("ls", "--json", "t.tar.vault", environment: Self.key)
        let objects = try list.text.split(separator: "\n").map { try JSON(parsing: String($0)) }
        #expect(objects.count == 16 && objects.allSatisfy { schema.violations(of: $0) == [] })
        let hard = objects.first { $0["member"]?["name"] == .string("t/b/hard") }
        #expect(hard?["member"]?["kind"] == .string("hardLink") && hard?["member"]?["target"] == .string("t/a/x"))
        #expect(objects.contains { $0["member"]?["nameBase64"] != nil })
        try Host.makeFolder(box.path("out"))
        let out = try box.run("extract", "--json", "-C", "out", "t.tar.vault", environment: Self.key)
        let object = try JSON(parsing: out.text)
        #expect(schema.violations(of: object) == [] && object["outcomes"]?["extracted"] == .number(16))
    }

    @Test("--index makes an index of a tar, and a warning of what is none") func index() throws {
        let box = try Self.prepared("tar -cf ../t.tar -C .. t; true")
        try Self.shell(box, "tar --sort=name -cf t.tar t")
        let made = try box.run(
            [["encrypt"], ["--index"]].flatMap { $0 }.map { Array($0.utf8) }, input: box.bytes("t.tar"), piped: true,
            environment: Self.key)
        #expect(made.ending == .status(0) && made.errors == "")
        try box.write(Array("p.vault".utf8), made.output)
        #expect(try box.run("ls", "--key-file", "key", "p.vault", "t/b").text.contains("t/b/hard\n"))
        try box.write("text", "no tar")
        let text = try box.run("encrypt", "--index", "text", environment: Self.key)
        #expect(text.ending == .status(0) && text.errors.contains("text: warning: is no tar stream"))
        #expect(!text.errors.contains("hint:"))
        try Self.shell(box, "gzip -c t.tar >t.tgz")
        let zipped = try box.run("encrypt", "--index", "t.tgz", environment: Self.key)
        #expect(zipped.errors.contains("hint: a compressed tar has to be decompressed first"), "\(zipped.errors)")
        // Both are containers, as without an index.
        let both = try box.run("cat", "text.vault", "text.vault", environment: Self.key)
        #expect(both.ending == .status(0) && both.text == "no tarno tar")
        let cut = Array(try #require(box.bytes("t.tar")).prefix(3000))
        try box.write(Array("cut.tar".utf8), cut)
        #expect(try box.run("encrypt", "--index", "cut.tar", environment: Self.key).errors.contains("is no tar stream"))
    }

    @Test("absolute paths are counted when a tar is encrypted and listed, and the folder of tar -c . is none of them")
    func absolutePaths() throws {
        let box = try Self.prepared()
        try Self.shell(
            box,
            """
            cd t; tar -cPf ../abs.tar "$PWD/a.txt" "$PWD/b"; tar -cPf ../mixed.tar "$PWD/a.txt" a b
            tar -cf ../dot.tar .; tar -cf ../pax.tar --format=pax .
            """)
        for (tar, count) in [("abs.tar", "5 members"), ("mixed.tar", "1 member"), ("dot.tar", nil), ("pax.tar", nil)] {
            let made = try box.run("encrypt", "--index", tar, environment: Self.key)
            #expect(made.ending == .status(0))
            let list = try box.run("ls", "\(tar).vault", environment: Self.key)
            guard let count else {
                #expect(made.errors == "" && !list.errors.contains("warning"), "\(tar) \(made.errors) \(list.errors)")
                continue
            }
            #expect(made.errors.contains("\(tar): warning: \(count) of the tar stream ha"), "\(made.errors)")
            #expect(made.errors.contains("hint: vaultfile decrypt -o - CONTAINER | tar -x takes out"))
            #expect(list.errors.contains("\(tar).vault: warning: \(count) "), "\(list.errors)")
            #expect(list.errors.contains("hint: vaultfile ls --scan lists them"))
        }
    }

    @Test("a file that vanishes is reported, and the rest is in the container") func vanishing() throws {
        let box = try Self.prepared("head -c 40000000 /dev/zero >t/a-big; echo gone >t/z")
        // Once a mebibyte has come out, the folder has been listed. The rest does not fit into pipes and buffers.
        let ending = try Self.shell(
            box,
            """
            mkfifo fifo; VAULTFILE_KEY_FILE=key '\(try Sandbox.binary())' encrypt -o fifo t 2>errors & child=$!
            exec 3<fifo; head -c 1000000 <&3 >c.vault; rm t/z; cat <&3 >>c.vault; wait $child; echo $?
            """)
        #expect(ending == "66\n")
        let errors = try #require(box.text("errors"))
        #expect(errors.contains("t/z: was removed before it was read") && errors.contains("1 member missing"))
        #expect(errors.contains("hint: if that matters, encrypt it again while no program writes to it"))
        let list = try box.run("ls", "--key-file", "key", "c.vault")
        #expect(list.ending == .status(0) && list.text.contains("t/sparse\n") && !list.text.contains("t/z\n"))
        #expect(try box.run("verify", "--key-file", "key", "c.vault").ending == .status(0))
    }

    @Test("the container of the run before is left out of the next one") func outputInside() throws {
        let box = try Self.prepared()
        for _ in 0..<2 {
            #expect(try box.run("encrypt", "-f", "t", "-o", "t/x.vault", environment: Self.key).ending == .status(0))
        }
        let list = try box.run("ls", "--key-file", "key", "t/x.vault")
        #expect(list.ending == .status(0) && !list.text.contains("x.vault") && list.text.contains("t/a/x\n"))
    }

    @Test("hard links of symbolic links and pipes, and attributes of any name, come back") func linksOfLinks() throws {
        let box = try Self.prepared("ln -P t/b/soft t/b/soft2; ln t/pipe t/pipe2; setfattr -n user.a=b -v 1 t/a.txt")
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(0))
        try Self.shell(box, "mkdir out")
        #expect(try box.run("extract", "-C", "out", "t.tar.vault", environment: Self.key).ending == .status(0))
        #expect(
            try Self.shell(box, "cd out/t; stat -c '%h %F' b/soft b/soft2 pipe pipe2")
                == "2 symbolic link\n2 symbolic link\n2 fifo\n2 fifo\n")
        let names = try Self.shell(box, "/usr/bin/python3 -c 'import os; print(os.listxattr(\"out/t/a.txt\"))'")
        #expect(try names == Self.shell(box, "/usr/bin/python3 -c 'import os; print(os.listxattr(\"t/a.txt\"))'"))
    }

    @Test("the reader of a stream that broke off gets an error at its end") func brokenStream() throws {
        let packing = FolderPacking(
            root: PathArgument(argument: "/nonexistent/folder"), outputs: [],
            console: Console(verb: .encrypt, verbosity: .quiet))
        var isRefused = false
        #expect(throws: (any Error).self) {
            _ = try packing.run { input, checkEnd in
                var byte: UInt8 = 0
                let count = try unsafe withUnsafeMutableBytes(of: &byte) { try unsafe input.read(into: $0) }
                #expect(count == 0)
                do { try checkEnd() } catch { isRefused = true }
            }
        }
        #expect(isRefused)
    }

    @Test("a path that is too long for extract is named, and the status tells") func longPaths() throws {
        // A shell cannot go into folders that are so deep.
        let deep = """
            import os; os.chdir('t'); top = os.open('.', os.O_RDONLY)
            for i in range(21): os.mkdir('1' * 200); os.chdir('1' * 200)
            open('f', 'w').write('linked'); os.link('f', 'zshort', dst_dir_fd=top)
            """
        let box = try Self.prepared("/usr/bin/python3 -c \"\(deep)\"")
        let outcome = try box.run("encrypt", "t", environment: Self.key)
        #expect(outcome.ending == .status(66), "\(outcome.errors)")
        #expect(outcome.errors.contains("its path has more than 4096 bytes"))
        #expect(outcome.errors.contains("paths that extract does not take"))
        // To encrypt the same paths once more would change nothing.
        #expect(outcome.errors.hasSuffix("or change the paths, and encrypt it again\n"))
        #expect(try box.run("ls", "--key-file", "key", "t.tar.vault").ending == .status(0))
        // Another name of that file has the content: it cannot be a link to a path that nothing finds.
        #expect(try box.run("cat", "t.tar.vault", "t/zshort", environment: Self.key).text == "linked")
    }

    @Test("the work folder of an extract is left out, and a folder of the user that is named like it is packed")
    func workFolders() throws {
        let box = try Self.prepared(
            """
            mkdir -m 700 t/.vaultfile-extract-1 t/a/.vaultfile-extract-2 t/a/.vaultfile-extract-3 t/.vaultfile-extract-4
            echo part >t/.vaultfile-extract-1/m; echo mine >t/a/.vaultfile-extract-3/mine; mkdir t/.vaultfile-extract-4/m
            mkdir -m 755 t/.vaultfile-extract-5; echo mine >t/.vaultfile-extract-5/m
            """)
        let outcome = try box.run("encrypt", "t", environment: Self.key)
        #expect(outcome.ending == .status(66), "\(outcome.errors)")
        for name in ["t/.vaultfile-extract-1", "t/a/.vaultfile-extract-2"] {
            let line = "vaultfile: \(name): warning: is a work folder of extract, and is left out\n"
            #expect(outcome.errors.contains(line), "\(outcome.errors)")
        }
        let list = try box.run("ls", "--scan", "t.tar.vault", environment: Self.key).text
        #expect(!list.contains("extract-1") && !list.contains("extract-2") && list.contains("t/a/x\n"))
        let others = ["t/.vaultfile-extract-4/m", "t/.vaultfile-extract-5/m", "t/a/.vaultfile-extract-3/mine"]
        for name in others { #expect(list.contains("\(name)\n"), "\(list)") }
        for name in ["t/.vaultfile-extract-4", "t/.vaultfile-extract-5", "t/a/.vaultfile-extract-3"] {
            #expect(outcome.errors.contains("\(name): its name begins with .vaultfile-extract-: only a tar program"))
        }
        #expect(outcome.errors.contains("with 3 paths that extract does not take;"), "\(outcome.errors)")
        try Self.shell(box, "mkdir each")
        // Nor does a walk from file to file take what a running extract writes.
        try Self.shell(box, "mkdir each")
        #expect(try box.run("encrypt", "--recursive", "-o", "each/", "t", environment: Self.key).ending == .status(0))
        let each = try Self.shell(box, "cd each; find . -name '*.vault'")
        #expect(!each.contains("extract-1") && !each.contains("extract-2"), "\(each)")
        for name in [".vaultfile-extract-5/m", ".vaultfile-extract-3/mine"] {
            #expect(each.contains("\(name).vault\n"), "\(each)")
        }
        // Without those of the user it is as any other.
        try Self.shell(box, "rm -r t/.vaultfile-extract-[45] t/a/.vaultfile-extract-3")
        let next = try box.run("encrypt", "-f", "t", environment: Self.key)
        #expect(next.ending == .status(0), "\(next.errors)")
        try Self.shell(box, "mkdir out")
        #expect(try box.run("extract", "-C", "out", "t.tar.vault", environment: Self.key).ending == .status(0))
        // No extraction removes anything of the user.
        try Self.shell(box, "cd out; mkdir -m 700 .vaultfile-extract-6; cd .vaultfile-extract-6; echo mine | tee m >b")
        #expect(try box.run("extract", "-f", "-C", "out", "t.tar.vault", environment: Self.key).ending == .status(0))
        #expect(try Self.shell(box, "cat out/.vaultfile-extract-6/m") == "mine\n")
    }

    @Test(
        "kinds are asked for where a file system does not list them",
        .enabled(if: Mounted.isPossible, "only a mount is such a file system"))
    func kinds() throws {
        let box = try Self.prepared()
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(0))
        try Self.shell(box, "mkdir view")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "t.tar.vault"])
        let made = try box.run("encrypt", "-o", "again.tar.vault", "view", environment: Self.key)
        _ = mount.end()
        let list = try box.run("ls", "--scan", "again.tar.vault", environment: Self.key).text
        #expect(list.contains("view/t/empty\n") && list.contains("view/t/b/c\n"), "\(made.errors) \(list)")
        #expect(list.contains("view/t/a/x\n") && list.contains("view/t/b/soft\n"))
    }

    @Test("what does not go with folders") func refusals() throws {
        let box = try Self.prepared()
        #expect(try box.run("encrypt", "--update", "t", environment: Self.key).ending == .status(64))
        let kept = try box.run("encrypt", "--remove-source", "t", environment: Self.key)
        #expect(kept.ending == .status(64) && kept.errors.contains("t: is a folder; --remove-source"), "\(kept.errors)")
        #expect(try box.run("encrypt", "t/.", environment: Self.key).ending == .status(64))
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(0))
        #expect(try box.run("encrypt", "t", environment: Self.key).ending == .status(73))
        let each = try box.run("encrypt", "--recursive", "t", environment: Self.key)
        #expect(each.ending == .status(0) && box.bytes("t/a/x.vault") != nil)
    }
}
