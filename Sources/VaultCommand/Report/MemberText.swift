internal import VaultFile

/// A member of a tar stream, for `--json`.
struct MemberReport: Encodable {
    var name: String?
    var nameBase64: String?
    var kind: String
    var length: UInt64
    var mode: String?
    var modified: String?
    var modifiedSeconds: Int64?
    var modifiedNanoseconds: UInt32?
    var userID: UInt64?
    var groupID: UInt64?
    var target: String?
    var targetBase64: String?
    var sparse: Bool?

    init(_ entry: TarEntry) {
        (name, nameBase64) = Report.text(of: entry.path?.bytes ?? entry.name)
        kind = entry.kind.word
        length = entry.kind == .file ? entry.fileLength : 0
        mode = entry.permissions.map(Self.octal)
        modified = entry.modified?.utc
        modifiedSeconds = entry.modified?.seconds
        modifiedNanoseconds = entry.modified?.nanoseconds
        userID = entry.userID
        groupID = entry.groupID
        if entry.kind.isLink { (target, targetBase64) = Report.text(of: entry.linkTarget) }
        if entry.isSparse { sparse = true }
    }

    /// A mode in four octal digits.
    private static func octal(_ bits: UInt16) -> String {
        let digits = String(bits, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension TarEntry {
    /// The line that `ls -l` shows.
    var line: String {
        let size = kind == .file ? "\(fileLength)" : "0"
        let owner = "\(userID.map { "\($0)" } ?? "?")/\(groupID.map { "\($0)" } ?? "?")"
        var text = kind.letter + (permissions.map(Self.letters) ?? "?????????")
        text += "  " + Self.padded(owner, 11) + Self.padding(size, 14) + size
        text += "  " + Self.padded(modified?.utc ?? "?", 20) + "  " + Escaping.line(path?.bytes ?? name)
        switch kind {
        case .symbolicLink: return text + " -> " + Escaping.line(linkTarget)
        case .hardLink: return text + " link to " + Escaping.line(linkTarget)
        default: return text
        }
    }

    private static func padding(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    private static func padded(_ text: String, _ width: Int) -> String { text + padding(text, width) }

    /// Nine letters, as `ls` of the system shows a mode.
    private static func letters(_ bits: UInt16) -> String {
        var text = ""
        for (shift, special, letter) in [(6, 0o4000, "s"), (3, 0o2000, "s"), (0, 0o1000, "t")]
            as [(UInt16, UInt16, String)]
        {
            let three = bits >> shift
            text += three & 4 != 0 ? "r" : "-"
            text += three & 2 != 0 ? "w" : "-"
            let runs = three & 1 != 0
            text += bits & special != 0 ? runs ? letter : letter.uppercased() : runs ? "x" : "-"
        }
        return text
    }
}

extension TarEntry.Kind {
    /// The word for reports.
    var word: String {
        switch self {
        case .file: "file"
        case .hardLink: "hardLink"
        case .symbolicLink: "symbolicLink"
        case .folder: "folder"
        case .characterDevice: "characterDevice"
        case .blockDevice: "blockDevice"
        case .pipe: "pipe"
        case .other: "other"
        }
    }

    fileprivate var letter: String {
        switch self {
        case .file: "-"
        case .hardLink: "h"
        case .symbolicLink: "l"
        case .folder: "d"
        case .characterDevice: "c"
        case .blockDevice: "b"
        case .pipe: "p"
        case .other: "?"
        }
    }
}
