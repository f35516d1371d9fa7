import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultSystem

@testable import VaultCommand

/// The walk below a folder, and the order of the output of several threads.
@Suite struct FolderWalkTests {
    /// The paths below `root` of the files that a walk finds, and how many entries it passes over and reports.
    private func walk(
        _ root: FilePath, namesAtOnce: Int = 1 << 16, foldersHeldOpen: Int = 32,
        _ onFile: (String) throws -> Void = { _ in }
    ) throws -> (files: [String], passedOver: Int, failures: [Failure]) {
        var walk = try FolderWalk(
            PathArgument(bytes: Array(root.string.utf8)), namesAtOnce: namesAtOnce, foldersHeldOpen: foldersHeldOpen)
        var files: [String] = []
        var passedOver = 0
        var failures: [Failure] = []
        while let step = walk.next() {
            switch step {
            case .file(let path, let found):
                #expect(path.lastComponent == found.name)
                try found.folder.file(found.name).close()
                let name = String(decoding: path.bytes.dropFirst(root.string.utf8.count + 1), as: UTF8.self)
                files.append(name)
                try onFile(name)
            case .passedOver: passedOver += 1
            case .failed(let failure): failures.append(failure)
            case .folder, .other: Issue.record("only a walk of everything has these")
            }
        }
        return (files, passedOver, failures)
    }

    @Test("names come in the order of their bytes, however few are read at once", arguments: [1, 2, 3, 7, 1000])
    func order(_ namesAtOnce: Int) throws {
        let box = try Sandbox()
        let names = ["B", "a", "a b", "aa", "b", "z", "é", "~"] + (0..<20).map { "n\($0)" }
        for name in names { try box.write(name, "x") }
        for folder in ["c", "c/d", "e"] {
            try Host.makeFolder(box.path(folder))
            for name in ["1", "2", "3"] { try box.write("\(folder)/\(name)", "x") }
        }
        try Host.link(box.path("c/link"), to: "../e")
        let all = names + ["c/1", "c/2", "c/3", "c/d/1", "c/d/2", "c/d/3", "e/1", "e/2", "e/3"]
        let found = try walk(box.folder, namesAtOnce: namesAtOnce)
        #expect(found.files == all.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
        #expect(found.passedOver == 1 && found.failures.isEmpty)
    }

    @Test("folders deeper than descriptors are held open, and paths longer than the system takes") func depth() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("x", "contents")
        try box.run("encrypt", "--key-file", "key", "x")
        let name = String(repeating: "n", count: 30)
        try Sandbox.shell(
            """
            cd "$1" && mkdir top && cd top && i=0 && while [ $i -lt 200 ]; do \
            mkdir "$2" && cd -P "$2" && ln "$1/x.vault" a.vault && ln "$1/x.vault" z.vault && i=$((i+1)) || exit 1; done
            ln "$1/x" plain
            """, [Array(box.folder.string.utf8), Array(name.utf8)])
        for held in [0, 1, 2, 32, 199, 300] {
            let found = try walk(box.path("top"), foldersHeldOpen: held)
            #expect(found.files.count == 401 && found.failures.isEmpty)
            #expect(Set(found.files).count == 401)
        }
        let verified = try box.run(
            "verify", "--recursive", "--key-file", "key", "top", prelude: "ulimit -n 180")
        #expect(verified.ending == .status(0))
        #expect(verified.errors == "vaultfile: verify: 400 intact, 1 passed over, 3200 bytes\n")
        // Verbs that change containers in place reach them through their folder.
        let repaired = try box.run("repair", "-q", "--json", "--recursive", "--key-file", "key", "top")
        #expect(repaired.ending == .status(0) && repaired.errors.contains("\"outcomes\":{\"unchanged\":400}"))
        // Outputs are written through it, too.
        let encrypted = try box.run("encrypt", "--recursive", "--remove-source", "--key-file", "key", "top")
        #expect(encrypted.ending == .status(0), "\(encrypted.errors.suffix(200))")
        #expect(encrypted.errors.hasSuffix(": 1 encrypted, 400 passed over, 8 bytes\n"))
        let plain = try walk(box.path("top")).files.filter { $0.contains("/plain") }
        #expect(plain.count == 1 && plain[0].hasSuffix("/plain.vault"))
    }

    @Test("what changes meanwhile ends nothing") func changes() throws {
        let box = try Sandbox()
        for folder in ["a", "a/b", "a/b/c", "d"] {
            try Host.makeFolder(box.path(folder))
            for name in ["1", "2"] { try box.write("\(folder)/\(name)", "x") }
        }
        let root = Array(box.folder.string.utf8)
        // A folder that was removed, and a folder that was replaced by a link.
        let gone = try walk(box.folder) { name in
            guard name == "a/1" else { return }
            try Sandbox.shell("rm -r \"$1/a/b\" \"$1/d\" && ln -s a \"$1/d\"", [root])
        }
        #expect(gone.files == ["a/1", "a/2"] && gone.passedOver == 1 && gone.failures.isEmpty)
    }

    @Test("where the way back is cut, what is left is said") func moved() throws {
        let box = try Sandbox()
        for folder in ["a", "a/b", "a/b/c", "d", "elsewhere"] {
            try Host.makeFolder(box.path(folder))
            for name in ["1", "z"] { try box.write("\(folder)/\(name)", "x") }
        }
        let root = Array(box.folder.string.utf8)
        let found = try walk(box.folder, foldersHeldOpen: 1) { name in
            guard name == "a/b/c/1" else { return }
            try Sandbox.shell("mv \"$1/a/b/c\" \"$1/elsewhere/c\"", [root])
        }
        #expect(found.failures.count == 1)
        #expect(found.failures.first?.status == .noInput)
        #expect(found.files.contains("d/1") && found.files.contains("d/z"))
    }

    @Test("a container that comes in short reads is not taken for plaintext") func shortReads() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "-o", "container", "a")
        let input = try Input(PathArgument(bytes: [UInt8](box.path("container").string.utf8)))
        defer { input.close() }
        var calls = SystemCalls.current
        let readAt = unsafe calls.readAt
        unsafe calls.readAt = { unsafe readAt($0, UnsafeMutableRawBufferPointer(rebasing: $1.prefix(3)), $2) }
        let (isContainer, isPlaintext, prefix) = try SystemCalls.$current.withValue(calls) {
            (try Selection.containers.takes(input), try Selection.plaintexts.takes(input), input.prefix())
        }
        #expect(isContainer && !isPlaintext)
        #expect(prefix.count == KnownFormats.prefixLength)
    }

    @Test("threads speak in the order of their numbers, and who has much to say waits") func speaking() {
        let order = InputOrder(window: 8)
        let heard = Mutex<[Int]>([])
        let numbers = Mutex(0)
        let ended = Monitor(0)
        let total = 200
        for _ in 0..<5 {
            try? Thread.start {
                while true {
                    let number = numbers.withLock { number in
                        defer { number += 1 }
                        return number
                    }
                    guard number < total else { break }
                    order.waitToBegin(number)
                    if number % 3 == 0 { Host.pause(milliseconds: 1) }
                    order.end(number) { heard.withLock { $0.append(number) } }
                }
                ended.withLock { $0 += 1 }
            }
        }
        ended.wait { $0 == 5 ? () : nil }
        #expect(heard.withLock { $0 } == Array(0..<total))
    }
}
