import CPlatform
package import Synchronization
package import SystemPackage
import VaultFile

/// The keys that a kernel keeps for a user, in memory.
package final class ModelKeys: Sendable {
    package struct Key {
        package let name: String
        package var bytes: [UInt8]
        package var seconds: UInt32?
        package var isShared = false
        package var isLinked = false
    }

    package let keys = Mutex<[Int: Key]>([:])
    /// The calls that fail, by name, with their errors.
    private let failures: [String: Errno]
    /// The key whose calls fail; nil for every key.
    private let failing: Int?
    /// Runs before a key is added.
    private let beforeAdding: @Sendable () -> Void

    package init(
        failing failures: [String: Errno] = [:], of failing: Int? = nil,
        beforeAdding: @escaping @Sendable () -> Void = {}
    ) {
        self.failures = failures
        self.failing = failing
        self.beforeAdding = beforeAdding
    }

    /// Those in the user's keyring.
    package var kept: [Key] { keys.withLock { $0.values.filter(\.isLinked) } }

    private func call(_ name: String, _ key: Int? = nil, _ body: @Sendable (inout [Int: Key]) -> Int?) -> Int {
        let mayFail = failing == nil || key == failing
        guard failures[name] == nil || !mayFail, let result = keys.withLock({ keys in body(&keys) }) else {
            // 126 is ENOKEY on Linux.
            vaultfile_set_error_number(failures[name]?.rawValue ?? 126)
            return -1
        }
        return result
    }

    package func run(_ body: () throws -> Void) throws {
        var calls = SystemCalls()
        unsafe calls.addKey = { [self] name, bytes in
            let bytes = unsafe [UInt8](bytes)
            beforeAdding()
            return call("addKey") { keys in
                let number = (keys.keys.max() ?? 0) + 1
                keys[number] = Key(name: name, bytes: bytes)
                return number
            }
        }
        calls.expireKey = { [self] key, seconds in
            call("expireKey") { keys in
                keys[key].map { _ in
                    keys[key]?.seconds = seconds; return 0
                }
            }
        }
        calls.shareKey = { [self] key in
            call("shareKey") { keys in
                keys[key].map { _ in
                    keys[key]?.isShared = true; return 0
                }
            }
        }
        calls.linkKey = { [self] key in
            call("linkKey") { keys in
                // Only a key that is meant to last may have no time.
                guard let new = keys[key], new.seconds != nil || new.name.hasSuffix(":first"), new.isShared else {
                    return nil
                }
                for (number, old) in keys where old.name == new.name && old.isLinked { keys[number] = nil }
                keys[key]?.isLinked = true
                return 0
            }
        }
        calls.findKey = { [self] name in
            call("findKey") { keys in keys.first { $0.value.name == name && $0.value.isLinked }?.key }
        }
        unsafe calls.readKey = { [self] key, target in
            let bytes = keys.withLock { $0[key]?.bytes } ?? []
            unsafe target.copyBytes(from: bytes.prefix(target.count))
            return call("readKey") { keys in keys[key]?.bytes.count }
        }
        unsafe calls.listKeys = { [self] target in
            let bytes = keys.withLock { keys in
                keys.filter { $0.value.isLinked }.keys.flatMap { number in
                    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
                }
            }
            if bytes.count <= target.count { unsafe target.copyBytes(from: bytes) }
            return call("listKeys") { _ in bytes.count }
        }
        unsafe calls.describeKey = { [self] key, target in
            let text = keys.withLock { keys in keys[key].map { Array("user;0;0;3f2b0000;\($0.name)\0".utf8) } } ?? []
            if text.count <= target.count { unsafe target.copyBytes(from: text) }
            return call("describeKey") { keys in keys[key].map { _ in text.count } }
        }
        calls.unlinkKey = { [self] key in
            call("unlinkKey", key) { keys in
                keys[key].map { _ in
                    keys[key]?.isLinked = false; return 0
                }
            }
        }
        calls.invalidateKey = { [self] key in
            call("invalidateKey", key) { keys in keys.removeValue(forKey: key).map { _ in 0 } }
        }
        try SystemCalls.$current.withValue(calls, operation: body)
    }
}
