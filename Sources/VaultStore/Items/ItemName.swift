import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream
import VaultSystem

/// The name of an item: 1 to 255 bytes of UTF-8, in components with one `/` between any two (PATH-1).
struct ItemName: Hashable, Sendable {
    let text: String

    var bytes: [UInt8] { Array(text.utf8) }

    init(_ text: String) throws(StoreError) {
        guard ItemPath.isValid(Array(text.utf8)) else {
            throw StoreError(
                .invalidName, "a name has 1 to 255 bytes, and no component that is empty, \".\" or \"..\"")
        }
        self.text = text
    }

    /// Nil if the bytes do not have the form of a name.
    init?(bytes: [UInt8]) {
        guard ItemPath.isValid(bytes) else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// The name of its file (STORE-10). One look finds an item, and the folder does not show its name.
    func file(_ index: SymmetricKey) -> FilePath {
        let digest = BLAKE2b.digest(
            count: 16, label: "vaultstore1 item", key: index.secret, message: bytes.span)
        return FilePath(digest.hexadecimal + Self.ending)
    }

    static let ending = ".vault"

    /// Whether a file name has the form of an item's.
    static func isFile(_ name: [UInt8]) -> Bool {
        name.count == 32 + ending.utf8.count && name.suffix(ending.utf8.count).elementsEqual(ending.utf8)
            && name.prefix(32).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
