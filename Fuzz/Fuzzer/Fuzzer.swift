import CLibFuzzer
import Glibc
import VaultTestSupport

/// `Fuzzer --target=NAME`, with libFuzzer's arguments. libFuzzer ignores arguments that begin with two dashes.
@main
enum Fuzzer {
    private static let option = "--target="

    static func main() {
        let name = CommandLine.arguments.first { $0.hasPrefix(option) }?.dropFirst(option.count) ?? ""
        guard let named = FuzzTargets.all.first(where: { $0.name == name }) else {
            print("name one of these:", FuzzTargets.all.map { option + $0.name }.joined(separator: " "))
            exit(64)
        }
        unsafe target = named
        var count = CommandLine.argc
        var arguments = unsafe CommandLine.unsafeArgv
        let status = unsafe LLVMFuzzerRunDriver(&count, &arguments) { unsafe run($0, $1) }
        exit(status)
    }
}

/// Set once, before anything runs.
nonisolated(unsafe) private var target: any FuzzTarget.Type = HeaderTarget.self

private func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    do {
        try unsafe target.attempt(input)
    } catch {
        // Not with `print`, whose buffer would be lost.
        _ = write(2, "BROKEN \(unsafe target.name): \(error)\n")
        abort()
    }
    return 0
}

@_cdecl("LLVMFuzzerCustomMutator")
func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    let input = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    var random = SeededRandom(seed: UInt64(seed))
    let output = unsafe target.mutate(input, &random, change: changed, limit: limit).prefix(limit)
    for (index, byte) in output.enumerated() { unsafe bytes[index] = byte }
    return output.count
}

private func write(_ descriptor: CInt, _ text: String) -> Int {
    let bytes = [UInt8](text.utf8)
    return unsafe Glibc.write(descriptor, bytes, bytes.count)
}

/// Changes bytes like libFuzzer, with its dictionary and with values that the program compared.
private func changed(_ bytes: [UInt8], limit: Int) -> [UInt8] {
    guard limit > 0 else { return [] }
    var buffer = [UInt8](bytes.prefix(limit))
    let count = buffer.count
    buffer += [UInt8](repeating: 0, count: limit - count)
    let newCount = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
        unsafe LLVMFuzzerMutate(buffer.baseAddress, count, limit)
    }
    return [UInt8](buffer.prefix(newCount))
}
