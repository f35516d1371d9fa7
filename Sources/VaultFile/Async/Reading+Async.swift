public import SystemPackage
public import VaultFormat
public import VaultStream

extension SeekableVaultReader {
    /// Opens a container on a thread of the library.
    ///
    /// - Parameters:
    ///   - source: the container's bytes.
    ///   - credentials: the keys, and limits on the cost of opening.
    /// - Throws: what the synchronous initialiser throws; `CancellationError` if the task was cancelled.
    public convenience init(_ source: any ByteSource, with credentials: Credentials) async throws {
        let reader = try await ThreadExecutor.calls.run {
            try SeekableVaultReader(source, with: credentials)
        }
        self.init(copying: reader)
    }

    /// Reads the bytes of a range into memory, on a thread of the library.
    ///
    /// - Parameter range: within the plaintext.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func bytes(_ range: Range<UInt64>) async throws -> [UInt8] {
        try await ThreadExecutor.steps.run { try self.bytes(range) }
    }

    /// Lends `sink` the bytes of a range in order, on a thread of the library.
    ///
    /// - Parameters:
    ///   - range: within the plaintext.
    ///   - sink: takes the next bytes. It may block.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func read(_ range: Range<UInt64>, to sink: @Sendable (Span<UInt8>) throws -> Void) async throws {
        try await ThreadExecutor.calls.run { try self.read(range, to: sink) }
    }

    /// Lends `sink` the whole plaintext in order and checks everything, on a thread of the library. Only after this has
    /// returned is it certain that the lent bytes are the whole plaintext.
    ///
    /// - Parameter sink: takes the next bytes. It may block.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func readAll(to sink: @Sendable (Span<UInt8>) throws -> Void) async throws {
        try await ThreadExecutor.calls.run { try self.readAll(to: sink) }
    }

    /// Decrypts a range, or everything, on threads of the library.
    ///
    /// - Parameters:
    ///   - range: nil for everything.
    ///   - output: gets the plaintext. A regular file must have no bytes after its offset.
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    ///   - isSparse: whether blocks of zeros become holes, as for the synchronous call.
    ///   - onProgress: called on a thread of the library now and then, with the count of written bytes.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func decrypt(
        _ range: Range<UInt64>? = nil, to output: FileDescriptor, jobs: Int? = nil, sparse isSparse: Bool = false,
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws {
        try await ThreadExecutor.calls.run {
            try self.decrypt(range, to: output, jobs: jobs, sparse: isSparse, onProgress: onProgress)
        }
    }

    /// Reads and authenticates everything, on threads of the library.
    ///
    /// - Parameter jobs: the number of threads that do the work, as for the synchronous call.
    /// - Throws: the error of the first damage, if there is any; `CancellationError` if the task was cancelled.
    public func verify(jobs: Int? = nil) async throws {
        try await ThreadExecutor.calls.run { try self.verify(jobs: jobs) }
    }

    /// Reads and authenticates every record, on threads of the library. It continues after damaged records. **Damage is
    /// reported to `onDamage` only**: this returns without an error even if everything is damaged.
    ///
    /// - Parameters:
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    ///   - onProgress: called on a thread of the library now and then, with the count of checked bytes of plaintext.
    ///   - onDamage: called on a thread of the library for each damaged range.
    /// - Throws: what the closures throw; `CancellationError` if the task was cancelled.
    public func verify(
        jobs: Int? = nil, onProgress: @Sendable (UInt64) throws -> Void = { _ in },
        onDamage: @Sendable (Damage) throws -> Void
    ) async throws {
        try await ThreadExecutor.calls.run {
            try self.verify(jobs: jobs, onProgress: onProgress, onDamage: onDamage)
        }
    }
}

