package import VaultCrypto
import VaultFormat

/// Seals and opens the records of one container in place. `RecordSeal` and `RecordOpener` are its only callers.
package struct RecordCipher: Sendable {
    private let engine: RecordEngine
    let library: CipherEngine

    /// - Parameter capacity: the header's. If it is less than `separate`, the container is small (WRITE-7), and the
    ///   library that is faster for small inputs is used. A compressed stream never counts as small: it can unpack to a
    ///   thousand times its length, and an attacker could make a reader hash all of that with the slower library.
    init(_ schedule: KeySchedule, preamble: Preamble, capacity: HeaderCapacity) throws(VaultError) {
        let library = CipherEngine.preferred(isSmall: capacity < .separate && preamble.compression == .none)
        self.library = library
        engine = try guarded { () throws(MemoryUnavailable) in
            try RecordEngine(key: schedule.streamKey, fileID: preamble.nonceWords, engine: library)
        }
    }

    /// A SHA-256 for the container's plaintext.
    func newDigest() -> SHA256 { SHA256(engine: library) }

    func seal(_ record: inout MutableSpan<UInt8>, kind: RecordHead.Kind, index: UInt64) {
        let head = RecordHead(kind: kind, length: record.count - RecordHead.overhead).bytes
        (record[0], record[1], record[2], record[3]) = head
        engine.seal(&record, prefixCount: RecordHead.count, index: index)
    }

    /// - Returns: whether the record is authentic at this index.
    func open(_ record: inout MutableSpan<UInt8>, index: UInt64) -> Bool {
        do {
            try engine.open(&record, prefixCount: RecordHead.count, index: index)
            return true
        } catch {
            return false
        }
    }

    /// The names and versions of the libraries that encrypt.
    package static var engineDescription: String {
        let (small, large) = (CipherEngine.preferred(isSmall: true), CipherEngine.preferred)
        return small == large ? large.description : "\(large.description); small containers by \(small.description)"
    }

    /// The engine that is chosen for this task, for threads that do its work.
    package static var engineOfThisTask: CipherEngine? { CipherEngine.chosen }

    /// Runs `body` with an engine.
    package static func withEngine<R>(_ engine: CipherEngine?, _ body: () throws -> R) rethrows -> R {
        try CipherEngine.$chosen.withValue(engine, operation: body)
    }
}
