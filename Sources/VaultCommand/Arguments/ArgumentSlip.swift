/// What people type that no option means, named better than the parser does: it would repeat the argument, and that may
/// be a passphrase.
struct ArgumentSlip {
    let option: String
    let reason: String
    let hint: String

    /// Looked for where the parser has refused the arguments; nil where none is found.
    init?(_ arguments: [[UInt8]]) {
        for argument in arguments.prefix(while: { $0 != Array("--".utf8) }) {
            if argument.starts(with: Array("--passphrase=".utf8)) {
                self.init(passphraseBehind: "--passphrase")
                return
            }
            guard argument.first == UInt8(ascii: "-"), argument.dropFirst().first != UInt8(ascii: "-") else { continue }
            let flags = Array("fqvh".utf8)
            let rest = argument.dropFirst().drop { flags.contains($0) }
            // Options that are joined as they may be.
            guard rest.count > 1, !rest.allSatisfy({ (flags + Array("po".utf8)).contains($0) }) else { continue }
            if rest.first == UInt8(ascii: "p") {
                self.init(passphraseBehind: "-p")
                return
            }
            if rest.first == UInt8(ascii: "o"), rest.startIndex > 1 {
                self.init(
                    option: "-o", reason: "takes a joined name only where no other option stands before it",
                    hint: "write the other options apart, as in -f -oFILE")
                return
            }
        }
        return nil
    }

    private init(option: String, reason: String, hint: String) {
        self.option = option
        self.reason = reason
        self.hint = hint
    }

    private init(passphraseBehind option: String) {
        self.init(
            option: option,
            reason: "takes no value: no passphrase is read from an argument, where others could see it",
            hint: "-p asks for it; --passphrase-file and --passphrase-fd read it")
    }
}
