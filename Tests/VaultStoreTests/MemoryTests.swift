#if os(Linux)
internal import CPlatform
internal import CSodium
import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// After `lock`, the memory of the process holds no key of the locked class, and no key of an item of it.
@Suite(.serialized) struct MemoryTests {
    /// A secret that this test looks for, without a copy of the secret itself.
    private struct Masked {
        private let bytes: [UInt8]

        init(_ secret: Span<UInt8>) {
            bytes = secret.indices.map { secret[$0] ^ 0x5A }
        }

        init(_ secret: SecretBytes) {
            self = secret.withBytes { Masked($0) }
        }

        var count: Int { bytes.count }
        var first: UInt8 { bytes[0] ^ 0x5A }

        func isAt(_ start: Int, in memory: Span<UInt8>) -> Bool {
            memory.count - start >= count && bytes.indices.allSatisfy { memory[start + $0] ^ 0x5A == bytes[$0] }
        }
    }

    /// Which of the secrets are in the memory of this process.
    private func found(_ secrets: [String: Masked]) throws -> Set<String> {
        let memory = try FileDescriptor.open(FilePath("/proc/self/mem"), .readOnly)
        defer { try? memory.close() }
        var found: Set<String> = []
        // One buffer, which is overwritten after each piece: it must not be found itself.
        let piece = 1 << 20
        var buffer = [UInt8](repeating: 0, count: piece + 256)
        for range in try ranges() {
            for start in stride(from: range.lowerBound, to: range.upperBound, by: piece) {
                // The pieces overlap, so that no secret is cut.
                let count = Int(min(UInt64(piece + 256), range.upperBound - start))
                unsafe buffer.withUnsafeMutableBytes { bytes in
                    _ = unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
                }
                let read = buffer.withMutableSpan(of: 0..<count) { span in
                    // Guard pages cannot be read.
                    (try? memory.readSome(at: start, into: &span)) ?? 0
                }
                for (name, secret) in secrets where holds(buffer, read, secret) { found.insert(name) }
            }
        }
        return found
    }

