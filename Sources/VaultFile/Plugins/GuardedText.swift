import VaultCrypto
import VaultFormat
import VaultStream

/// Bytes in guarded memory, to which more can be appended: what goes to a plugin and comes from it. The secrets of slots
/// are among them.
struct GuardedText: ~Copyable {
    private var buffer: GuardedBuffer
    private(set) var count = 0

    init() throws(VaultError) {
        buffer = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: 4096) }
    }

    mutating func append(_ bytes: Span<UInt8>) throws(VaultError) {
        try makeRoom(for: bytes.count)
        let start = count
        buffer.withMutableBytes { $0.replace(at: start, with: bytes) }
        count += bytes.count
    }

    mutating func append(_ text: [UInt8]) throws(VaultError) { try append(text.span) }

    mutating func append(_ text: String) throws(VaultError) { try append([UInt8](text.utf8)) }

    /// Appends the body of a stanza.
    mutating func append(body bytes: Span<UInt8>) throws(VaultError) {
        let perLine = AgeStanza.lineCount / 4 * 3
        var start = 0
        while true {
            let end = min(start + perLine, bytes.count)
            try append(lineOf: bytes.extracting(start..<end))
            // A full line is followed by another one, which may be empty.
            if end - start < perLine { return }
            start = end
        }
    }

    private mutating func append(lineOf bytes: Span<UInt8>) throws(VaultError) {
        try makeRoom(for: Base64.letterCount(of: bytes.count) + 1)
        let start = count
        count = buffer.withMutableBytes { text in
            let end = Base64.encodeUnpadded(bytes, into: &text, at: start)
            text[end] = 0x0A
            return end + 1
        }
    }

    private mutating func makeRoom(for more: Int) throws(VaultError) {
        guard count + more > buffer.count else { return }
        let size = max(count + more, 2 * buffer.count)
        var larger = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: size) }
        let count = count
        larger.withMutableBytes { larger in
            buffer.withBytes { larger.replace(at: 0, with: $0.extracting(0..<count)) }
        }
        buffer = larger
    }

    /// Removes the first bytes, and overwrites the place where the last ones were.
    mutating func removeFirst(_ removed: Int) {
        let left = count - removed
        let count = count
        buffer.withMutableBytes { text in
            for index in 0..<left { text[index] = text[removed + index] }
            for index in left..<count { text[index] = 0 }
        }
        self.count = left
    }

    func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try buffer.withBytes { bytes throws(E) in try body(bytes.extracting(0..<count)) }
    }
}
