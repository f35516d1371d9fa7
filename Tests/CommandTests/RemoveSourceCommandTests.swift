import SystemPackage
import Testing

/// `--remove-source` as users run it, beside other programs and after a run that was killed.
@Suite struct RemoveSourceCommandTests {
    private let box: Sandbox

    init() throws {
        box = try Sandbox()
        try box.write("a", "contents")
    }

    private static let key = ["VAULTFILE_KEY_FILE=key"]

    private func shell(_ script: String) throws {
        try Sandbox.shell("cd \"$1\" && \(script)", [Array(box.folder.string.utf8)])
    }

    #if os(Linux)
    /// A program that has mapped `a` for writing. It stores a byte again and again if it is told to, until `stop`
    /// exists.
    private static let mapper = """
        import mmap, os, sys, time
        file = open("a", "r+b")
        pages = mmap.mmap(file.fileno(), 0)
        file.close()
        pages[0] = 1
        open("ready", "w").close()
        while not os.path.exists("stop"):
            if sys.argv[1] == "stores":
                pages[0] = (pages[0] + 1) % 256
            time.sleep(0.0005)
        os.remove("stop")
        """

    @Test("a file stays while a program can write to it through a shared mapping", arguments: ["stores", "waits"])
    func mapped(_ what: String) throws {
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 1, count: 1 << 20))
        try box.write("mapper", Self.mapper)
        let outcome = try box.run(
            "encrypt", "--remove-source", "a",
            prelude:
                "{ python3 mapper \(what) & } && while [ ! -e ready ]; do sleep 0.01; done", environment: Self.key)
        // A store is seen, or else that the file is open.
        let mayBeSeen = what == "stores" && outcome.ending == .status(74)
        #expect(mayBeSeen || outcome.ending == .status(75), "\(outcome.errors)")
        let reasons = ["changed while it was read", "changed just before it was read"]
        let seen = reasons.contains { outcome.errors.contains($0) }
        #expect(mayBeSeen ? seen : outcome.errors.contains("another program has it open"))
        #expect(outcome.errors.contains("was not removed"))
        #expect(box.bytes("a") != nil && box.bytes("a.vault") != nil)
        try shell("touch stop; while [ -e stop ]; do sleep 0.01; done")
        guard what == "waits" else { return }
        let again = try box.run("encrypt", "--remove-source", "a", environment: Self.key)
        #expect(again.ending == .status(0) && again.errors.contains("an earlier run"), "\(again.errors)")
        #expect(box.bytes("a") == nil)
    }

    @Test("a file of another user, on which leases need a privilege, stays unless forced", .enabled(if: Host.isRoot))
    func anotherUser() throws {
        try box.makeKey()
        try shell("chmod 777 . && chmod 644 key")
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.start(
                (["encrypt", "--remove-source"] + words + ["a"]).map { Array($0.utf8) },
                command: "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"", environment: Self.key
            ).end()
        }
        let kept = try run()
        #expect(kept.ending == .status(74) && kept.errors.contains("cannot tell"), "\(kept.errors)")
        #expect(kept.errors.contains("-f makes the output again"))
        #expect(box.text("a") == "contents" && box.bytes("a.vault") != nil)
        let forced = try run("-f")
        #expect(forced.ending == .status(0), "\(forced.errors)")
        #expect(box.bytes("a") == nil && box.bytes("a.vault") != nil)
    }

    @Test(
        "killed at any call, a second run finishes",
        .enabled(if: (try? Sandbox.shell("command -v strace", [])) != ""), arguments: ["encrypt", "decrypt"])
    func killed(_ verb: String) throws {
        try box.makeKey()
        let (input, output) = verb == "encrypt" ? ("a", "a.vault") : ("a.vault", "a")
        if verb == "decrypt" { try box.run("encrypt", "--remove-source", "a", environment: Self.key) }
        try shell("mkdir start && cp -p a* start/")
        var (killed, continued) = (0, 0)
        for call in ["fsync", "linkat", "unlinkat", "fcntl"] {
            for number in 1...40 {
                try shell("rm -f a a.vault && cp -p start/* .")
                let inject = "-f -qq -o trace -e trace=\(call) -e inject=\(call):signal=KILL:when=\(number)"
                let outcome = try box.start(
                    [Array(verb.utf8), Array("--remove-source".utf8), Array(input.utf8)],
                    command: "exec strace \(inject) \"$@\"", environment: Self.key
                ).end()
                guard outcome.ending != .status(0) else { break }
                killed += 1
                let stays = box.bytes(input) != nil
                if stays, box.bytes(output) != nil { continued += 1 }
                let again = try box.run(verb, "--remove-source", input, environment: Self.key)
                #expect(again.ending == .status(stays ? 0 : 66), "\(call) \(number): \(again.errors)")
                #expect(box.bytes(input) == nil && box.bytes(output) != nil, "\(call) \(number)")
                let opened = try box.run("decrypt", "-o", "-", "a.vault", environment: Self.key).text
                #expect((verb == "decrypt" ? box.text("a") : opened) == "contents", "\(call) \(number)")
            }
        }
        #expect(killed > 6 && continued > 1)
    }
    #endif

    @Test(
        "after a run that ended between its output and the removal, the next one removes the input",
        arguments: [
            [], ["--digest", "--compress", "deflate"], ["--no-metadata"], ["--context", "c"],
            ["--chunk-size", "4K", "--header-capacity", "8K"], ["--key-file", "key", "--key-file", "key"],
        ])
    func continues(_ options: [String]) throws {
        try box.makeKey()
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.run((["encrypt"] + options + words).map { Array($0.utf8) }, environment: Self.key)
        }
        #expect(try run("a").ending == .status(0))
        let outcome = try run("--json", "--remove-source", "a")
        #expect(outcome.ending == .status(0) && outcome.text.contains("\"output\":\"a.vault\""), "\(outcome.errors)")
        #expect(outcome.text.contains("\"length\":8"))
        #expect(try box.names() == ["a.vault", "key"])
    }

    @Test(
        "an output that is not what this run would make is not taken for it",
        arguments: [
            // The input is another one by now.
            "printf contentz >a", "printf more >>a", "touch -d 2001-02-03 a", "chmod 600 a",
            // The container is damaged, incomplete or another one.
            "truncate -s -1 a.vault", "printf 0123456789abcdef | dd of=a.vault conv=notrunc bs=1 seek=600",
            "cp a a.vault",
            "cp a b; $V encrypt -f -o a.vault b", "$V rotate --add file:other a.vault",
            "$V encrypt -f --digest a", "$V encrypt -f --compress deflate a", "$V encrypt -f --chunk-size 4K a",
            "$V encrypt -f --key-file other a", "$V encrypt -f --context c a", "$V encrypt -f --no-metadata a",
            "rm a.vault; mkdir a.vault", "rm a.vault; ln -s nowhere a.vault",
        ])
    func isAnother(_ script: String) throws {
        try box.makeKey()
        try box.makeKey("other")
        try box.write("a", String(repeating: "contents", count: 1000))
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        try shell("export VAULTFILE_KEY_FILE=key V='\(try Sandbox.binary())'; \(script)")
        let before = box.bytes("a")
        let outcome = try box.run("encrypt", "--remove-source", "a", environment: Self.key)
        #expect(outcome.ending == .status(73), "\(outcome.errors)")
        #expect(before != nil && box.bytes("a") == before)
    }

    @Test(
        "a container without what this run was told to make stays beside its input",
        arguments: [
            ["--digest"], ["--compress", "deflate"], ["--chunk-size", "4K"], ["--header-capacity", "8K"],
            ["--key-file", "key", "--key-file", "key"],
        ])
    func lacks(_ options: [String]) throws {
        try box.makeKey()
        try box.makeKey("other")
        let keys = ["--key-file", "key"] + (options.contains("key") ? ["--key-file", "other"] : [])
        #expect(try box.run((["encrypt"] + keys + ["a"]).map { Array($0.utf8) }).ending == .status(0))
        let words = ["encrypt", "--remove-source"] + options + ["a"]
        let outcome = try box.run(words.map { Array($0.utf8) }, environment: Self.key)
        #expect(outcome.ending == .status(73) && box.text("a") == "contents", "\(outcome.errors)")
    }

    @Test("both keys of the run have to open it") func everyKey() throws {
        try box.makeKey()
        try box.makeKey("other")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        let both = ["--key-file", "key", "--key-file", "other"]
        let outcome = try box.run((["encrypt"] + both + ["--remove-source", "a"]).map { Array($0.utf8) })
        #expect(outcome.ending == .status(73) && box.bytes("a") != nil)
        #expect(try box.run((["encrypt", "-f"] + both + ["a"]).map { Array($0.utf8) }).ending == .status(0))
        let one = try box.run("encrypt", "--key-file", "other", "--remove-source", "a")
        #expect(one.ending == .status(73) && box.bytes("a") != nil)
        let again = try box.run((["encrypt"] + both + ["--remove-source", "a"]).map { Array($0.utf8) })
        #expect(again.ending == .status(0) && box.bytes("a") == nil)
    }

    @Test(
        "decrypt: the container goes if the plaintext beside it is all of it",
        arguments: [
            (":", Int32(0)), ("printf contentz >a", 73), ("touch -d 2001-02-03 a", 73), ("chmod 600 a", 73),
            // One byte could be the one that is there.
            ("printf 0123456789abcdef | dd of=a.vault conv=notrunc bs=1 seek=600", 65), ("cp other key", 77),
        ])
    func decrypting(_ script: String, _ status: Int32) throws {
        try box.makeKey()
        try box.makeKey("other")
        #expect(try box.run("encrypt", "a", environment: Self.key).ending == .status(0))
        try shell(script)
        let outcome = try box.run("decrypt", "--remove-source", "a.vault", environment: Self.key)
        #expect(outcome.ending == .status(status), "\(outcome.errors)")
        #expect((box.bytes("a.vault") == nil) == (status == 0))
        #expect(box.bytes("a")?.count == 8)
    }

    @Test("a file that is overwritten in place while it is read gives a warning", arguments: [false, true])
    func overwritten(_ json: Bool) throws {
        try box.makeKey()
        try box.write(Array("big".utf8), [UInt8](repeating: 1, count: 32 << 20))
        let change = "printf x | dd of=big conv=notrunc bs=1 count=1 2>/dev/null; touch -r ref big"
        let outcome = try box.start(
            ["encrypt", json ? "--json" : "-q", "--key-file", "key", "big"].map { Array($0.utf8) },
            prelude: "touch -r big ref && { (i=0; "
                + "while [ ! -e big.vault ] && [ $((i += 1)) -lt 100000 ]; do \(change); done) & }"
        ).end()
        #expect(outcome.ending == .status(0))
        #expect(outcome.errors.contains("warning: it changed while it was read"))
        #expect(!json || outcome.errors.contains("\"status\":\"warning\""))
        // A file that nobody changes gives none.
        let quiet = try box.run("encrypt", "-f", "--key-file", "key", "a")
        #expect(quiet.ending == .status(0) && quiet.errors == "")
    }
}
