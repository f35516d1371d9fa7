// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization
import VaultFile

/// A container in a file that has no name yet. Calls wait for each other.
final class FileWriter: Sendable {
    /// The writer and its file are nil once they are committed, and after an error.
    private struct State: ~Copyable {
        var writer: VaultWriter?
        var file: OutputFile?
        var failure: (any Error)?

        init(_ writer: consuming VaultWriter, _ file: consuming OutputFile) {
            self.writer = consume writer
            self.file = consume file
        }
    }

    private let state: Mutex<State>

    init(_ writer: consuming sending VaultWriter, _ file: consuming sending OutputFile) {
        state = Mutex(State(writer, file))
    }

    func write(_ bytes: Span<UInt8>) throws {
        try using { writer, file, state in
            var writer = writer
            try writer.write(bytes) { try file.write($0) }
            state.writer = consume writer
            state.file = consume file
        }
    }

    func commit() throws {
        try using { writer, file, _ in
            try writer.finish { try file.write($0) }
            try file.commit()
        }
    }

    private func using(
        _ body: (_ writer: consuming VaultWriter, _ file: consuming OutputFile, inout State) throws -> Void
    ) throws {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            guard let writer = state.writer.take(), let file = state.file.take() else {
                throw Failure.invalid("the writer has committed")
            }
            do {
                try body(writer, file, &state)
            } catch {
                state.failure = error
                throw error
            }
        }
    }
}

@c(vaultfile_writer_open)
public func writerOpen(
    _ path: UnsafePointer<CChar>?, _ recipients: OpaquePointer?, _ options: OpaquePointer?,
    _ writer: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    unsafe making(writer) {
        let settings = try unsafe settings(options)
        let recipients = try unsafe givenRecipients(recipients).recipients()
        let file = try OutputFile(at: unsafe VaultC.path(path), replacing: settings.has(.replace))
        return FileWriter(try VaultWriter(for: recipients, options: settings.sealing), file)
    }
}

@c(vaultfile_writer_write)
public func writerWrite(_ writer: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: UInt) -> OpaquePointer? {
    unsafe calling {
        let writer = try unsafe Handles.object(writer, FileWriter.self)
        try unsafe withBytes(bytes, count) { try writer.write($0) }
    }
}

@c(vaultfile_writer_commit)
public func writerCommit(_ writer: OpaquePointer?) -> OpaquePointer? {
    unsafe calling { try unsafe Handles.object(writer, FileWriter.self).commit() }
}

@c(vaultfile_writer_free)
public func writerFree(_ writer: OpaquePointer?) {
    unsafe Handles.free(writer, FileWriter.self)
}