    private func holds(_ buffer: [UInt8], _ count: Int, _ secret: Masked) -> Bool {
        unsafe buffer.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            var place = 0
            // To look at every byte would take too long in unoptimised code.
            while place < count, let next = unsafe memchr(start + place, Int32(secret.first), count - place) {
                place = unsafe UnsafeRawPointer(next) - UnsafeRawPointer(start)
                if secret.isAt(place, in: unsafe Span(_unsafeElements: bytes)) { return true }
                place += 1
            }
            return false
        }
    }

    /// The memory that this process can read and that is not a file.
    private func ranges() throws -> [Range<UInt64>] {
        let file = try FileDescriptor.open(FilePath("/proc/self/maps"), .readOnly)
        defer { try? file.close() }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = try buffer.withMutableSpan(of: 0..<1 << 16, { try file.readSome(into: &$0) }), count > 0
        {
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            let isData = words[1].hasPrefix("r") && (words.count < 6 || ["[heap]", "[stack]"].contains(words[5]))
            return isData && ends.count == 2 ? ends[0]..<ends[1] : nil
        }
    }

    /// The keys of an item that a class key opens.
    private func secrets(_ store: VaultStore, _ protection: ItemProtection, _ item: [UInt8]) throws -> [String: Masked]
    {
        var secrets: [String: Masked] = [:]
        let key = try #require(store.gate.withKeys { $0.current[protection] })
        secrets["the class key"] = key.withBytes { Masked($0) }
        secrets["its line"] = try key.withKeyFile { text in Masked(text.extracting(text.count - 60..<text.count - 1)) }
        var trials = SlotTrials(.key(key, context: store.itemContext))
        let opened = try trials.open([try HeaderCopy(parsing: Array(item.prefix(512 * (item.count > 70_000 ? 8 : 1))))])
        secrets["the file key"] = Masked(opened.fileKey.secret)
        secrets["the stream key"] = Masked(opened.schedule.streamKey)
        var subkey = try SecretBuffer(count: 32)
        let fileID = opened.valid[0].preamble.fileID
        subkey.withMutableBytes { output in
            unsafe output.withUnsafeMutableBufferPointer { output in
                opened.schedule.streamKey.withBytes { key in
                    unsafe key.withUnsafeBufferPointer { key in
                        guard let out = output.baseAddress, let key = key.baseAddress else { return }
                        _ = unsafe crypto_core_hchacha20(out, fileID, key, nil)
                    }
                }
            }
        }
        secrets["the cipher's key"] = subkey.withBytes { Masked($0) }
        return secrets
    }

    @Test(arguments: [10, 1_000_000]) func lockWipesKeys(_ count: Int) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.write("a", [UInt8](repeating: 7, count: count).span, protection: .complete)
        let path = try "s/items/" + ItemName("a").file(store.card.index).string
        let secrets = try secrets(store, .complete, box.folder.read(path))
        try store.withReader("a") { reader in
            try reader.readAll { _ in }
            #expect(throws: StoreError.locked(.complete)) {
                try store.withWriter("b", protection: .complete) { writer in
                    try writer.write([UInt8](repeating: 8, count: count).span)
                    // Otherwise this test could not fail.
                    #expect(try found(secrets).isSuperset(of: ["the class key", "the cipher's key"]))
                    store.lock()
                    #expect(try found(secrets).isEmpty)
                }
            }
        }
        try store.unlock(with: owner)
        #expect(try found(secrets).contains("the class key"))
    }

    /// After a lock there is no private key of the class `unlessOpen`, also after it has opened items. What is open goes
    /// on with the keys of its item.
    @Test(arguments: Identity.hasXWing ? [SlotDescription.Kind.x25519, .xWing] : [.x25519])
    func lockWipesPrivateKeys(_ kind: SlotDescription.Kind) throws {
        let box = try TestStore(unlessOpen: kind)
        defer { box.keep() }
        let store = try box.open()
        try store.write("a", [UInt8](repeating: 7, count: 100_000).span, protection: .unlessOpen)
        try store.unlock(with: owner)
        try store.put("b", "x", .unlessOpen)
        let path = try "s/items/" + ItemName("b").file(store.card.index).string
        var secrets = try secrets(store, .unlessOpen, box.folder.read(path))
        secrets["the identity"] = try store.gate.withKeys { Masked(try #require($0.openers.first).secret) }
        // swift-crypto leaves copies of an X-Wing seed in memory that it has freed.
        let wiped: Set = ["the class key", "its line", "the file key", kind == .x25519 ? "the identity" : ""]
        try store.withReader("a") { reader in
            try store.withReader("b") { other in
                try reader.readAll { _ in }
                #expect(try found(secrets).isSuperset(of: ["the class key", "the identity", "the cipher's key"]))
                store.lock()
                let left = try found(secrets)
                #expect(left.isDisjoint(with: wiped), "\(left)")
                #expect(left.contains("the cipher's key"), "the reader goes on")
                var count = 0
                try reader.readAll { count += $0.count }
                try other.readAll { count += $0.count }
                #expect(count == 100_001)
            }
        }
        #expect(try found(secrets).isDisjoint(with: wiped))
        try store.unlock(with: owner)
        #expect(try found(secrets).contains("the identity"))
    }

    @Test("the bytes of an item are in guarded memory, and nowhere after their release") func itemBytes() throws {
        // The writer keeps the first 64 KiB of a smaller item in ordinary memory, until other bytes take their place.
        let count = 200_000
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        var secrets: [String: Masked] = [:]
        var content = try SecretBuffer(count: count)
        content.withMutableBytes { RandomBytes.fill(&$0) }
        try content.withBytes { bytes in
            secrets["the first bytes"] = Masked(bytes.extracting(first: 64))
            secrets["the last bytes"] = Masked(bytes.extracting(count - 64..<count))
            _ = try store.write("a", bytes, protection: .complete)
        }
        content = try SecretBuffer(count: 1)
        // What the writer has left, if anything, is none of this test.
        let before = try found(secrets)
        do {
            let bytes = try store.read("a", atMost: count)
            #expect(try found(secrets) == ["the first bytes", "the last bytes"])
            withExtendedLifetime(bytes) {}
        }
        #expect(try found(secrets) == before)
        #expect(before.isEmpty)
    }
}
#endif
