/// What a container can say about the file that it holds (MAN-7 to MAN-10).
///
/// All of it comes from the maker of the container, who may be hostile. A program decides itself whether it uses the
/// name as an output path or applies the permissions (MAN-19).
public struct Metadata: Hashable, Sendable {
    /// The content type: 1 to 127 characters from U+0020 to U+007E (MAN-7).
    public var contentType: String?
    /// The file's name: one path component, 1 to 255 bytes of UTF-8. Its bytes are kept as they are.
    public var name: String?
    /// The time of the file's last modification (MAN-9).
    public var modified: Timestamp?
    /// The file's permission bits, none outside 0o777 (MAN-10).
    public var permissions: UInt16?

    /// Members that this library does not know, byte for byte. Re-encryption carries them over (REENC-8).
    package internal(set) var unknown = UnknownMembers()

    /// Metadata that says nothing.
    public init() {}

    /// The value of a member that this type has no property for.
    package func member(_ tag: UInt16) -> [UInt8]? { unknown.all.first { $0.tag == tag }?.value }

    /// - Parameter value: nil leaves the member out.
    package mutating func setMember(_ tag: UInt16, to value: [UInt8]?) { unknown.set(tag, to: value) }

    private static let signatures: UInt16 = 0x8010

    /// Whether there are signatures over the plaintext and the other members (Spec, chapter 25).
    public var hasSignatures: Bool { member(Self.signatures) != nil }

    /// Leaves out all signatures (SIG-9).
    package mutating func removeSignatures() { setMember(Self.signatures, to: nil) }

    /// Whether the format can hold this name: 1 to 255 bytes of UTF-8, no control character (U+0000 to U+001F,
    /// U+007F), no `/` or `\`, not `.` or `..`.
    public static func isValidName(_ name: String) -> Bool {
        let bytes = [UInt8](name.utf8)
        guard (1...255).contains(bytes.count), bytes != [0x2E], bytes != [0x2E, 0x2E] else { return false }
        return bytes.allSatisfy { $0 > 0x1F && $0 != 0x7F && $0 != 0x2F && $0 != 0x5C }
    }

    /// The name of these bytes; nil if the format cannot hold it.
    package static func name(_ bytes: [UInt8]) -> String? {
        String(validating: bytes, as: UTF8.self).flatMap { isValidName($0) ? $0 : nil }
    }

    /// Whether the format can hold this content type: 1 to 127 characters from U+0020 to U+007E (MAN-7).
    public static func isValidContentType(_ text: String) -> Bool {
        isValidContentType([UInt8](text.utf8))
    }

    static func isValidContentType(_ bytes: [UInt8]) -> Bool {
        (1...127).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// - Throws: `invalidArgument` if the format cannot hold one of the values (WRITE-12).
    package func validate() throws(VaultError) {
        if let contentType, !Self.isValidContentType(contentType) {
            throw VaultError(.invalidArgument, "a content type has 1 to 127 printable ASCII characters")
        }
        if let name, !Self.isValidName(name) {
            throw VaultError(.invalidArgument, "a name is one path component of valid UTF-8, 1 to 255 bytes")
        }
        if let permissions, permissions & ~0o777 != 0 {
            throw VaultError(.invalidArgument, "permissions have no bits outside 0o777")
        }
    }
}
