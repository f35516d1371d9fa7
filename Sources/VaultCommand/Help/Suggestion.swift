/// What a user meant who mistyped a word.
enum Suggestion {
    /// Words from other programs, and the command that does the same here.
    private static let others = [
        "": [
            "-c": "encrypt", "-e": "encrypt", "--encrypt": "encrypt", "-d": "decrypt", "-x": "decrypt",
            "--decrypt": "decrypt", "-l": "ls", "list": "ls", "view": "cat", "version": "--version",
            "-V": "--version", "restore": "extract", "unpack": "extract", "untar": "extract", "check": "verify",
            "test": "verify", "info": "inspect",
            "show": "inspect", "rekey": "rotate", "fix": "repair", "generate": "key generate", "keygen": "key generate",
            "import": "key import", "export": "key export", "passwd": "key passphrase",
            "passphrase": "key passphrase", "unlock": "key unlock", "lock": "key lock",
        ],
        "store": [
            "ls": "list", "rm": "remove", "delete": "remove", "add": "put", "mv": "move", "rename": "move",
            "cat": "get", "new": "create", "init": "create", "make": "create", "info": "status", "verify": "check",
            "destroy": "wipe", "passwd": "passphrase", "password": "passphrase",
        ],
        "key": [
            "ls": "list", "new": "generate", "create": "generate", "make": "generate", "gen": "generate",
            "add": "import", "rm": "destroy", "delete": "destroy", "remove": "destroy", "passwd": "passphrase",
            "password": "passphrase", "id": "show", "rotate": "generate",
        ],
    ]

    /// The command that a word is meant to be.
    ///
    /// - Parameters:
    ///   - names: The commands that the word could be.
    ///   - parent: The command before the word; empty for none.
    /// - Returns: Nil if no command is near.
    static func command(for word: String, among names: [String], of parent: String) -> String? {
        if let other = others[parent]?[word] { return other }
        let beginnings = names.filter { word.count > 1 && $0.hasPrefix(word) }
        if let only = beginnings.first, beginnings.count == 1 { return only }
        return nearest(to: word, among: names)
    }

    /// The name nearest to a word; nil if none is near.
    static func nearest(to word: String, among names: [String]) -> String? {
        let near = names.map { (name: $0, distance: distance(word, $0)) }.filter { isNear(word, $0.name, $0.distance) }
        return near.min { $0.distance < $1.distance }?.name
    }

    /// Whether a suggestion of this name helps. A name that shares little with the word only misleads.
    static func isNear(_ word: String, _ name: String) -> Bool { isNear(word, name, distance(word, name)) }

    private static func isNear(_ word: String, _ name: String, _ distance: Int) -> Bool {
        distance <= (min(word.count, name.count) < 5 ? 1 : 2)
    }

    /// How many letters have to be added, removed, changed or swapped with their neighbour.
    private static func distance(_ first: String, _ second: String) -> Int {
        // Longer words are no mistyped names, and the time grows with the product of the lengths.
        let (first, second) = (Array(first.unicodeScalars.prefix(40)), Array(second.unicodeScalars.prefix(40)))
        var rows = [Array(0...second.count)]
        for (i, letter) in first.enumerated() {
            var row = [i + 1]
            for (j, other) in second.enumerated() {
                var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == second[j - 1], first[i - 1] == other {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