extension PipedContainer {
    /// Reads and opens the header, on a thread of the library.
    ///
    /// - Parameters:
    ///   - input: a pipe, a socket, a device, or a file, which is read from its offset on.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - onBeginning: called once with the first bytes, before they are checked.
    /// - Throws: what the synchronous initialiser throws; `CancellationError` if the task was cancelled.
    public init(
        from input: FileDescriptor, with credentials: Credentials,
        onBeginning: @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws {
        self.init(
            try await ThreadExecutor.calls.run {
                try Self.open(input, with: credentials, onBeginning: onBeginning)
            })
    }

    /// Decrypts and checks the contents, on threads of the library.
    ///
    /// - Parameters:
    ///   - output: gets the plaintext; nil to check everything and write nothing.
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    ///   - isSparse: whether blocks of zeros become holes, as for the synchronous call.
    ///   - onProgress: called on a thread of the library now and then, with the count of decrypted bytes of plaintext.
    /// - Returns: the health, the manifest and the header of the container.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. After an error, the
    ///   output is authentic but may be only a part of the plaintext.
    public consuming func decrypt(
        to output: FileDescriptor?, jobs: Int? = nil, sparse isSparse: Bool = false,
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> OpenedContainer {
        let records = records
        return try await ThreadExecutor.calls.run {
            try Self.decrypt(records, to: output, jobs: jobs, sparse: isSparse, onProgress: onProgress)
        }
    }
}

extension Recovery {
    /// Searches the file for header copies, on a thread of the library.
    ///
    /// - Parameters:
    ///   - source: the damaged container.
    ///   - credentials: the keys, limits on the cost of one header copy, and the longest plaintext that is returned.
    ///   - options: limits on the cost of the search, and which copy to use.
    ///   - onProgress: called on a thread of the library now and then, with the count of searched bytes.
    /// - Throws: what the synchronous initialiser throws; `CancellationError` if the task was cancelled.
    public convenience init(
        _ source: any ByteSource, with credentials: Credentials, options: RecoveryOptions = RecoveryOptions(),
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws {
        let recovery = try await ThreadExecutor.calls.run {
            try Recovery(source, with: credentials, options: options) {
                try Cancellation.check()
                try onProgress($0)
            }
        }
        self.init(copying: recovery)
    }

    /// Lends `sink` the plaintext in order, on threads of the library.
    ///
    /// - Parameters:
    ///   - header: one of `headers`; nil if there is only one.
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    ///   - sink: takes the plaintext, with zeros in place of lost bytes. Called on a thread of the library. It may
    ///     block.
    ///   - onDamage: called on that thread with each lost range.
    ///   - onProgress: called on that thread now and then, with the count of bytes of the file that have been read.
    /// - Returns: the header that was used, and how much of the plaintext was lost.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func read(
        using header: RecoveryHeader? = nil, jobs: Int? = nil,
        to sink: @Sendable (Span<UInt8>) throws -> Void, onDamage: @Sendable (Damage) throws -> Void = { _ in },
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> Recovered {
        try await ThreadExecutor.calls.run {
            try self.read(using: header, jobs: jobs, to: sink, onDamage: onDamage) {
                try Cancellation.check()
                try onProgress($0)
            }
        }
    }

    /// Writes the plaintext to `output`, with zeros in place of lost bytes, on threads of the library.
    /// With `isSparse`, blocks of zeros become holes, if the output is a regular file.
    ///
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func decrypt(
        using header: RecoveryHeader? = nil, jobs: Int? = nil, to output: FileDescriptor, sparse isSparse: Bool = false,
        onDamage: @Sendable (Damage) throws -> Void = { _ in }, onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> Recovered {
        try await ThreadExecutor.calls.run {
            try self.decrypt(using: header, jobs: jobs, to: output, sparse: isSparse, onDamage: onDamage) {
                try Cancellation.check()
                try onProgress($0)
            }
        }
    }
}

extension Inspection {
    /// Reads both ends of a container, on a thread of the library.
    ///
    /// - Throws: what the synchronous initialiser throws; `CancellationError` if the task was cancelled.
    public init(_ source: any ByteSource) async throws {
        self = try await ThreadExecutor.calls.run { try Inspection(source) }
    }

    /// Tries the caller's secrets on every slot of the current copy, on a thread of the library.
    ///
    /// - Parameter credentials: the keys, and limits on the cost of trying them.
    /// - Returns: the slots in their order, each with its outcome.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func trySlots(with credentials: Credentials) async throws -> [TriedSlot] {
        try await ThreadExecutor.calls.run { try self.trySlots(with: credentials) }
    }
}
