import CPlatform
import Synchronization
public import SystemPackage
public import VaultFile
import VaultFormat
import VaultSystem

/// Opens a container with the keys of the mount.
///
/// It is called by several threads at once, and must not ask a user: the programs that look at the mount would wait.
/// What it throws becomes an error number by `errorNumber(for:)`.
public typealias ContainerOpener = @Sendable (FileSource) throws -> SeekableVaultReader

/// A container that is open for reading. Its file stays open, so whatever happens to the name, its content is the same.
public final class OpenContainer: Sendable {
    /// Reads it.
    public let reader: SeekableVaultReader
    private let descriptor: FileDescriptor
    private let cache: PlaintextCache
    private let number: UInt64

    private static let numbers = Atomic<UInt64>(0)

    /// Takes over the descriptor, and closes it in the end, also if this throws.
    public init(_ descriptor: FileDescriptor, cache: PlaintextCache, _ open: ContainerOpener) throws {
        do {
            reader = try open(FileSource(descriptor))
        } catch {
            try? descriptor.close()
            throw error
        }
        self.descriptor = descriptor
        self.cache = cache
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    }

    deinit {
        try? descriptor.close()
    }

    var metadata: Metadata { reader.opened.manifest.metadata }

    /// The bytes of a block of the plaintext, which then stay in memory for a while.
    fileprivate func block(_ index: UInt64, size: UInt64) throws -> [UInt8] {
        try cache.bytes(PlaintextCache.Key(container: number, block: index)) {
            try reader.bytes(index * size..<min(reader.length, (index + 1) * size))
        }
    }
}

/// A part of the plaintext of a container, as an open file.
final class ContentRange: OpenContent {
    private let container: OpenContainer
    private let range: Range<UInt64>
    /// The size of the blocks that are read at once and kept; nil if each request is read by itself.
    private let blockSize: UInt64?
    private let alwaysInBlocks: Bool
    /// Where the last request ended.
    private let lastEnd = Atomic<UInt64>(0)

    /// The most that the system asks for at once when it reads ahead.
    private static let usualRequest: UInt64 = 128 << 10
    private static let leastBlock: UInt64 = 512 << 10

    /// - Parameter range: within the plaintext.
    init(_ container: OpenContainer, _ range: Range<UInt64>) {
        self.container = container
        self.range = range
        let chunk = UInt64(container.reader.opened.header.chunkSize.bytes)
        // A record is opened as a whole. Were each request read by itself, records that are larger than a request would
        // be opened several times. For compressed contents, the index of the blocks would be read again each time.
        alwaysInBlocks = chunk > Self.usualRequest
        let isPacked = container.reader.opened.header.compression != .none
        blockSize = alwaysInBlocks || isPacked ? max(chunk, Self.leastBlock) : nil
    }

    func read(at offset: UInt64, count: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws {
        let length = UInt64(range.count)
        guard offset < length, count > 0 else { return unsafe body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let start = range.lowerBound + offset
        let end = start + min(UInt64(count), length - offset)
        let last = lastEnd.exchange(end, ordering: .relaxed)
        // Threads take the requests of one reader, so they come in almost the right order.
        let isInOrder = start >= last.subtractingClamped(Self.leastBlock) && start <= last + Self.leastBlock
        let bytes: [UInt8]
        if let blockSize, alwaysInBlocks || isInOrder, let found = try? inBlocks(start..<end, blockSize) {
            bytes = found
        } else {
            // A block with damage was not read: perhaps this part of it is intact.
            bytes = try container.reader.bytes(start..<end)
        }
        guard UInt64(bytes.count) == end - start else { throw Errno.ioError }
        unsafe bytes.withUnsafeBytes { unsafe body($0) }
    }

    private func inBlocks(_ range: Range<UInt64>, _ size: UInt64) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(range.upperBound - range.lowerBound))
        for index in range.lowerBound / size...(range.upperBound - 1) / size {
            let block = try container.block(index, size: size)
            let start = index * size
            let from = max(range.lowerBound, start) - start
            let to = min(range.upperBound - start, UInt64(block.count))
            guard from <= to else { throw Errno.ioError }
            bytes += block[Int(from)..<Int(to)]
        }
        return bytes
    }
}

/// Blocks of plaintext that were read a moment ago, of all containers of a mount. It holds `limit` bytes, and one block
/// for each thread that reads.
public final class PlaintextCache: Sendable {
    struct Key: Hashable {
        let container: UInt64
        let block: UInt64
    }

    fileprivate enum Block {
        case loading
        case ready([UInt8], time: UInt64)
    }

    fileprivate struct State {
        var blocks: [Key: Block] = [:]
        var size = 0
        var time: UInt64 = 0
    }

    private let state = Monitor(State())
    private let limit: Int

    /// - Parameter limit: in bytes.
    public init(limit: Int = 32 << 20) {
        self.limit = limit
    }

    /// How many bytes it holds.
    var size: Int { state.look(\.size) }

    /// The bytes of a block. If several threads ask for one that is not here, one of them loads it.
    func bytes(_ key: Key, load: () throws -> [UInt8]) throws -> [UInt8] {
        let found: [UInt8]? = state.wait { state -> [UInt8]?? in
            switch state.blocks[key] {
            case .loading: return nil
            case nil:
                state.blocks[key] = .loading
                return .some(nil)
            case .ready(let bytes, _):
                state.time += 1
                state.blocks[key] = .ready(bytes, time: state.time)
                return bytes
            }
        }
        if let found { return found }
        do {
            let bytes = try load()
            state.withLock { $0.keep(bytes, key, limit) }
            return bytes
        } catch {
            state.withLock { _ = $0.blocks.removeValue(forKey: key) }
            throw error
        }
    }
}

extension PlaintextCache.State {
    fileprivate mutating func keep(_ bytes: [UInt8], _ key: PlaintextCache.Key, _ limit: Int) {
        time += 1
        size += Self.cost(bytes)
        blocks[key] = .ready(bytes, time: time)
        while size > limit {
            var oldest: (key: PlaintextCache.Key, cost: Int, time: UInt64)?
            for case (let key, .ready(let bytes, let time)) in blocks where time < oldest?.time ?? .max {
                oldest = (key, Self.cost(bytes), time)
            }
            guard let oldest, oldest.key != key else { return }
            blocks[oldest.key] = nil
            size -= oldest.cost
        }
    }

    /// Small blocks count for more than their bytes: so there are never many.
    private static func cost(_ bytes: [UInt8]) -> Int { bytes.count + 4096 }
}

extension UInt64 {
    func subtractingClamped(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
