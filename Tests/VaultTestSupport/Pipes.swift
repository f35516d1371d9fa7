internal import CPlatform
import Dispatch
import Synchronization
package import SystemPackage
import VaultFile

/// Makes a write into a pipe without a reader an error, instead of the end of the process.
package let ignoresBrokenPipes: Bool = {
    vaultfile_ignore_signal(SIGPIPE, 1)
    return true
}()

/// Runs `body` with one end of a pipe. A thread writes these bytes into the other end, in pieces.
package func feeding<R>(
    _ bytes: [UInt8], piece: Int = 5000, _ body: (FileDescriptor) throws -> R
) throws -> R {
    precondition(ignoresBrokenPipes)
    let ends = try FileDescriptor.pipe()
    let done = DispatchGroup()
    DispatchQueue.global().async(group: done) {
        var start = 0
        while start < bytes.count {
            let end = start + min(piece, bytes.count - start)
            // The reader may be gone. The test is about how it handles that.
            guard (try? ends.writeEnd.writeFully(bytes.span.extracting(start..<end))) != nil else { break }
            start = end
        }
        try? ends.writeEnd.close()
    }
    defer {
        try? ends.readEnd.close()
        done.wait()
    }
    return try body(ends.readEnd)
}

/// Runs `body` with the writing end of a pipe, and returns what it wrote.
package func collecting<R>(_ body: (FileDescriptor) throws -> R) throws -> (
    result: Result<R, any Error>, bytes: [UInt8]
) {
    precondition(ignoresBrokenPipes)
    let ends = try FileDescriptor.pipe()
    let collected = Mutex<[UInt8]>([])
    let done = DispatchGroup()
    DispatchQueue.global().async(group: done) {
        var buffer = [UInt8](repeating: 0, count: 3000)
        while true {
            var span = buffer.mutableSpan
            guard let count = try? ends.readEnd.readSome(into: &span), count > 0 else { break }
            collected.withLock { $0 += buffer.prefix(count) }
        }
        try? ends.readEnd.close()
    }
    let result = Result { try body(ends.writeEnd) }
    try? ends.writeEnd.close()
    done.wait()
    return (result, collected.withLock { $0 })
}
