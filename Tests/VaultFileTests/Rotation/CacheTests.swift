import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// After a failed sync, some systems keep pages that never reached the disk as if they were written. A change in place
/// must not trust them: it drops both ends of the file from the cache before it reads them (ROT-2).
@Suite struct CacheTests {
    private enum Call: Hashable {
        case sync, forget(Int64, Int64), read
    }

    /// The calls of a rotation on the container itself.
    private static func calls(failingSync: Bool) throws -> (calls: [Call], size: Int64) {
        let container = try StoredContainer(sealed(randomBytes(8 << 20, seed: 1)))
        let size = Int64(try container.bytes.count)
        let real = SystemCalls()
        let identity = try real.statusAt(-100, container.path, true).get().identity
        let made = Mutex<[Call]>([])
        let note = { @Sendable (file: Int32, call: Call) in
            guard (try? real.status(file).get().identity) == identity else { return false }
            made.withLock { $0.append(call) }
            return true
        }
        var calls = SystemCalls.withoutWaiting
        calls.sync = { note($0, .sync) && failingSync ? -1 : 0 }
        calls.forget = { file, offset, length in
            _ = note(file, .forget(offset, length))
            return 0
        }
        unsafe calls.readAt = { file, buffer, offset in
            _ = note(file, .read)
            return unsafe real.readAt(file, buffer, offset)
        }
        SystemCalls.$current.withValue(calls) {
            let change = KeyChange(adding: [.key(testKey(2))])
            _ = try? Vault.rotate(at: container.path, change, with: .key(testKey(1)))
        }
        return (made.withLock { $0 }, size)
    }

    private static func ends(_ size: Int64) -> Set<Call> {
        [.forget(0, 3 << 20), .forget(size - 3 << 20, 3 << 20)]
    }

    @Test("both ends are dropped after the first sync and before they are read") func beforeReading() throws {
        let (calls, size) = try Self.calls(failingSync: false)
        let first = try #require(calls.firstIndex(of: .sync))
        #expect(Set(calls[(first + 1)...].prefix { $0 != .read }).isSuperset(of: Self.ends(size)))
    }

    @Test("both ends are dropped after a sync that fails") func afterFailure() throws {
        let (calls, size) = try Self.calls(failingSync: true)
        let first = try #require(calls.firstIndex(of: .sync))
        #expect(Set(calls[(first + 1)...]) == Self.ends(size))
    }
}
