internal import CPlatform
internal import CSodium
internal import Synchronization

/// Guarded memory for secrets of one size and less, several in one page.
///
/// To map, guard and lock pages costs more than to encrypt a small file, and most secrets live only as long as the work
/// on one file. Shared pages also let a process lock more keys than it may lock pages: some systems allow sixteen.
///
/// The pages are those of `sodium_malloc`, so they are locked, kept out of core dumps, and between guard pages. Between
/// two secrets of one page there is no guard. Every access goes through a span of the secret's own length, or is a call
/// of libsodium with that length.
final class SecretPool: Sendable {
    private static let keys = SecretPool(slotSize: 32, pages: 1)
    /// For a slot of a header with the preamble before it, a digest, a pair of keys, an MAC.
    private static let small = SecretPool(slotSize: 256, pages: 1)
    /// For the contents of small items and containers of keys.
    private static let contents = SecretPool(slotSize: 5112, pages: 5)

    /// The pool for secrets of this size; nil if they get pages of their own.
    static func fitting(_ count: Int) -> SecretPool? {
        switch count {
        case ..<0: nil
        case ...keys.slotSize: keys
        case ...small.slotSize: small
        case ...contents.slotSize: contents
        default: nil
        }
    }

    private struct State {
        /// Those with free slots.
        var slabs: [SecretSlab] = []
        /// How many there are, with those that are full.
        var count = 0
    }

    private let slotSize: Int
    private let pageCount: Int
    private let state = Mutex(State())

    init(slotSize: Int, pages pageCount: Int) {
        self.slotSize = slotSize
        self.pageCount = pageCount
    }

    /// A slot of zeros.
    func take() throws(MemoryUnavailable) -> (SecretSlab, UnsafeMutablePointer<UInt8>) {
        let taken = state.withLock { state -> Taken? in
            if state.slabs.isEmpty {
                guard let new = SecretSlab(self, slotSize: slotSize, pages: pageCount) else { return nil }
                state.slabs = [new]
                state.count += 1
            }
            let slab = state.slabs[state.slabs.count - 1]
            let start = unsafe slab.take()
            if slab.isFull { state.slabs.removeLast() }
            return unsafe Taken(slab: slab, start: start)
        }
        guard let taken else { throw MemoryUnavailable() }
        return unsafe (taken.slab, taken.start)
    }

    /// Wipes a slot, and takes it back. Pages without a secret are released, except those that would be needed next.
    func give(_ start: UnsafeMutablePointer<UInt8>, of slab: SecretSlab) {
        unsafe sodium_memzero(start, slotSize)
        // Released after the lock.
        let released = state.withLock { state -> SecretSlab? in
            let wasFull = slab.isFull
            unsafe slab.give(start)
            if wasFull { state.slabs.append(slab) }
            guard slab.isEmpty, state.slabs.count > 1, let place = state.slabs.firstIndex(where: { $0 === slab }) else {
                return nil
            }
            state.count -= 1
            return state.slabs.remove(at: place)
        }
        withExtendedLifetime(released) {}
    }

    /// How many slabs it has.
    var slabCount: Int { state.withLock { $0.count } }

    @safe private struct Taken: @unchecked Sendable {
        let slab: SecretSlab
        let start: UnsafeMutablePointer<UInt8>
    }
}

/// One page of a pool. The pool calls it under its lock.
@safe final class SecretSlab: @unchecked Sendable {
    let pool: SecretPool
    private let start: UnsafeMutablePointer<UInt8>
    private let slotSize: Int
    private let slotCount: Int
    /// The free slots.
    private var free: [Int]

    /// Nil if the system has no guarded memory left.
    fileprivate init?(_ pool: SecretPool, slotSize: Int, pages: Int) {
        Sodium.start()
        // `sodium_malloc` writes 16 bytes before the memory, to notice if a write has changed them.
        let count = pages * max(4096, Int(sysconf(Int32(_SC_PAGESIZE)))) - 16
        guard let memory = unsafe sodium_malloc(count) else { return nil }
        unsafe start = memory.bindMemory(to: UInt8.self, capacity: count)
        unsafe sodium_memzero(memory, count)
        self.pool = pool
        self.slotSize = slotSize
        slotCount = count / slotSize
        free = Array(0..<slotCount)
    }

    deinit { unsafe sodium_free(start) }

    fileprivate var isFull: Bool { free.isEmpty }
    fileprivate var isEmpty: Bool { free.count == slotCount }

    /// The caller has seen that it is not full.
    fileprivate func take() -> UnsafeMutablePointer<UInt8> {
        unsafe start + free.removeLast() * slotSize
    }

    fileprivate func give(_ slot: UnsafeMutablePointer<UInt8>) {
        free.append(unsafe (slot - start) / slotSize)
    }
}
