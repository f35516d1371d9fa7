import VaultFormat

/// Where the header file of a detached container is (Spec, chapter 23).
///
/// It is read before the body, and again whenever the body's ends are read again: another program may replace it
/// meanwhile (SEEK-18).
public struct HeaderFileSource: Sendable {
    private let body: @Sendable () throws -> [UInt8]

    /// A header file that a closure reads, for example from an object store.
    ///
    /// - Parameter read: returns all bytes of the header file. A header file has at most ``HeaderFile/maximumLength``
    ///   bytes; of more, the first ``HeaderFile/maximumLength`` + 1 are enough.
    /// - Throws: nothing itself. What the closure throws comes from the call that reads.
    public init(reading read: @escaping @Sendable () throws -> [UInt8]) {
        body = read
    }

    /// A header file in memory.
    public static func bytes(_ bytes: [UInt8]) -> HeaderFileSource {
        HeaderFileSource { bytes }
    }

    /// Its bytes at this moment.
    ///
    /// - Throws: what the source throws.
    public func read() throws -> [UInt8] {
        do {
            return try body()
        } catch let error as VaultError {
            throw error.ofHeaderFile
        }
    }
}
