import VaultFile

struct Unexpected: Error {
    let line: Int
}

func check(_ isTrue: Bool, line: Int = #line) throws {
    if !isTrue { throw Unexpected(line: line) }
}

/// The code of the error that `body` throws.
func code(_ body: () throws -> Void, line: Int = #line) throws -> VaultError.Code {
    do {
        try body()
    } catch let error as VaultError {
        return error.code
    }
    throw Unexpected(line: line)
}

extension [UInt8] {
    /// Copies bytes that are lent for the length of a call.
    mutating func take(_ bytes: Span<UInt8>) {
        for index in bytes.indices { append(bytes[index]) }
    }
}
