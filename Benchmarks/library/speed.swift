import Glibc
import VaultFile

/// What speed.c does, by VaultFile.
@main enum Speed {
    static let piece = 65536
    static let count = 256 << 20

    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func main() throws {
        let key = try SymmetricKey.generate()
        let plain = [UInt8](repeating: 7, count: piece)
        var output = [UInt8](repeating: 0, count: 2 * piece)
        var container = [UInt8](repeating: 0, count: count + count / 50)
        var (total, filled) = (0, 0)
        func copy(_ bytes: Span<UInt8>, _ target: inout [UInt8], at place: Int) {
            bytes.withUnsafeBufferPointer { bytes in
                target.withUnsafeMutableBufferPointer { _ = $0[place...].update(fromContentsOf: bytes) }
            }
        }

        var start = now()
        var writer = try VaultWriter(for: [.key(key)])
        for _ in 0..<count / piece {
            filled = 0
            try writer.write(plain.span) {
                copy($0, &output, at: filled)
                filled += $0.count
            }
            copy(output.span.extracting(0..<filled), &container, at: total)
            total += filled
        }
        try writer.finish {
            copy($0, &container, at: total)
            total += $0.count
        }
        let encryption = now() - start

        let reader = try SeekableVaultReader(MemorySource(Array(container[..<total])), with: .key(key))
        start = now()
        for place in stride(from: 0, to: count, by: piece) {
            filled = 0
            try reader.read(UInt64(place)..<UInt64(place + piece)) {
                copy($0, &output, at: filled)
                filled += $0.count
            }
        }
        let reading = now() - start

        start = now()
        var stream = VaultReader(with: .key(key))
        for place in stride(from: 0, to: total, by: piece) {
            filled = 0
            try stream.push(container.span.extracting(place..<min(place + piece, total))) {
                copy($0, &output, at: filled)
                filled += $0.count
            }
        }
        _ = try stream.finish()
        print(encryption, reading, now() - start)
        guard output[0] == 7 else { exit(1) }
    }
}
