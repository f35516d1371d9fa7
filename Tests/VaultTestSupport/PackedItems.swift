import VaultCrypto
import VaultFile
import VaultStream

/// A packed stream, item by item, whose every part a test decides.
package struct PackedItems {
    package struct Item {
        package var method: UInt8
        /// The stated length; nil for the actual length of the body.
        package var statedCount: Int?
        package var body: [UInt8]

        package init(_ method: UInt8, statedCount: Int? = nil, _ body: [UInt8]) {
            self.method = method
            self.statedCount = statedCount
            self.body = body
        }

        package var bytes: [UInt8] {
            let count = statedCount ?? body.count
            return [method, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] + body
        }
    }

    package var items: [Item]
    package var indexOffsets: [UInt64] = []

    package init(items: [Item]) {
        self.items = items
    }

    /// The right items, in one group.
    package init(_ plaintext: [UInt8], chunk: Int) throws {
        let packer = try BlockPacker()
        items = try stride(from: 0, to: plaintext.count, by: chunk).map { start in
            let block = [UInt8](plaintext[start..<min(start + chunk, plaintext.count)])
            var item = try ByteBuffer(count: 4 + block.count)
            let count = try packer.pack(block.span, into: &item, at: 0)
            return Item(item.copy(of: 0..<1)[0], item.copy(of: 4..<4 + count))
        }
        addIndex()
    }

    /// Appends the index item for the blocks.
    package mutating func addIndex() {
        items.removeAll { $0.method == 2 }
        indexOffsets = items.isEmpty ? [] : [UInt64(bytes.count)]
        guard !items.isEmpty else { return }
        items.append(Item(2, items.flatMap { $0.bytes[1...3] }))
    }

    package var bytes: [UInt8] { items.flatMap(\.bytes) }
}
