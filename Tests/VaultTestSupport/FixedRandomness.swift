import Synchronization
package import VaultFile
package import VaultXWing

extension Randomness {
    /// The same file key, IDs, salts and nonces each time, so that a container has the same bytes in every run.
    package static func fixed(seed: UInt64) -> Randomness {
        let draws = Mutex(seed)
        return Randomness(
            fileKey: { FileKey(secret(randomBytes(32, seed: seed &+ 1000))) },
            bytes: { count in
                draws.withLock { seed in
                    seed += 1
                    return randomBytes(count, seed: seed)
                }
            })
    }

    /// These draws, in this order.
    package static func draws(
        fileKey: [UInt8], _ draws: [[UInt8]], xWing: XWing? = .available
    ) -> Randomness {
        let left = Mutex(draws[...])
        return Randomness(
            fileKey: { FileKey(secret(fileKey)) },
            bytes: { count in
                let drawn = left.withLock { $0.popFirst() ?? [] }
                precondition(drawn.count == count)
                return drawn
            }, xWing: xWing)
    }

    /// All draws, one after the other; zeros after the end.
    package static func stream(_ bytes: [UInt8]) -> Randomness {
        let left = Mutex(bytes[...])
        let take = { @Sendable (count: Int) -> [UInt8] in
            left.withLock { left in
                let drawn = [UInt8](left.prefix(count))
                left = left.dropFirst(count)
                return drawn + [UInt8](repeating: 0, count: count - drawn.count)
            }
        }
        return Randomness(fileKey: { FileKey(secret(take(32))) }, bytes: take)
    }
}
