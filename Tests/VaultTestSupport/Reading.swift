package import VaultFile

/// The ways in which the library reads a container.
package enum ReaderKind: CaseIterable, Sendable {
    /// As a stream.
    case stream
    /// In ranges that share no border with the records.
    case ranges
    /// Everything, with a reader that seeks.
    case whole
}

/// The result of a reader.
package struct Reading: Sendable {
    /// The bytes that it released, even before an error.
    package let plaintext: [UInt8]
    package let result: Result<OpenedContainer, VaultError>

    package var opened: OpenedContainer? { try? result.get() }
    package var health: Health? { opened?.health }
    package var error: VaultError? {
        if case .failure(let error) = result { error } else { nil }
    }
    package var code: VaultError.Code? { error?.code }

    /// - Throws: Errors that are not the library's. No reader may throw one.
    package init(_ body: (_ sink: (Span<UInt8>) -> Void) throws -> OpenedContainer) throws {
        var plaintext: [UInt8] = []
        do {
            let opened = try body { plaintext.append(copying: $0) }
            result = .success(opened)
        } catch let error as VaultError {
            result = .failure(error)
        }
        self.plaintext = plaintext
    }

    /// Whether this result of a reader that seeks is allowed beside the result of a stream: everything that a stream
    /// accepts must be accepted with the same bytes and health. (A stream reads only the keys of the front, so it may
    /// report another header.)
    package func agrees(withStream stream: Reading) -> Bool {
        guard let streamed = stream.opened else { return true }
        return health == streamed.health && opened?.manifest == streamed.manifest && plaintext == stream.plaintext
    }
}

/// Reads all of a container.
///
/// - Parameter piece: The number of bytes that a stream gets at once.
package func read(
    _ container: [UInt8], by kind: ReaderKind, keys: any KeyProvider = KeySet(keys: [testKey(1)]),
    context: Context = .none, limits: OpenLimits = .standard, piece: Int = 1 << 16
) throws -> Reading {
    try Reading { sink in
        if kind == .stream {
            return try readStream(container, keys: keys, context: context, limits: limits, piece: piece, to: sink)
        }
        let reader = try SeekableVaultReader(
            MemorySource(container), with: Credentials(keys, context: context, limits: limits))
        if kind == .whole {
            try reader.readAll(to: sink)
        } else {
            try readRanges(reader, to: sink)
        }
        return reader.opened
    }
}

package func readStream(
    _ container: [UInt8], keys: any KeyProvider, context: Context = .none, limits: OpenLimits = .standard,
    piece: Int = 1 << 16, to sink: (Span<UInt8>) throws -> Void
) throws -> OpenedContainer {
    try readStream(container, with: Credentials(keys, context: context, limits: limits), piece: piece, to: sink)
}

/// The same with any credentials.
package func readStream(
    _ container: [UInt8], with credentials: Credentials, piece: Int = 1 << 16, to sink: (Span<UInt8>) throws -> Void
) throws -> OpenedContainer {
    var reader = VaultReader(with: credentials)
    var start = 0
    while start < container.count {
        let end = start + min(piece, container.count - start)
        try reader.push(container.span.extracting(start..<end), to: sink)
        start = end
    }
    return try reader.finish()
}

/// All of the plaintext, in a few ranges of odd lengths.
package func readRanges(_ reader: SeekableVaultReader, to sink: (Span<UInt8>) throws -> Void) throws {
    var start: UInt64 = 0
    let step = max(1, reader.length / 3) | 1
    while start < reader.length {
        let end = min(reader.length, start + step)
        try reader.read(start..<end, to: sink)
        start = end
    }
}

extension Result where Success: Equatable, Failure == VaultError {
    /// Whether both are the same in every detail; errors that are equal may differ in message and place.
    package func matches(_ other: Result) -> Bool {
        switch (self, other) {
        case (.success(let one), .success(let another)): one == another
        case (.failure(let one), .failure(let another)): one.description == another.description
        default: false
        }
    }
}
