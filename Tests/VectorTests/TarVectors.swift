import Testing
import VaultFile
import VaultTestSupport

@testable import VaultTar

/// Every vector for the index of a tar stream (Spec, chapter 24).
@Suite struct TarVectors {
    @Test func thereAreVectors() {
        #expect(Vector.tarStreams.count > 25 && Vector.tarIndexes.count > 50 && Vector.tarMembers.count > 100)
    }

    @Test(arguments: Vector.tarStreams) func making(_ vector: Vector) throws {
        for pieceLength in [1, 511, 4096, 1 << 20] {
            var maker = TarIndexMaker()
            var rest = vector.container[...]
            // A large stream in small pieces takes long.
            guard pieceLength > 1 || rest.count < 1 << 20 else { continue }
            while !rest.isEmpty {
                let piece = [UInt8](rest.prefix(pieceLength))
                maker.take(piece.span)
                rest = rest.dropFirst(pieceLength)
            }
            let value = try? maker.finish()
            try Self.check(value.flatMap(TarIndex.init(value:)), vector)
            #expect(vector.value("index-length") == value.map { String($0.count) })
            #expect(vector.value("index-sha256") == value.map { sha256($0).hexDigits })
        }
    }

    @Test(arguments: Vector.tarIndexes) func reading(_ vector: Vector) throws {
        let reader = try SeekableVaultReader(MemorySource(vector.container), with: vector.credentials())
        try Self.check(reader.opened.manifest.tarIndex, vector)
        #expect(reader.opened.manifest.hasMalformedTarIndex == (vector.value("index") == "absent"))
    }

    @Test(arguments: Vector.tarMembers) func finding(_ vector: Vector) throws {
        let reader = try SeekableVaultReader(MemorySource(vector.container), with: vector.credentials())
        let path = try #require(vector.bytes("path").flatMap { TarPath($0) })
        let isByStream = vector.value("by") == "stream"
        let index = isByStream ? nil : reader.opened.manifest.tarIndex
        try #require(isByStream || index != nil)
        var found: TarEntry?
        let code = try StoredContainer.code {
            do {
                found = try reader.tarSource.find(path, index: index)
                // A hard link has the content of what it leads to (TAR-12).
                while let link = found, link.kind == .hardLink {
                    found = try TarPath(trimming: link.linkTarget).flatMap {
                        try reader.tarSource.find($0, index: index, before: link.place)
                    }
                }
            } catch is NotTar {
                found = nil
            }
        }
        #expect(code?.name ?? "done" == vector.value("result"))
        if code != nil { found = nil }
        let content = try found.map { try reader.bytes($0.contentOffset..<$0.contentOffset + $0.contentLength) }
        #expect(vector.value("plaintext-length") == content.map { String($0.count) })
        #expect(vector.value("plaintext-sha256") == content.map { sha256($0).hexDigits })
    }

    private static func check(_ index: TarIndex?, _ vector: Vector) throws {
        guard let index else {
            #expect(vector.value("index") == "absent")
            return
        }
        #expect(vector.value("index") == "\(1 << index.stepExponent) \(index.isSorted ? 1 : 0) \(index.streamCount)")
        var entries: [String] = []
        index.forEach { entry in
            entries.append("\(entry.place) \(entry.path.bytes.hexDigits)")
            return true
        }
        #expect(entries.count == index.count)
        #expect((entries.count < 100 ? entries : []) == vector.values("index-entry"))
    }
}
