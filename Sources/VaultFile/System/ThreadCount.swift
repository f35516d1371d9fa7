import VaultFormat

/// How many threads one call uses. It is made from the caller's number before anything is read or written.
struct ThreadCount: Sendable {
    /// The most threads that one call uses. Each holds half a mebibyte, or one record if that is more.
    static let most = 256
    /// How many processors this process may run on.
    static let processors = max(1, SystemCalls.processorCount)
    static let one = ThreadCount(count: 1)

    /// From 1 to `most`.
    let count: Int

    private init(count: Int) {
        self.count = count
    }

    /// - Parameter jobs: the number of threads that the caller asks for; nil for one per processor.
    /// - Throws: `invalidArgument` for a number below 1.
    init(jobs: Int?) throws(VaultError) {
        let wanted = jobs ?? Self.processors
        guard wanted >= 1 else { throw VaultError(.invalidArgument, "jobs is \(wanted), and has to be at least 1") }
        count = min(wanted, Self.most)
    }
}
