// Keeps the uploads of many accounts, each in a store of its own. Documentation/Scenarios.md shows it at work.
//
//     vaultfile key generate -o up.key
//     vaultfile store group create -S up --device-key file:up.key
//     swift run Uploads up.key up
import Hummingbird
import Storage
import VaultStore

guard CommandLine.arguments.count == 3 else { fatalError("usage: Uploads KEYFILE GROUP") }
let key = try SymmetricKey.read(from: FilePath(CommandLine.arguments[1]))
let group = try StoreGroup.open(at: FilePath(CommandLine.arguments[2]), unlocking: KeySet(keys: [key]))
let server = Application(
    router: Accounts(group).router(), configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
try await server.runService()
