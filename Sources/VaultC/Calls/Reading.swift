// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import VaultFile

private func opening(
    _ reader: UnsafeMutablePointer<OpaquePointer?>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ source: (Settings) throws -> any ByteSource
) -> OpaquePointer? {
    unsafe making(reader) {
        let settings = try unsafe settings(options)
        let credentials = try unsafe credentials(keys, settings)
        return try SeekableVaultReader(source(settings), with: credentials)
    }
}

@c(vaultfile_reader_open_path)
public func readerOpenPath(
    _ path: UnsafePointer<CChar>?, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ reader: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe opening(reader, keys, options) { _ in try FileSource(at: unsafe VaultC.path(path)) }
}

@c(vaultfile_reader_open_memory)
public func readerOpenMemory(
    _ bytes: UnsafeRawPointer?, _ count: UInt, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ reader: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe opening(reader, keys, options) { _ in try unsafe BytesSource(copying: bytes, count) }
}

@c(vaultfile_reader_open_callback)
public func readerOpenCallback(
    _ read: (
        @convention(c) (
            UnsafeMutableRawPointer?, UInt64, UnsafeMutableRawPointer?, UInt, UnsafeMutablePointer<UInt>?
        ) -> Int32
    )?,
    _ context: UnsafeMutableRawPointer?, _ size: UInt64, _ keys: OpaquePointer?, _ options: OpaquePointer?,
    _ reader: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe opening(reader, keys, options) {
        try unsafe CallbackSource(read, context, size, readSize: $0.readSize)
    }
}

@c(vaultfile_reader_length)
public func readerLength(_ reader: OpaquePointer?, _ length: UnsafeMutablePointer<UInt64>?) -> OpaquePointer? {
    unsafe calling {
        guard let length = unsafe length else { throw Failure.invalid("there is no place for the length") }
        unsafe length.pointee = 0
        unsafe length.pointee = try Handles.object(reader, SeekableVaultReader.self).length
    }
}

@c(vaultfile_reader_read)
public func readerRead(
    _ reader: OpaquePointer?, _ offset: UInt64, _ buffer: UnsafeMutableRawPointer?, _ count: UInt
) -> OpaquePointer? {
    unsafe calling {
        let reader = try unsafe Handles.object(reader, SeekableVaultReader.self)
        var output = try unsafe Output(buffer, count)
        let (end, isTooLarge) = offset.addingReportingOverflow(UInt64(output.capacity))
        // The range cannot be written as one. The library refuses every other range that is not within the plaintext.
        guard !isTooLarge else { throw Failure(name: "rangeInvalid", message: "the range ends beyond 2^64 bytes") }
        try reader.read(offset..<end) { output.put($0) }
    }
}

@c(vaultfile_reader_verify)
public func readerVerify(_ reader: OpaquePointer?, _ options: OpaquePointer?) -> OpaquePointer? {
    unsafe calling {
        let settings = try unsafe settings(options)
        let reader = try unsafe Handles.object(reader, SeekableVaultReader.self)
        var first: VaultError?
        try reader.verify(jobs: settings.jobs, onProgress: settings.onProgress) { first = first ?? $0.error }
        if let first { throw first }
    }
}

@c(vaultfile_reader_damage)
public func readerDamage(
    _ reader: OpaquePointer?, _ options: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        let settings = try unsafe settings(options)
        var found: [JSON] = []
        let reader = try unsafe Handles.object(reader, SeekableVaultReader.self)
        try reader.verify(jobs: settings.jobs, onProgress: settings.onProgress) { found.append(.damage($0)) }
        return .object([("damage", .list(found))])
    }
}

@c(vaultfile_reader_info)
public func readerInfo(
    _ reader: OpaquePointer?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) { .opened(try unsafe Handles.object(reader, SeekableVaultReader.self).opened) }
}

@c(vaultfile_reader_free)
public func readerFree(_ reader: OpaquePointer?) {
    unsafe Handles.free(reader, SeekableVaultReader.self)
}

// MARK: Without a key

@c(vaultfile_inspect_path)
public func inspectPath(
    _ path: UnsafePointer<CChar>?, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) { .inspection(try Inspection(FileSource(at: unsafe VaultC.path(path)))) }
}

@c(vaultfile_inspect_memory)
public func inspectMemory(
    _ bytes: UnsafeRawPointer?, _ count: UInt, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) {
        try unsafe BytesSource.lending(bytes, count) { .inspection(try Inspection($0)) }
    }
}

@c(vaultfile_inspect_callback)
public func inspectCallback(
    _ read: (
        @convention(c) (
            UnsafeMutableRawPointer?, UInt64, UnsafeMutableRawPointer?, UInt, UnsafeMutablePointer<UInt>?
        ) -> Int32
    )?,
    _ context: UnsafeMutableRawPointer?, _ size: UInt64, _ report: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe reporting(report) { .inspection(try Inspection(unsafe CallbackSource(read, context, size))) }
}
