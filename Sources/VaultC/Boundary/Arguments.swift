internal import CPlatform
import SystemPackage
import VaultFile

/// Lends the bytes of an argument.
///
/// - Throws: `Failure` with `invalidArgument` for a null pointer with a count, or for a count that no memory has; and what
///   `body` throws.
func withBytes<R: ~Copyable>(
    _ start: UnsafeRawPointer?, _ count: UInt, _ body: (Span<UInt8>) throws -> R
) throws -> R {
    let count = try checked(count)
    guard let start = unsafe start else {
        guard count == 0 else { throw Failure.invalid("bytes are NULL, and their count is not 0") }
        return try body([UInt8]().span)
    }
    let bytes = unsafe UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
    return try body(unsafe bytes.span)
}

/// What no text, path or option of a program is longer than. A copy of so many bytes fits into the memory that
/// `checkRoom` leaves for Swift.
private let longest = HeaderFile.maximumLength

/// A copy of the bytes of an argument: of one byte more than `longest` if there are more. Whatever reads them refuses so
/// many, and the rest needs no memory.
///
/// - Throws: `Failure` with `memoryUnavailable`, and as `withBytes`.
func array(_ start: UnsafeRawPointer?, _ count: UInt) throws -> [UInt8] {
    try unsafe withBytes(start, count) { bytes in
        let bytes = bytes.extracting(first: longest + 1)
        try checkRoom(bytes.count)
        return unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
}

/// - Throws: what a header file gives that is none.
func headerFile(_ start: UnsafeRawPointer?, _ count: UInt) throws -> HeaderFile {
    try HeaderFile(unsafe array(start, count))
}

func checked(_ count: UInt) throws(Failure) -> Int {
    // Half of the range is more than any memory has. A negative number that was converted to a count is refused.
    guard let count = Int(exactly: count) else { throw .invalid("a count is larger than any memory") }
    return count
}

/// A text of an argument that ends with a zero.
///
/// - Throws: `Failure` with `invalidArgument` for NULL, for bytes that are not UTF-8, and for too many.
func text(_ start: UnsafePointer<CChar>?) throws(Failure) -> String {
    guard let start = unsafe start else { throw .invalid("a text is NULL") }
    try unsafe checkLength(start)
    guard let text = unsafe String(validatingCString: start) else { throw .invalid("a text is not UTF-8") }
    return text
}

/// A text of an argument with a count.
func text(_ start: UnsafeRawPointer?, _ count: UInt) throws -> String {
    guard let text = String(validating: try unsafe array(start, count), as: UTF8.self) else {
        throw Failure.invalid("a text is not UTF-8")
    }
    return text
}

/// - Throws: `Failure` with `invalidArgument` for a text that no name or path can be. Swift ends the process if there is
///   no memory for a copy.
private func checkLength(_ start: UnsafePointer<CChar>) throws(Failure) {
    guard unsafe strnlen(start, longest + 1) <= longest else { throw .invalid("a text has more than \(longest) bytes") }
    try checkRoom(longest)
}

func path(_ start: UnsafePointer<CChar>?) throws(Failure) -> FilePath {
    guard let start = unsafe start, unsafe start.pointee != 0 else { throw .invalid("a path is NULL or empty") }
    try unsafe checkLength(start)
    return unsafe FilePath(platformString: start)
}

func keyName(_ start: UnsafePointer<CChar>?) throws(Failure) -> KeyName {
    let given = try unsafe text(start)
    guard let name = KeyName(given) else {
        throw .invalid("a name has 1 to 64 letters, digits and . _ - + @, and begins with a letter or a digit")
    }
    return name
}

/// The caller's memory for a result, and how much of it is filled.
@safe struct Output {
    private let start: UnsafeMutablePointer<UInt8>?
    let capacity: Int
    private(set) var count = 0

    /// - Throws: `Failure` with `invalidArgument` for a null pointer with a capacity.
    init(_ start: UnsafeMutableRawPointer?, _ capacity: UInt) throws(Failure) {
        self.capacity = try checked(capacity)
        guard unsafe start != nil || capacity == 0 else { throw .invalid("the output is NULL, and its size is not 0") }
        unsafe self.start = start?.assumingMemoryBound(to: UInt8.self)
    }

    var room: Int { capacity - count }

    /// Copies bytes, as many as there is room for.
    ///
    /// - Returns: how many were copied.
    @discardableResult
    mutating func put(_ bytes: Span<UInt8>) -> Int {
        let taken = min(bytes.count, room)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            if let source = bytes.baseAddress, let start = unsafe start {
                unsafe (start + count).update(from: source, count: taken)
            }
        }
        count += taken
        return taken
    }

    /// Copies all bytes of a text.
    ///
    /// - Throws: `Failure` with `invalidArgument` if they do not fit. Then nothing is copied.
    mutating func putAll(_ bytes: Span<UInt8>) throws(Failure) {
        guard bytes.count <= room else { throw .invalid("the output has room for \(room) bytes of \(bytes.count)") }
        put(bytes)
    }
}
