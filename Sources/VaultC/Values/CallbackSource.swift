import VaultFile

typealias ReadFunction =
    @convention(c) (
        UnsafeMutableRawPointer?, UInt64, UnsafeMutableRawPointer?, UInt, UnsafeMutablePointer<UInt>?
    ) -> Int32

/// A container that a C program reads.
@safe struct CallbackSource: ByteSource, @unchecked Sendable {
    /// `VAULTFILE_MEDIUM_FAILED`.
    static let mediumFailed = Int32.min

    private let function: ReadFunction
    private let context: UnsafeMutableRawPointer?
    private let length: UInt64
    let readSize: Int

    /// - Parameter readSize: nil for the library's own.
    /// - Throws: `Failure` with `invalidArgument` for no function.
    init(
        _ function: ReadFunction?, _ context: UnsafeMutableRawPointer?, _ length: UInt64, readSize: Int? = nil
    ) throws(Failure) {
        guard let function = unsafe function else { throw .invalid("the callback is NULL") }
        unsafe self.function = function
        unsafe self.context = context
        self.length = length
        self.readSize = readSize ?? Self.standardReadSize
    }

    func size() -> UInt64 { length }

    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        let (status, count) = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            var count = UInt.max
            let status = unsafe function(context, offset, buffer.baseAddress, UInt(buffer.count), &count)
            return (status, count)
        }
        guard status != Self.mediumFailed else { throw VaultError.inputFailed("the medium fails there") }
        guard status == 0 else { throw Failure.callback(status) }
        // A mistake of the program, and no damage: a search for damage must not go on after it.
        guard let count = Int(exactly: count), count <= buffer.count else {
            throw Failure.invalid("the callback set no count, or one that is larger than the buffer")
        }
        return count
    }
}
