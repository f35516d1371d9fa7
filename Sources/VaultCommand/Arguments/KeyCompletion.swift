internal import ArgumentParser
internal import Synchronization
internal import SystemPackage
internal import VaultSystem

/// What a shell offers for a word that names a key. The shell calls the program for it.
enum KeyCompletion {
    /// Returns the names of the keys in the keyring, without a question.
    private static let names = Mutex<@Sendable () -> [String]>({ [] })

    /// Says how to find the names, before a word is completed.
    static func find(_ find: @escaping @Sendable () -> [String]) {
        names.withLock { $0 = find }
    }

    /// For options and operands that take a key of the keyring.
    static var ofName: CompletionKind { .custom { _, _, _ in keyNames() } }

    /// For options that take K.
    static var ofWord: CompletionKind {
        .custom { _, _, prefix in
            guard let colon = prefix.firstIndex(of: ":") else { return keyNames() + ["passphrase"] + schemes }
            let scheme = String(prefix[...colon])
            return withPath.contains(scheme)
                ? paths(beginningWith: String(prefix[colon...].dropFirst())).map { scheme + $0 } : []
        }
    }

    /// The kinds of K that have a value.
    static let schemes = [
        "file:", "command:", "passphrase-file:", "passphrase-fd:", "recipient:", "recipients-file:", "identity-file:",
        "identity-command:",
    ]
    private static let withPath = ["file:", "passphrase-file:", "recipients-file:", "identity-file:"]

    private static func keyNames() -> [String] { names.withLock { $0 }() }

    /// The paths that begin so; folders end with a slash.
    private static func paths(beginningWith text: String) -> [String] {
        let name = text.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let folder = String(text.dropLast(name.count))
        var found: [String] = []
        guard let open = try? OpenFolder(at: FilePath(folder.isEmpty ? "." : folder)) else { return [] }
        try? open.forEachName { entry, kind in
            guard let entry = String(validating: entry, as: UTF8.self), entry.hasPrefix(name) else { return }
            found.append(folder + entry + (kind == .folder ? "/" : ""))
        }
        return found.sorted()
    }

    /// A completion script of the parser, with what it lacks: no space after `file:` or a folder, because more follows;
    /// and in zsh, a colon in a word is a part of the word.
    static func script(_ text: String) -> String {
        text.replacing(
            "done < <(IFS=$'\\n' compgen \"${@}\" -- \"${cur}\")\n",
            with: """
                done < <(IFS=$'\\n' compgen "${@}" -- "${cur}")
                    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
                    return 0

                """
        ).replacing(
            "        __vaultfile_complete \"${completions[@]:0:-1}\"\n",
            with: """
                        completions=("${(@)completions[@]:0:-1}")
                        compadd -S '' -- "${(@M)completions:#*[:/]}"
                        compadd -- "${(@)completions:#*[:/]}"

                """)
    }
}
