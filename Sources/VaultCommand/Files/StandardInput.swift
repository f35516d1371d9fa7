internal import SystemPackage
internal import VaultFile

/// What else leads to standard input: it can be read once, under whatever name.
enum StandardInput {
    /// Whether reading the descriptor takes bytes away from standard input.
    static func isShared(_ number: Int32) -> Bool {
        guard number != 0 else { return true }
        guard let there = try? FileDescriptor(rawValue: number).stat() else { return false }
        return isSame(there)
    }

    /// Whether this is what stands behind standard input. Some devices are nobody's: `/dev/null` has no byte to lose.
    fileprivate static func isSame(_ stat: Stat) -> Bool {
        guard let own = try? FileDescriptor.standardInput.stat(), FileIdentity(own) == FileIdentity(stat) else {
            return false
        }
        return own.type != .characterSpecial || SystemCalls.isTerminal(.standardInput)
    }
}

extension PathArgument {
    /// Whether it is standard input: as `-`, or by another name for it.
    var isStandardInput: Bool {
        if isDash { return true }
        guard let there = try? path.stat(), StandardInput.isSame(there) else { return false }
        // A regular file under a name of its own is read from its own beginning; what is in these folders may be the
        // descriptor itself.
        return there.type != .regular
            || [Array("/dev/".utf8), Array("/proc/".utf8)].contains(where: bytes.starts(with:))
    }
}
