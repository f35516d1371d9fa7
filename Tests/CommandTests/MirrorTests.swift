import SystemPackage
import Testing
import VaultFile
import VaultSystem

@testable import VaultCommand

/// `--recursive -o FOLDER/`: outputs go into the same folders below FOLDER, and nowhere else.
@Suite struct MirrorTests {
    private let box: Sandbox
    private static let files = ["d/1", "d/a/2", "d/a/c/3", "d/b/4"]

    init() throws {
        box = try Sandbox()
        try box.makeKey()
        for folder in ["d", "d/a", "d/b", "d/empty", "d/a/c", "out", "back"] { try Host.makeFolder(box.path(folder)) }
        for file in Self.files { try box.write(file, "contents of \(file)") }
    }

    @discardableResult
    private func run(_ words: String...) throws -> Sandbox.Outcome {
        try box.run(words.map { Array($0.utf8) }, environment: ["VAULTFILE_KEY_FILE=key"])
    }

    @discardableResult
    private func sh(_ script: String) throws -> String {
        try Sandbox.shell("cd \"$1\" && " + script, [Array(box.folder.string.utf8)])
    }

    /// The files below a folder.
    private func tree(_ folder: String) throws -> [String] {
        try sh("cd \(folder) && find . ! -type d | LC_ALL=C sort").split(separator: "\n").map {
            String($0.dropFirst(2))
        }
    }

