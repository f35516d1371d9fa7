import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream

/// An item that is open for reading. It is valid in the closure that gets it.
///
/// If the class of the item is `complete`, each call after ``VaultStore/lock()`` throws `locked`.
public struct ItemReader: Sendable {
    private let found: FoundItem

    init(_ found: FoundItem) {
        self.found = found
    }

    /// The item.
    public var item: StoreItem { found.item }

    /// Lends `sink` the bytes of a range, piece by piece, in order.
    ///
    /// - Parameters:
    ///   - range: within the content.
    ///   - sink: gets the pieces. It may lock the store.
    /// - Throws: ``StoreError`` with `locked`; `VaultError` with `rangeInvalid`, `recordDamaged`, `truncated`,
    ///   `packingMalformed`, `inputFailed`; what `sink` throws.
    public func read(_ range: Range<UInt64>, to sink: (Span<UInt8>) throws -> Void) throws {
        try check(range)
        try found.keys.read(range, of: found.content, to: sink)
    }

    func check(_ range: Range<UInt64>) throws(VaultError) {
        guard range.upperBound <= item.length else {
            throw VaultError(
                .rangeInvalid,
                "the range \(range.lowerBound)..<\(range.upperBound) does not lie within \(item.length) bytes")
        }
    }

    /// Lends `sink` the whole content, and then compares its SHA-256 if the item has one. Only after this has returned
    /// is it certain that the lent bytes are the whole content.
    ///
    /// - Throws: what `read` throws; `VaultError` with `contentMismatch`.
    public func readAll(to sink: (Span<UInt8>) throws -> Void) throws {
        var sum = found.digest == nil ? nil : Optional(SHA256())
        try read(0..<item.length) {
            sum?.update($0)
            try sink($0)
        }
        guard let sum = sum.take()?.finish(), sum != found.digest else { return }
        throw VaultError(.contentMismatch, "the content is not what the manifest says")
    }
}

/// The content of an item in guarded memory, which is wiped when the last reference goes.
public final class ItemBytes: Sendable {
    private let buffer: SecretBuffer

    init(_ buffer: consuming SecretBuffer) {
        self.buffer = buffer
    }

    /// The number of bytes.
    public var count: Int { buffer.count }

    /// Lends the bytes.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try buffer.withBytes(body)
    }
}
