import SystemPackage
import Testing

@testable import VaultCommand

/// Completions: the script runs in bash, and the other shells call the program in the same way.
@Suite struct CompletionTests {
    /// A folder with a keyring of the keys `home` and `work`, a destroyed one, and the files `safe.txt` and `secret`.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey("safe.txt")
        for name in ["home", "gone", "work"] {
            let made = try box.run("key", "generate", "--name", name, environment: environment)
            #expect(made.ending == .status(0))
        }
        #expect(try box.run("key", "destroy", "--yes", "gone", environment: environment).ending == .status(0))
        try box.write("secret", "x\n")
        try box.write("script", box.run("--generate-completion-script", "bash").text)
        return box
    }

    private let environment = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:safe.txt"]

    /// What bash offers for the last of these words.
    private func bash(_ words: [String], in box: Sandbox, _ environment: [String]) throws -> [String] {
        let script = """
            PATH="$1:$PATH"
            shift
            source ./script
            COMP_WORDS=(vaultfile "$@"); COMP_CWORD=$#; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
            compopt() { echo "compopt $*"; }
            _vaultfile vaultfile "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        try box.write("complete", script)
        let program = FilePath(try Sandbox.binary()).removingLastComponent().string
        let command = [box.folder.string] + environment + ["bash", "./complete", program] + words
        let text = try Sandbox.shell("cd \"$1\" && shift && exec env \"$@\"", command.map { Array($0.utf8) })
        return text.split(separator: "\n").map(String.init)
    }

    @Test("bash: names of keys, the kinds of K, files after a colon") func bash() throws {
        let box = try prepared()
        let kinds =
            ["passphrase", "file:", "command:", "passphrase-file:", "passphrase-fd:", "recipient:", "recipients-file:"]
            + ["identity-file:", "identity-command:"]
        #expect(try bash(["encrypt", "--key", ""], in: box, environment) == ["home", "work"])
        #expect(try bash(["encrypt", "-k", "w"], in: box, environment) == ["work"])
        #expect(try bash(["key", "use", ""], in: box, environment).contains("home"))
        #expect(try bash(["rotate", "--add", ""], in: box, environment) == ["home", "work"] + kinds)
        #expect(try bash(["rotate", "--remove", "fi"], in: box, environment) == ["compopt -o nospace", "file:"])
        // bash splits words at a colon.
        #expect(try bash(["rotate", "--add", "file", ":", "sa"], in: box, environment) == ["safe.txt"])
        // Without something that unlocks it, the keyring is not asked for.
        #expect(try bash(["encrypt", "--key", ""], in: box, ["VAULTFILE_KEYRING=ring"]) == [])
        #expect(try bash(["rotate", "--add", ""], in: box, ["VAULTFILE_KEYRING=ring"]) == kinds)
    }

    @Test("other shells: the whole word comes with its colon") func wholeWords() throws {
        let box = try prepared()
        try Host.makeFolder(box.path("seals"))
        func complete(_ prefix: String) throws -> [String] {
            try box.run(
                "---completion", "rotate", "--", "--add", "3", "\(prefix.count)", "vaultfile", "rotate", "--add",
                prefix,
                environment: environment + ["SAP_SHELL=fish"]
            ).text.split(separator: "\n").map(String.init)
        }
        #expect(try complete("").prefix(3) == ["home", "work", "passphrase"])
        #expect(try complete("file:se") == ["file:seals/", "file:secret"])
        #expect(try complete("recipients-file:sa") == ["recipients-file:safe.txt"])
        #expect(try complete("identity-file:sec") == ["identity-file:secret"])
        #expect(try complete("file:./saf") == ["file:./safe.txt"])
        #expect(try complete("command:x") == [])
        for shell in ["zsh", "fish"] {
            #expect(try box.run("--generate-completion-script", shell).text.contains("---completion"))
        }
        // zsh would take what follows a colon for a description of the word.
        let zsh = try box.run("--generate-completion-script", "zsh").text
        #expect(zsh.contains("        compadd -S '' -- \"${(@M)completions:#*[:/]}\"\n        compadd -- "))
    }
}
