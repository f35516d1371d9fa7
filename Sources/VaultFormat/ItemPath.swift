/// The path of an item of a store: a member of its manifest (Spec, chapter 26).
package enum ItemPath {
    static let tag: UInt16 = 0x8056
    /// The most bytes of a path.
    package static let longest = 255

    /// Whether these bytes have the form of a path (PATH-1).
    package static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        (1...longest).contains(bytes.count) && String(validating: bytes, as: UTF8.self) != nil
            && PathForm.hasLegalComponents([UInt8](bytes))
    }
}

extension Metadata {
    /// The path of the item; nil if there is none, or if its form is wrong (PATH-1).
    package var itemPath: [UInt8]? {
        member(ItemPath.tag).flatMap { ItemPath.isValid($0) ? $0 : nil }
    }

    /// What the manifest of a new item says.
    package init(itemPath: [UInt8]) {
        self.init()
        unknown.keep(ItemPath.tag, itemPath.span)
    }
}
