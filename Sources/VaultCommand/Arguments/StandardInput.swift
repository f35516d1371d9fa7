internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Standard input can be read only once, whatever names the command line has for it.
enum StandardInput {
    /// A word of the command line that means standard input.
    struct Use {
        /// As it was typed.
        let text: String
        /// The key or passphrase that is read there; nil for data and for lists.
        var secret: KeyArgument.Source?
    }

    /// Refuses more than one use: the second reader would find nothing, or read a key as a passphrase. The same secret
    /// named twice is one use: it is read once, or it is a descriptor, which gives the next line each time.
    static func refuseShared(_ uses: [Use]) throws(Failure) {
        guard let first = uses.first,
            uses.dropFirst().contains(where: { $0.secret == nil || $0.secret != first.secret })
        else { return }
        let texts = uses.map(\.text).joined(separator: " and ")
        throw Failure(.usage, .standardInput, "can have one use, not \(texts)")
    }

    /// Whether reading the descriptor takes bytes away from standard input.
    static func isShared(_ number: Int32) -> Bool {
        guard number != 0 else { return true }
        guard let there = try? FileDescriptor(rawValue: number).stat() else { return false }
        return isSame(there)
    }

    /// Whether this is standard input. `/dev/null` and the like do not count: reading them twice loses no bytes.
    fileprivate static func isSame(_ stat: Stat) -> Bool {
        guard let own = try? FileDescriptor.standardInput.stat(), FileIdentity(own) == FileIdentity(stat) else {
            return false
        }
        return own.type != .characterSpecial || Platform.isTerminal(.standardInput)
    }
}

extension PathArgument {
    /// Whether it is standard input, as `-` or under another name.
    var isStandardInput: Bool {
        if isDash { return true }
        guard let there = try? path.stat(), StandardInput.isSame(there) else { return false }
        // A regular file that is opened by its own name is read from its beginning, even if it is also standard input.
        // A name in these folders may be the descriptor itself, with a shared offset.
        return there.type != .regular
            || [Array("/dev/".utf8), Array("/proc/".utf8)].contains(where: bytes.starts(with:))
    }
}
