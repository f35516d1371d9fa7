import SystemPackage
import Testing

@testable import VaultCommand

/// What follows a container on the command line: paths of members, or other containers.
@Suite struct MemberOperandTests {
    private let key = ["VAULTFILE_KEY_FILE=key"]

    /// `docs` and `docs.tar.vault`; `plain.vault` of the same tar without an index; `note.vault` of a text; another key.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.makeKey("other")
        try box.shell("mkdir -p docs/sub; echo tax >docs/tax; seq 30000 >docs/sub/long; tar --sort=name -cf t.tar docs")
        try box.write("note", "text")
        #expect(try box.run("encrypt", "docs", "note", environment: key).ending == .status(0))
        #expect(try box.run("encrypt", "-o", "plain.vault", "t.tar", environment: key).ending == .status(0))
        return box
    }

    @Test("a tar without an index gives its members to cat and ls, whether or not they are files on the disk")
    func withoutIndex() throws {
        let box = try prepared()
        for _ in 0..<2 {
            let cat = try box.run("cat", "plain.vault", "docs/tax", environment: key)
            #expect(cat.ending == .status(0) && cat.text == "tax\n", "\(cat.errors)")
            let none = try box.run("cat", "plain.vault", "docs/none", environment: key)
            #expect(none.ending == .status(66) && none.output == [], "\(none.errors)")
            #expect(none.errors.contains("docs/none: is no member of plain.vault"))
            let list = try box.run("ls", "plain.vault", "docs/sub/long", environment: key)
            #expect(list.ending == .status(0) && list.text == "docs/sub/long\n", "\(list.errors)")
            let all = try box.run("ls", "--scan", "plain.vault", environment: key)
            #expect(all.ending == .status(0), "\(all.errors)")
            #expect(all.text == "docs\ndocs/sub\ndocs/sub/long\ndocs/tax\n")
            try box.shell("rm -r docs")
        }
        // A folder without containers means a member, and one with containers is listed.
        try box.shell("mkdir -p docs/sub")
        let folder = try box.run("ls", "plain.vault", "docs/sub", environment: key)
        #expect(folder.ending == .status(0) && folder.text == "docs/sub\ndocs/sub/long\n", "\(folder.errors)")
        try box.shell("cp note.vault docs/sub; cp plain.vault p.tar.vault")
        let inputs = try box.run("ls", "plain.vault", "docs/sub", environment: key)
        #expect(inputs.ending == .status(0) && inputs.text.hasSuffix("  docs/sub/note.vault\n"), "\(inputs.errors)")
        let alone = try box.run("ls", "p.tar.vault", environment: key)
        #expect(alone.ending == .status(0) && alone.text.hasSuffix("  p.tar.vault\n"))
        #expect(alone.errors.contains("has no index of its members\nvaultfile: hint: vaultfile ls --scan lists them\n"))
        #expect(try box.run("ls", "--scan", "note", environment: key).ending == .status(64))
        let text = try box.run("ls", "--scan", "note.vault", environment: key)
        #expect(text.ending == .status(64) && text.errors.contains("its contents are not a tar stream"))
    }

    @Test("a container that does not open ends the run with its own error, as for extract") func errors() throws {
        let box = try prepared()
        for verb in ["cat", "ls", "extract"] {
            let shut = try box.run(
                verb, "docs.tar.vault", "docs/tax", environment: ["VAULTFILE_KEY_FILE=other"])
            #expect(shut.ending == .status(77) && shut.output == [], "\(verb) \(shut.errors)")
            #expect(shut.errors.hasPrefix("vaultfile: docs.tar.vault: ") && !shut.errors.contains("docs/tax"))
        }
        try box.shell("truncate -s 100000 docs.tar.vault")
        for verb in ["cat", "ls", "extract"] {
            let cut = try box.run(verb, "docs.tar.vault", "docs/tax", environment: key)
            #expect(cut.ending == .status(65) && cut.output == [], "\(verb) \(cut.errors)")
            #expect(!cut.errors.contains("docs/tax"))
        }
        // ls needs no key to list containers. What exists as one is one.
        let list = try box.run("ls", "plain.vault", "note.vault")
        #expect(list.ending == .status(0) && list.text.contains("plain.vault\n") && list.text.contains("note.vault\n"))
        let typo = try box.run("ls", "plain.vault", "nots.vault")
        #expect(typo.ending == .status(66) && typo.text.contains("plain.vault\n"), "\(typo.errors)")
    }

    @Test("the contents of a whole container do not come out where a member was meant") func noMember() throws {
        let box = try prepared()
        let cat = try box.run("cat", "note.vault", "docs/tax", environment: key)
        #expect(cat.ending == .status(66) && cat.output == [])
        #expect(cat.errors.contains("docs/tax: is no container, and no member of note.vault"), "\(cat.errors)")
        let two = try box.run("cat", "note.vault", "note.vault", environment: key)
        #expect(two.ending == .status(0) && two.text == "texttext")
        for names in [["docs/tax"], ["docs/tax", "docs/none"], ["docs"]] {
            let whole = try box.run((["decrypt", "docs.tar.vault"] + names).map { Array($0.utf8) }, environment: key)
            #expect(whole.ending == .status(66) && box.bytes("docs.tar") == nil, "\(whole.errors)")
            #expect(whole.errors.contains("hint: vaultfile extract docs.tar.vault \(names[0]) takes it out"))
        }
        let absolute = try box.run("cat", "docs.tar.vault", "/docs/tax", environment: key)
        #expect(absolute.ending == .status(64) && absolute.errors.contains("/docs/tax: is absolute"))
        #expect(absolute.errors.contains("hint: vaultfile decrypt -o - docs.tar.vault | tar -x"))
    }

    @Test("on a terminal, the hint for a member that is no text names extract, with a name that a shell takes")
    func terminal() throws {
        let box = try prepared()
        try box.shell("printf '\\001' >\"docs/it's\"; rm docs.tar.vault")
        try box.run("encrypt", "docs", environment: key)
        let terminal = try PseudoTerminal()
        let refused = try box.start(
            ["cat", "docs.tar.vault", "docs/it's"].map { Array($0.utf8) }, prelude: "exec >/dev/tty", environment: key,
            terminal: terminal
        ).end()
        #expect(refused.ending == .status(64), "\(refused.errors)")
        let command = "vaultfile extract docs.tar.vault $'docs/it\\'s'"
        let hint = "hint: --force shows it anyway; \(command) takes it out\n"
        #expect(refused.errors.contains(hint), "\(refused.errors)")
    }

    @Test("names are quoted so that a shell takes each as one word") func quoting() throws {
        for name in [
            "a b", "it's", "'; echo evil; '", "$(echo evil)", "`x`", "a\nb", "back\\slash", "-x", "*", "\u{7}",
            "a'\u{301};echo evil;#", "\\'\u{301};echo evil;#", "x\\\u{301}'\u{301}$(echo evil)",
        ] {
            let word = Hint.quoted(Escaping.line(Array(name.utf8)))
            let read = try Sandbox.shell("exec bash -c \"printf '%s|' $1\"", [Array(word.utf8)])
            #expect(Array(read.utf8) == Array((name + "|").utf8), "\(word)")
        }
        // What nobody sees is shown by its number, so it does not come back. It still ends no quotes.
        let unseen = Escaping.line(Array("'\u{200D}'\u{FE0F};evil".utf8))
        let read = try Sandbox.shell("exec bash -c \"printf '%s|' $1\"", [Array(Hint.quoted(unseen).utf8)])
        #expect(read == unseen + "|")
    }

    @Test("of a few bytes of a container, no hint promises that a command saves something", arguments: [0, 400, 3000])
    func rest(_ count: Int) throws {
        let box = try prepared()
        try box.shell("truncate -s \(count) docs.tar.vault")
        for verb in ["decrypt", "verify", "extract", "repair", "cat"] {
            let outcome = try box.run(verb, "docs.tar.vault", environment: key)
            #expect(outcome.ending == .status(65), "\(verb) \(outcome.errors)")
            #expect(outcome.errors.contains("without a header copy nothing can be saved"), "\(verb) \(outcome.errors)")
            #expect(!outcome.errors.contains("vaultfile recover") && !outcome.errors.contains("vaultfile extract"))
            if count == 0 { #expect(outcome.errors.contains("the file is empty"), "\(outcome.errors)") }
        }
    }
}
