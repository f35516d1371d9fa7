public import VaultFormat

/// The text form of a pin: one line of Bech32, whose checksum recognises a mistyped or cut pin. The first byte that it
/// holds is the version of this form, 1; then come generation, commitment and MAC.
extension HeaderPin {
    private static let form = Bech32(prefix: "vaultfile-pin-")
    private static let version: UInt8 = 1

    /// The pin in 132 characters, without a line end. It begins with `VAULTFILE-PIN-1`.
    public var text: String {
        String(decoding: Self.form.text(of: [Self.version] + bytes, isUpper: true), as: UTF8.self)
    }

    /// The longest text that is a pin, in bytes, with a line end.
    public static let longestText = form.textCount(of: 1 + byteCount) + 2

    /// Reads a pin from its text, which is in upper case or in lower case. A line end may follow it.
    ///
    /// - Throws: `invalidArgument` for anything else, and for a pin of a later version.
    public init(text: String) throws(VaultError) {
        var line = [UInt8](text.utf8)
        if line.last == 0x0A {
            line.removeLast()
            if line.last == 0x0D { line.removeLast() }
        }
        let isUpper = line.first.map { (0x41...0x5A).contains($0) } ?? false
        guard let held = Self.form.bytes(of: line, isUpper: isUpper), held.count == 1 + Self.byteCount else {
            throw VaultError(.invalidArgument, "it is not the pin of a header, or it was mistyped or cut")
        }
        guard held.first == Self.version else {
            throw VaultError(.invalidArgument, "it is a pin of a later version")
        }
        guard let pin = HeaderPin(bytes: [UInt8](held.dropFirst())) else {
            throw VaultError(.invalidArgument, "it is a pin of generation 0, which no header has")
        }
        self = pin
    }
}
