// Reads two secrets of a program: one at its start, and one while a person has unlocked the store.
// Documentation/Scenarios.md makes the store.
//
//     swift run Tokens STORE DEVICEKEY OWNERKEY
import VaultStore

guard CommandLine.arguments.count == 4 else { fatalError("usage: Tokens STORE DEVICEKEY OWNERKEY") }
let device = try SymmetricKey.read(from: FilePath(CommandLine.arguments[2]))
let store = try VaultStore.open(at: FilePath(CommandLine.arguments[1]), device: device)

// The class always: the program reads it without a person.
let token = try store.read("api-token", atMost: 1 << 12)
print("api-token: \(token.count) bytes")

// The class complete: locked, until the key of a person unlocks it.
do {
    _ = try store.read("database-key", atMost: 1 << 12)
} catch let error as StoreError where error.code == .locked {
    print("database-key: locked")
}
let owner = try SymmetricKey.read(from: FilePath(CommandLine.arguments[3]))
try store.unlock(with: KeySet(keys: [owner]))
let key = try store.read("database-key", atMost: 1 << 12)
// The bytes stay in memory that is never written to a disk. They are wiped with the last reference.
key.withBytes { bytes in print("database-key: \(bytes.count) bytes") }

// From here on the program has no key of this class in its memory. What it has read stays until it drops it.
store.lock()
print("locked again: \(!store.canRead(.complete))")
