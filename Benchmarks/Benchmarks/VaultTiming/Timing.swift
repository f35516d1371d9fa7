import VaultFile

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Tries again and again to open containers that must be refused, and prints the nanoseconds of each try.
///
///     VaultTiming ROUNDS FOLDER CASE...
///
/// For each case the folder has `CASE.vault`; `CASE.context`; `CASE.error` with the name of the expected error, empty
/// if the container opens; `CASE.keys` and `CASE.passphrases`, with one in hexadecimal on each line. Each round runs
/// every case once, in a random order, so that other work of the machine affects all cases alike. A line of output is
/// the number of a case and a time.
@main enum Timing {
    private struct Case {
        let source: MemorySource
        let keys: KeySet
        let context: Context
        let expected: String

        init(_ name: String, in folder: String) throws {
            let file = { (suffix: String) in try contents("\(folder)/\(name).\(suffix)") }
            source = MemorySource(try file("vault"))
            context = try Context(String(decoding: try file("context"), as: UTF8.self))
            expected = String(decoding: try file("error"), as: UTF8.self)
            keys = KeySet(
                keys: try lines(of: file("keys")).map { try SymmetricKey(bytes: bytes(hexadecimal: $0).span) },
                passphrases: try lines(of: file("passphrases")).map {
                    try Passphrase(bytes: bytes(hexadecimal: $0).span)
                })
        }

        /// Opens the container once.
        ///
        /// - Returns: The nanoseconds that it took.
        func time() throws -> UInt64 {
            let start = now()
            var found = ""
            do {
                _ = try SeekableVaultReader(source, with: Credentials(keys, context: context))
            } catch let error as VaultError {
                found = error.code.name
            }
            let end = now()
            guard found == expected else { throw Unexpected(found: found, expected: expected) }
            return end - start
        }
    }

    private struct Unexpected: Error {
        let found: String
        let expected: String
    }

    private struct Unreadable: Error {
        let path: String
    }

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count > 2, let rounds = arguments.first.flatMap({ Int($0) }) else {
            print("usage: VaultTiming ROUNDS FOLDER CASE...")
            exit(64)
        }
        let folder = arguments.dropFirst().first ?? ""
        let cases = try arguments.dropFirst(2).map { try Case($0, in: folder) }
        var times: [(index: Int, nanoseconds: UInt64)] = []
        times.reserveCapacity(rounds * cases.count)
        // First calls take longer, so they do not count.
        for _ in 0..<100 { for one in cases { _ = try one.time() } }
        for _ in 0..<rounds {
            for index in cases.indices.shuffled() { times.append((index, try cases[index].time())) }
        }
        var text = ""
        for time in times { text += "\(time.index) \(time.nanoseconds)\n" }
        print(text, terminator: "")
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func contents(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw Unreadable(path: path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return bytes
    }

    private static func lines(of bytes: [UInt8]) -> [Substring] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    private static func bytes(hexadecimal text: Substring) -> [UInt8] {
        stride(from: 0, to: text.utf8.count, by: 2).compactMap { place in
            UInt8(text.dropFirst(place).prefix(2), radix: 16)
        }
    }
}
