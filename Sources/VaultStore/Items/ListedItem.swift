import SystemPackage
import VaultFile
import VaultFormat
import VaultStream

/// One line of a list: what the front header and the footer of an item say.
enum ListedItem {
    /// Longer than the header of an item with a short name, and one page.
    private static let prefixCount = 4096

    /// Reads an item for a list, with one read of the front header and one of the footer if nothing is unusual.
    ///
    /// - Throws: as `FoundItem`.
    static func read(_ file: FilePath, in folder: FileDescriptor, by opener: ItemOpener) throws -> StoreItem {
        if let item = try quick(file, in: folder, by: opener) { return item }
        let found = try FoundItem(file, in: folder, expecting: nil, by: opener)
        defer { found.end() }
        return found.item
    }

    /// Nil if the item has to be opened to know more.
    private static func quick(_ file: FilePath, in folder: FileDescriptor, by opener: ItemOpener) throws -> StoreItem? {
        let source = try FoundItem.source(file, in: folder)
        let size = try source.size()
        let front = try source.bytes(at: 0, count: Int(min(size, UInt64(prefixCount))))
        guard let capacity = HeaderCopy.claimedCapacity(front[...]), capacity.bytes <= front.count else { return nil }
        let bytes = Array(front.prefix(capacity.bytes))
        guard KeySchedule.isIntact(bytes), size >= Footer.leastContainer,
            let header = try? HeaderCopy(parsing: bytes), header.preamble.compression == .none
        else { return nil }
        let end = try source.bytes(at: size - UInt64(Footer.count), count: Footer.count)
        guard let footer = try? Footer(parsing: end, fileSize: size),
            let layout = ContainerLayout(
                capacity: capacity, chunkSize: header.preamble.chunkSize, manifestOffset: footer.manifestOffset)
        else { return nil }
        return try opener.gate.withKeys { available in
            var trials = SlotTrials(Credentials(available, context: opener.context))
            // What does not open may open by the other copy, and an error wants a second look.
            guard let opened = try? trials.open([header]),
                let protection = available.protection(of: header), available.current[protection] != nil,
                let name = try ItemLabel.name(in: header, opened.fileKey), name.file(opener.index) == file
            else { return nil }
            return StoreItem(
                name: name.text, protection: protection, length: layout.streamLength,
                version: StoreItem.Version(header.preamble))
        }
    }
}
