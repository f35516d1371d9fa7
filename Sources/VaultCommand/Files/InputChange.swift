internal import SystemPackage
internal import VaultFile
internal import VaultSystem

extension Input {
    /// Warns if the file changed while it was read: what was read may mix its states at different times.
    func warnIfChanged(read length: UInt64, hint: Hint, _ console: Console) {
        guard canSeek, let before = size, let now = try? descriptor.stat() else { return }
        // The size of a file in /proc is always 0.
        if now.size != stat.size || before > 0 && length != before {
            console.warn(
                subject, "its size changed while it was read: \(length) bytes were taken", hint: hint)
        } else if now.modified != stat.modified || now.changed != stat.changed {
            console.warn(
                subject, "it changed while it was read: older and newer bytes may be mixed", hint: hint)
        }
    }
}

extension Metadata {
    /// Whether it says the same of a file. The index of a tar stream, which the stream itself gives, makes no difference.
    func describes(as other: Metadata, withIndex: Bool) -> Bool {
        guard withIndex else { return self == other }
        return name == other.name && modified == other.modified && permissions == other.permissions
            && contentType == other.contentType
    }
}
