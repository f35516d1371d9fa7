import Synchronization
import SystemPackage
import VaultFormat

/// Writes blocks of zeros to a new file as holes.
final class OutputHoles: Sendable {
    /// The size of blocks in most file systems.
    private static let block: UInt64 = 4096

    /// The end of the output. A hole at the end is not part of the file yet.
    private let reached: Atomic<UInt64>
    /// Where the next bytes go that come in order.
    private let next: Atomic<UInt64>

    /// - Parameter start: where the output begins. The file has no bytes after it.
    init(from start: UInt64) {
        reached = Atomic(start)
        next = Atomic(start)
    }

    var end: UInt64 { reached.load(ordering: .relaxed) }

    /// The place of the next bytes that come in order.
    func place(of count: Int) -> UInt64 {
        next.wrappingAdd(UInt64(count), ordering: .relaxed).oldValue
    }

    /// Writes parts of `bytes`, one after the other, to `offset`. A block of the file that would hold only zeros is left
    /// out.
    func write(
        _ bytes: Span<UInt8>, parts: [Range<Int>], at offset: UInt64, to file: FileDescriptor
    ) throws(VaultError) {
        var (run, start, place) = ([Range<Int>](), offset, offset)
        for part in parts {
            var rest = part
            while !rest.isEmpty {
                let piece = rest.prefix(Int(Self.block - place % Self.block))
                place += UInt64(piece.count)
                rest = piece.upperBound..<rest.upperBound
                if piece.count == Int(Self.block), bytes.extracting(piece).isZero {
                    if !run.isEmpty { try file.writeFully(bytes, parts: run, at: start) }
                    (run, start) = ([], place)
                } else if let last = run.last, last.upperBound == piece.lowerBound {
                    run[run.count - 1] = last.lowerBound..<piece.upperBound
                } else {
                    run.append(piece)
                }
            }
        }
        if !run.isEmpty { try file.writeFully(bytes, parts: run, at: start) }
        reached.max(place, ordering: .relaxed)
    }
}
