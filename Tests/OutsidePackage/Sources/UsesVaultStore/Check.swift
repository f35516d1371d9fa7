import Foundation
import VaultStore

struct Unexpected: Error {
    let line: Int
}

func check(_ isTrue: Bool, line: Int = #line) throws {
    if !isTrue { throw Unexpected(line: line) }
}

/// The code of the error that `body` throws.
func code(_ body: () throws -> Void, line: Int = #line) throws -> StoreError.Code {
    do {
        try body()
    } catch let error as StoreError {
        return error.code
    }
    throw Unexpected(line: line)
}

func makeFolder(_ path: FilePath) throws {
    try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
}

func removeFolder(_ path: FilePath) throws {
    try FileManager.default.removeItem(atPath: path.string)
}

func exitWithFailure() -> Never {
    exit(1)
}

extension String {
    var bytes: [UInt8] { [UInt8](utf8) }
}

extension [UInt8] {
    /// Copies bytes that are lent for the length of a call.
    mutating func take(_ bytes: Span<UInt8>) {
        for index in bytes.indices { append(bytes[index]) }
    }
}

extension VaultStore {
    @discardableResult
    func put(
        _ name: String, _ text: String, _ protection: ItemProtection? = nil, _ condition: WriteCondition = .any
    ) throws -> StoreItem {
        let bytes = text.bytes
        return try write(name, bytes.span, protection: protection, setProtection: false, if: condition)
    }

    func text(_ name: String) throws -> String {
        let bytes: ItemBytes = try read(name, atMost: 1 << 20)
        var copy: [UInt8] = []
        bytes.withBytes { copy.take($0) }
        guard copy.count == bytes.count else { throw Unexpected(line: #line) }
        return String(decoding: copy, as: UTF8.self)
    }
}