    @Test("a tree goes there and comes back, with its modes and times") func thereAndBack() throws {
        try sh("chmod 750 d/a && chmod 500 d/a/c && chmod 640 d/1 && ln -s ../1 d/a/link && touch -d 2001-02-03 d/b/4")
        defer { _ = try? sh("chmod -R u+w d out back") }
        let there = try run("encrypt", "--recursive", "-o", "out/", "d")
        #expect(there.ending == .status(0), "\(there.errors)")
        #expect(try tree("out") == Self.files.map { $0 + ".vault" })
        #expect(try tree("d").count == 5, "nothing is written beside the inputs")
        #expect(try [box.mode("out/d/a"), box.mode("out/d/a/c"), box.mode("out/d/1.vault")] == [0o750, 0o700, 0o640])
        let back = try run("decrypt", "--recursive", "-o", "back/", "out/d")
        #expect(back.ending == .status(0), "\(back.errors)")
        #expect(try tree("back") == Self.files)
        for file in Self.files { #expect(box.text("back/\(file)") == "contents of \(file)") }
        #expect(try box.mode("back/d/a") == 0o750 && box.mode("back/d/1") == 0o640)
        #expect(try box.stat("back/d/b/4").modified == box.stat("d/b/4").modified)
        // A second run finds the containers, and --update finds what changed.
        #expect(try run("encrypt", "--recursive", "-o", "out/", "d").errors.contains(": 4 encrypted before, "))
        try sh("echo changed >d/a/2 && touch -d '2 minutes' d/a/2")
        let nightly = try run("encrypt", "--recursive", "--update", "-o", "out/", "d")
        #expect(nightly.ending == .status(0) && nightly.errors.contains(": 1 encrypted, 3 encrypted before, "))
        #expect(try run("decrypt", "-o", "-", "out/d/a/2.vault").text == "changed\n")
    }

    @Test("what is in a folder goes directly into FOLDER if the folder is named by .") func direct() throws {
        for folder in ["d/.", "./d/a/.."] {
            #expect(try run("encrypt", "--recursive", "-o", "out/", folder).ending == .status(0))
            #expect(try tree("out") == Self.files.map { $0.dropFirst(2) + ".vault" })
            try sh("rm -r out/*")
        }
        #expect(try run("encrypt", "--recursive", "-o", "out/", "d//").ending == .status(0))
        #expect(try tree("out") == Self.files.map { $0 + ".vault" })
    }

    @Test("a source is removed once its container is durable below FOLDER") func removing() throws {
        #expect(try run("encrypt", "--recursive", "--remove-source", "-o", "out/", "d").ending == .status(0))
        #expect(try tree("d") == [] && tree("out").count == 4)
        #expect(try run("decrypt", "--recursive", "--restore-name", "-o", "back/", "out/d").ending == .status(0))
        #expect(try tree("back") == Self.files)
    }

    @Test("no output leaves FOLDER through a link", arguments: ["encrypt", "decrypt"]) func links(_ verb: String) throws
    {
        try run("encrypt", "--recursive", "-o", "out/", "d")
        try sh("mkdir elsewhere t t/d && ln -s ../../elsewhere t/d/a")
        let input = verb == "encrypt" ? "d" : "out/d"
        let outcome = try run(verb, "--recursive", "-o", "t/", input)
        #expect(outcome.ending == .status(73))
        #expect(outcome.errors.contains("vaultfile: t/d/a: is a link, and --recursive follows no links\n"))
        #expect(outcome.errors.contains(": 2 \(verb)ed, 2 failed"), "\(outcome.errors)")
        #expect(try tree("elsewhere") == [])
        try sh("rm -r t/d && ln -s ../elsewhere t/d")
        #expect(try run(verb, "--recursive", "-o", "t/", input).ending == .status(73))
        #expect(try tree("elsewhere") == [])
        // A link under an output's own name.
        try sh("rm t/d && mkdir t/d && ln -s ../../elsewhere/x t/d/1 && ln -s ../../elsewhere/x t/d/1.vault")
        #expect(try run(verb, "--recursive", "-o", "t/", input).ending == .status(73))
        #expect(try tree("elsewhere") == [])
        // FOLDER itself is what the user named.
        try sh("ln -s back here")
        #expect(try run(verb, "--recursive", "-o", "here/", input).ending == .status(0))
        #expect(try tree("back").count == 4)
    }

    @Test("a file in the place of a folder is not replaced") func files() throws {
        try sh("mkdir out/d && echo text >out/d/a")
        let outcome = try run("encrypt", "--recursive", "-o", "out/", "d")
        #expect(outcome.ending == .status(73) && outcome.errors.contains("vaultfile: out/d/a: is not a folder\n"))
        #expect(box.text("out/d/a") == "text\n")
    }

    @Test("FOLDER in an input is left out of it") func below() throws {
        try sh("mv out d/out && mkdir d/out/d && echo not mine >d/out/x")
        for _ in 1...2 {
            let outcome = try run("encrypt", "--recursive", "-o", "d/out/", "d")
            #expect(outcome.ending == .status(0))
            #expect(outcome.errors.hasPrefix("vaultfile: d/out/: is in the input d, and is left out of it\n"))
        }
        #expect(try tree("d/out") == Self.files.map { $0 + ".vault" } + ["x"])
    }

    @Test("FOLDER must not be the input or hold it") func above() throws {
        for (folder, input) in [("d/", "d"), ("./", "d"), ("d/", "d/a"), ("d/a/../", "d/.")] {
            let outcome = try run("encrypt", "--recursive", "-o", folder, input)
            #expect(outcome.ending == .status(64), "\(folder) \(input)")
            #expect(outcome.errors.contains("is or holds the input"), "\(outcome.errors)")
        }
        try box.write("list", "d\n")
        let listed = try run("encrypt", "--recursive", "--files-from", "list", "-o", "./")
        #expect(listed.ending == .status(64) && listed.errors.contains("is or holds the input"))
        #expect(try tree("d") == Self.files.map { String($0.dropFirst(2)) }.sorted())
    }

    @Test("two inputs must not become one output") func doubles() throws {
        try sh("mkdir e && cp -r d e/d && cp d/1 e/1")
        for inputs in [["d", "e/d"], ["d/1", "e/1"], ["d/.", "e"], ["d", "e/."]] {
            let words = ["encrypt", "--recursive", "-o", "out/"] + inputs
            let outcome = try box.run(words.map { Array($0.utf8) }, environment: ["VAULTFILE_KEY_FILE=key"])
            #expect(outcome.ending == .status(64), "\(inputs)")
        }
        #expect(try tree("out") == [])
        #expect(try run("encrypt", "--recursive", "-o", "out/", "d", "e/1").ending == .status(0))
        #expect(try tree("out").contains("1.vault") && tree("out").contains("d/1.vault"))
    }

    /// A disk that ignores case makes one folder of two. Here a hard fact stands for it: the same folder twice.
    @Test("two input folders that become one folder are refused if files may be replaced") func sharedFolders() throws {
        let walked = { (name: String) throws in
            let path = PathArgument(bytes: Array(box.path(name).string.utf8))
            let folder = try OpenFolder(at: path.path)
            let parts = WalkedFolder(
                name: Array("same".utf8), permissions: folder.permissions, identity: folder.identity)
            return FoundFile(folder: folder, name: Array("x".utf8), folders: [parts])
        }
        let out = PathArgument(bytes: Array((box.path("out").string + "/").utf8))
        for keepsApart in [true, false] {
            let mirror = try Mirror(out, keepingApart: keepsApart, synchronizes: true)
            _ = try mirror.place(Array("x".utf8), for: walked("d/a")).open(making: true)
            let refused = Result { try mirror.place(Array("x".utf8), for: walked("d/b")).open(making: true) }
            #expect(((try? refused.get()) == nil) == keepsApart)
        }
    }

    @Test("nonsense is refused") func usage() throws {
        for words in [
            ["encrypt", "--recursive", "-o", "out", "d"], ["encrypt", "--recursive", "-o", "-", "d"],
            ["encrypt", "--recursive", "-f", "-o", "out/", "d"], ["decrypt", "--recursive", "-f", "-o", "out/", "d"],
        ] {
            #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(64), "\(words)")
        }
        let nowhere = try run("encrypt", "--recursive", "-o", "none/", "d")
        #expect(nowhere.ending == .status(73) && nowhere.errors.contains("hint: make the folder first"))
        #expect(try run("encrypt", "--recursive", "-o", "key/", "d").ending == .status(73))
        #expect(try tree("out") == [] && box.bytes("none") == nil)
    }

    @Test("trees deeper than descriptors are held open, and paths longer than the system takes") func depth() throws {
        let name = String(repeating: "n", count: 30)
        try sh(
            """
            mkdir deep && cd deep && i=0 && while [ $i -lt 200 ]; do \
            mkdir \(name) && cd -P \(name) && echo $i >f && i=$((i+1)) || exit 1; done
            """)
        let words = ["encrypt", "--recursive", "--update", "--key-file", "key", "-o", "out/", "deep"]
        for ending in [": 200 encrypted, 690 bytes\n", ": 200 encrypted before\n"] {
            let outcome = try box.run(words.map { Array($0.utf8) }, prelude: "ulimit -n 180")
            #expect(outcome.ending == .status(0) && outcome.errors.hasSuffix(ending), "\(outcome.errors.suffix(300))")
        }
        #expect(try sh("find out -name f.vault | wc -l") == "200\n")
    }
}
